"""N-gram models in model folders: the compiled form, and the frequencies where they stayed with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from modlm.blocks import CONSTANT_BLOCKS
from modlm.blocks.ngram import stored_discounts
from modlm.counts.counts import EDGES, MAX_ORDER, Counts
from modlm.model.ngram.compiled import Compiled, leaf_type, node_type
from modlm.model.ngram.estimation import NgramSettings
from modlm.smoothing.smoother import smoother_in
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import Vocabulary

PLACE = "columns/ngram/"
WHOLE = (np.uint32, np.uint64)


def parts_of(
    vocabulary: Vocabulary,
    compiled: Compiled,
    counts: Counts | None,
    settings: NgramSettings | None,
    notes: Iterable[str],
) -> Parts:
    arrays: dict[str, np.ndarray] = dict(zip(("words", "nodes", "leaves"), compiled.arrays, strict=True))
    about: dict[str, Any] = {
        "kind": "ngram",
        "order": compiled.order,
        "levels": list(compiled.levels),
        "start": compiled.start,
        "settings": asdict(settings) if settings else None,
        "counts": None,
        "notes": list(notes),
        **vocabulary.fingerprints(),
    }
    if counts is not None:
        about["counts"] = {"edge": counts.edge, "sentences": counts.sentences, "cut_off": list(counts.cut_off)}
        arrays["frequencies"] = counts.frequencies
    return Parts(about, Parts({}, arrays).within(PLACE).arrays, vocabulary.files())


def read_parts(stored: Folder, vocabulary: Vocabulary) -> tuple[Compiled, dict[str, Any]]:
    """The compiled form that a folder keeps, and the counts, settings and notes that go with it."""
    files = replace(stored, inside=stored.inside + PLACE)
    compiled = _compiled(files, vocabulary)
    settings = None if stored.about.get("settings") is None else settings_in(stored.part("settings"), compiled.order)
    counts = None
    if stored.about.get("counts") is not None:
        own, frequencies = stored.part("counts"), files.array("frequencies", *WHOLE, length=len(compiled.words))
        about = {"edge": own.word("edge", EDGES), "sentences": own.whole("sentences"), "cut_off": own.wholes("cut_off")}
        counts = partial(lambda **known: Counts(vocabulary, compiled.trie, frequencies, **known), **about)
    return compiled, {"counts": counts, "settings": settings, "notes": tuple(stored.list_of("notes", str))}


def levels_in(stored: Folder, vocabulary: Vocabulary) -> tuple[int, ...]:
    """Where the orders begin among all n-grams."""
    levels = stored.wholes("levels")
    proper = len(levels) >= 3 and levels[:2] == (0, 1) and all(a <= b for a, b in pairwise(levels))
    if not proper or len(levels) > MAX_ORDER + 2 or levels[2] != len(vocabulary) + 2:
        raise stored.damaged("its levels do not fit its vocabulary")
    return levels


def _compiled(stored: Folder, vocabulary: Vocabulary) -> Compiled:
    """The compiled form, with levels that fit its arrays."""
    levels = levels_in(stored, vocabulary)
    words = stored.array("words", np.uint32, length=levels[-1])
    singles, doubles = leaf_type(np.float32), leaf_type(np.float64)
    leaves = stored.array("leaves", singles, doubles, length=levels[-1] - levels[-2])
    real = np.float64 if leaves.dtype == doubles else np.float32
    nodes = stored.array("nodes", node_type(real), length=levels[-2] + 1)
    first = nodes["first"]
    if any(first[levels[n - 1]] != levels[n] for n in range(1, len(levels) - 1)) or first[-1] != levels[-1]:
        raise stored.damaged("its levels do not fit its followers")
    start = stored.whole("start")
    if start >= len(nodes) - 1:
        raise stored.damaged(f"its start {start} is not a context")
    return Compiled(words, nodes, leaves, levels, start)


def settings_in(stored: Folder, order: int) -> NgramSettings:
    smoother = smoother_in(stored)
    extra = tuple(stored.list_of("extra", str))
    if set(extra) - set(CONSTANT_BLOCKS) or len(set(extra)) < len(extra) or "uniform" not in extra:
        raise stored.damaged(f"extra must be a list of {', '.join(CONSTANT_BLOCKS)}, with uniform in it")
    return NgramSettings(
        smoothing=smoother.name,
        parameters=smoother.parameters(),
        discounts=tuple(tuple(table[1:].tolist()) for table in stored_discounts(stored, order)),
        extra=extra,
        prune=stored.wholes("prune"),
        prune_entropy=stored.real("prune_entropy"),
    )
