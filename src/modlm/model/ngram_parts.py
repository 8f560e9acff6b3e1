"""N-gram models in model folders: the compiled form, and the frequencies where they stayed with it."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from modlm.blocks import CONSTANT_BLOCKS
from modlm.blocks.ngram import stored_discounts
from modlm.counts.counts import EDGES, MAX_ORDER, Counts
from modlm.families import SMOOTHERS
from modlm.formats.stored import Parts, Stored, frequencies
from modlm.model.compiled import Compiled, leaf_type, node_type
from modlm.model.ngram_lm import NgramLM, NgramSettings
from modlm.text.vocabulary import Vocabulary

PLACE = "columns/ngram/"


def parts_of(model: NgramLM) -> Parts:
    """What a folder keeps of an n-gram model."""
    compiled, counts = model.compiled, model.counts
    arrays: dict[str, np.ndarray] = dict(zip(("words", "nodes", "leaves"), compiled.arrays, strict=True))
    about: dict[str, Any] = {
        "kind": "ngram",
        "order": model.order,
        "levels": list(compiled.levels),
        "start": compiled.start,
        "settings": asdict(model.settings) if model.settings else None,
        "counts": None,
        "notes": list(model.notes),
        **model.vocabulary.fingerprints(),
    }
    if counts is not None:
        about["counts"] = {"edge": counts.edge, "sentences": counts.sentences, "cut_off": list(counts.cut_off)}
        arrays["frequencies"] = counts.frequencies
    return Parts(about, Parts({}, arrays).within(PLACE).arrays, model.vocabulary.files())


def ngram_model(stored: Stored, vocabulary: Vocabulary) -> NgramLM:
    """The n-gram model that a folder keeps."""
    files = Stored(stored.folder, stored.about, stored.place + PLACE)
    compiled = _compiled(files, vocabulary)
    settings = None if stored.about.get("settings") is None else _settings(stored.part("settings"), compiled.order)
    counts = None
    if stored.about.get("counts") is not None:
        own = stored.part("counts")
        counts = partial(
            _counts_of,
            vocabulary,
            compiled,
            frequencies(files, "frequencies", len(compiled.words)),
            edge=own.choice(EDGES, "edge"),
            sentences=own.number("sentences", whole=True),
            cut_off=own.numbers("cut_off", whole=True),
        )
    return NgramLM(vocabulary, compiled, counts=counts, settings=settings, notes=stored.words("notes"))


def _compiled(stored: Stored, vocabulary: Vocabulary) -> Compiled:
    """The compiled form, with levels that fit its arrays."""
    levels = stored.numbers("levels", whole=True)
    proper = len(levels) >= 3 and levels[:2] == (0, 1) and all(a <= b for a, b in pairwise(levels))
    if not proper or len(levels) > MAX_ORDER + 2 or levels[2] != len(vocabulary) + 2:
        raise stored.damaged("its levels do not fit its vocabulary")
    words = stored.array("words", np.uint32, length=levels[-1])
    real = np.float64 if stored.dtype("leaves") == leaf_type(np.float64) else np.float32
    nodes = stored.array("nodes", node_type(real), length=levels[-2] + 1)
    leaves = stored.array("leaves", leaf_type(real), length=levels[-1] - levels[-2])
    first = nodes["first"]
    if any(first[levels[n - 1]] != levels[n] for n in range(1, len(levels) - 1)) or first[-1] != levels[-1]:
        raise stored.damaged("its levels do not fit its followers")
    start = stored.number("start", whole=True)
    if start >= len(nodes) - 1:
        raise stored.damaged(f"its start {start} is not a context")
    return Compiled(words, nodes, leaves, levels, start)


def _settings(stored: Stored, order: int) -> NgramSettings:
    stored.member(SMOOTHERS, "smoothing")
    extra = stored.words("extra")
    if set(extra) - set(CONSTANT_BLOCKS) or len(set(extra)) < len(extra) or "uniform" not in extra:
        raise stored.damaged(f"extra must be a list of {', '.join(CONSTANT_BLOCKS)}, with uniform in it")
    return NgramSettings(
        smoothing=stored.word("smoothing"),
        discounts=tuple(tuple(table[1:].tolist()) for table in stored_discounts(stored, order)),
        extra=extra,
        prune=stored.numbers("prune", whole=True),
        prune_entropy=stored.number("prune_entropy"),
    )


def _counts_of(vocabulary: Vocabulary, compiled: Compiled, frequencies: np.ndarray, **settings: Any) -> Counts:
    return Counts(vocabulary, compiled.trie, frequencies, **settings)
