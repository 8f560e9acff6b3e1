"""Models on disk: a folder with `model.json`, the vocabulary, and the arrays of each block, all mapped on opening.

`docs/formats.md` specifies it. Nothing is executed or unpickled; what a folder says is checked before it is used.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from modlm.arrays import Floats
from modlm.blocks import CONSTANT_BLOCKS, NgramBlock
from modlm.blocks.block import UNLIMITED, Block, ColumnLayout
from modlm.blocks.model import ModelBlock
from modlm.counts.counts import EDGES, MAX_ORDER, Counts
from modlm.counts.counts_folder import counts_in
from modlm.errors import ConfigError, ModelFolderError, ModlmError
from modlm.mixers import HeuristicMixer, Mixer, StaticMixer
from modlm.model.compiled import Compiled, leaf_type, node_type
from modlm.model.language_model import LanguageModel
from modlm.model.mixture import Mixture
from modlm.model.ngram_lm import NgramLM, NgramSettings
from modlm.smoothing import SMOOTHERS, Estimates
from modlm.smoothing.smoother import given_discounts
from modlm.store.folder import Folder, open_folder, write_folder
from modlm.store.manifest import FILE_NAME, Verify, is_folder
from modlm.text.vocabulary import Vocabulary
from modlm.text.vocabulary_files import vocabulary_in

KIND = "model"
CARD = "card.md"
NGRAM = "columns/ngram"
DEEPEST = 16  # mixtures of mixtures

About = dict[str, Any]
Arrays = dict[str, np.ndarray]
Texts = dict[str, str | bytes]


def save(model: LanguageModel, target: str | os.PathLike[str], *, card: str = "", overwrite: bool = False) -> None:
    """Write a model folder; `card` says in Markdown what it is."""
    about, arrays, texts = contents(model)
    texts[CARD] = card or default_card(model)
    write_folder(target, kind=KIND, about=about, arrays=arrays, texts=texts, overwrite=overwrite)


def contents(model: LanguageModel, *, inside: str = "") -> tuple[About, Arrays, Texts]:
    """A model as settings, arrays and texts; `inside` is the folder within the folder."""
    for kind, taken_apart in WRITERS.items():
        if isinstance(model, kind):
            return taken_apart(model, inside)
    for base in type(model).__mro__:
        if base.__qualname__ in LATER_WRITERS:
            found: tuple[About, Arrays, Texts] = named(LATER_WRITERS[base.__qualname__])(model, inside)
            return found
    raise ModlmError(f"A {type(model).__name__} has no form on disk; save the models it is made of.")


def _ngram_contents(model: NgramLM, inside: str) -> tuple[About, Arrays, Texts]:
    compiled = model.compiled
    about: About = {
        "kind": "ngram",
        "order": model.order,
        "levels": list(compiled.levels),
        "start": compiled.start,
        "settings": asdict(model.settings) if model.settings else None,
        "counts": None,
        "notes": list(model.notes),
        **model.vocabulary.fingerprints(),
    }
    arrays: Arrays = dict(zip(("words", "nodes", "leaves"), compiled.arrays, strict=True))
    if model.counts is not None:
        about["counts"] = {
            "edge": model.counts.edge,
            "sentences": model.counts.sentences,
            "cut_off": list(model.counts.cut_off),
        }
        arrays["frequencies"] = model.counts.frequencies
    prefix = f"{inside}{NGRAM}/"
    return (
        about,
        {prefix + name: array for name, array in arrays.items()},
        vocabulary_texts(model.vocabulary, inside),
    )


def _mixture_contents(model: Mixture, inside: str) -> tuple[About, Arrays, Texts]:
    blocks, arrays, texts = block_contents(model.vocabulary, model.blocks, inside)
    mixer = {"kind": model.mixer.kind, **model.mixer.parts().settings}
    about = {"kind": "mixture", "blocks": blocks, "mixer": mixer, **model.vocabulary.fingerprints()}
    return about, arrays, texts


def block_contents(
    vocabulary: Vocabulary, own: Mapping[str, Block], inside: str
) -> tuple[dict[str, About], Arrays, Texts]:
    """The columns of a model as settings for each block, arrays and texts, the vocabulary among them."""
    arrays: Arrays = {}
    texts = vocabulary_texts(vocabulary, inside)
    blocks: dict[str, About] = {}
    for name, block in own.items():
        place = f"{inside}columns/{name}/"
        if not FILE_NAME.fullmatch(name):
            raise ConfigError(
                f"A block called {name!r} cannot be saved. Use letters, digits, dots and dashes in its name."
            )
        if isinstance(block, ModelBlock):
            about, own_arrays, own_texts = contents(block.model, inside=place)  # type: ignore[arg-type]
            blocks[name] = {"kind": block.kind, "model": about}
            arrays |= own_arrays
            texts |= own_texts
            continue
        parts = block.parts()
        blocks[name] = {"kind": block.kind, **parts.settings}
        arrays |= {place + key: array for key, array in parts.arrays.items()}
    return blocks, arrays, texts


WRITERS: dict[type[LanguageModel], Callable[[Any, str], tuple[About, Arrays, Texts]]] = {
    NgramLM: _ngram_contents,
    Mixture: _mixture_contents,
}
LATER_WRITERS = {"NeuralMixture": "modlm.nets.neural_folder.contents"}  # of later folders; imported when needed


def named(dotted: str) -> Any:
    """A function of a later folder by its whole name."""
    module, _, function = dotted.rpartition(".")
    return getattr(importlib.import_module(module), function)


def vocabulary_texts(vocabulary: Vocabulary, inside: str) -> Texts:
    """The files of a vocabulary inside a folder."""
    return {inside + name: data for name, data in vocabulary.files().items()}


def default_card(model: LanguageModel) -> str:
    """A card for a model about which nothing more was said."""
    title, size = type(model).__name__, f"{len(model.vocabulary):,} {model.vocabulary.units}"
    length = model.context_length
    context = f"{length} words of context" if length < UNLIMITED else "all words of the sentence before"
    return f"# {title}\n\n{size}; looks at {context}.\n"


# ---- opening ---------------------------------------------------------------------------------------------------------


def load(path: str | os.PathLike[str], *, verify: Verify = "fast", resident: bool = False) -> LanguageModel:
    """The model at a path: a model folder, a run folder with `model/` in it, or an ARPA file (packed or not).

    `verify="full"` reads every byte and compares it with the manifest. A model is mapped from its files, which takes
    milliseconds and is shared between processes; `resident=True` takes an n-gram model into memory instead and indexes
    it, for programs that score a lot.
    """
    if resident:
        return load(path, verify=verify).resident()
    place = Path(path)
    if place.is_dir():
        if not is_folder(place, kind=KIND) and is_folder(place / "model", kind=KIND):
            place = place / "model"
        model = opened(open_folder(place, kind=KIND, verify=verify))
        if isinstance(model, NgramLM):
            model._path = str(place.resolve())
        return model
    if not place.exists():
        raise ModelFolderError(f"There is no model at {place}. Give a model folder or an ARPA file.")
    from modlm.model.arpa import read_model

    return read_model(place)


def opened(folder: Folder) -> LanguageModel:
    """The model that a folder holds."""
    vocabulary = vocabulary_in(folder, what="model was")
    readers: dict[str, Any] = {**READERS, **LATER_READERS}
    reader = readers[folder.word("kind", readers)]
    model: LanguageModel = (named(reader) if isinstance(reader, str) else reader)(folder, vocabulary)
    return model


def _discounts(folder: Folder, orders: int) -> tuple[Floats, ...]:
    """For each order, what counts of 0, 1, 2, … lose."""
    rows = folder.list_of("discounts", list)
    if len(rows) != orders:
        raise folder.damaged(f"discounts must hold a list for each of the {orders} orders")
    numbers = [replace(folder, about={"discounts": row}).reals("discounts") for row in rows]
    try:
        return given_discounts(numbers, orders)
    except ConfigError as error:
        raise folder.damaged(str(error)) from error


def read_compiled(folder: Folder, vocabulary: Vocabulary) -> Compiled:
    """The compiled form, with levels that fit its arrays."""
    levels = folder.wholes("levels")
    proper = len(levels) >= 3 and levels[:2] == (0, 1) and all(a <= b for a, b in pairwise(levels))
    if not proper or len(levels) > MAX_ORDER + 2 or levels[2] != len(vocabulary) + 2:
        raise folder.damaged("its levels do not fit its vocabulary")
    words = folder.array(f"{NGRAM}/words", np.uint32, length=levels[-1])
    leaves = folder.array(f"{NGRAM}/leaves", leaf_type(np.float32), leaf_type(np.float64))
    real = np.float64 if leaves.dtype == leaf_type(np.float64) else np.float32
    nodes = folder.array(f"{NGRAM}/nodes", node_type(real), length=levels[-2] + 1)
    leaves = folder.array(f"{NGRAM}/leaves", leaf_type(real), length=levels[-1] - levels[-2])
    first = nodes["first"]
    if any(first[levels[n - 1]] != levels[n] for n in range(1, len(levels) - 1)) or first[-1] != levels[-1]:
        raise folder.damaged("its levels do not fit its followers")
    start = folder.whole("start")
    if start >= len(nodes) - 1:
        raise folder.damaged(f"its start {start} is not a context")
    return Compiled(words, nodes, leaves, levels, start)


def _ngram(folder: Folder, vocabulary: Vocabulary) -> NgramLM:
    compiled = read_compiled(folder, vocabulary)
    settings = None
    if folder.about.get("settings") is not None:
        own = folder.part("settings")
        settings = NgramSettings(
            smoothing=own.word("smoothing", SMOOTHERS),
            discounts=tuple(tuple(table[1:].tolist()) for table in _discounts(own, compiled.order)),
            extra=_extra(own),
            prune=own.wholes("prune"),
            prune_entropy=own.real("prune_entropy"),
        )
    counts = None
    if folder.about.get("counts") is not None:
        own = folder.part("counts")
        counts = partial(
            _counts_of,
            vocabulary,
            compiled,
            own.array(f"{NGRAM}/frequencies", np.uint32, np.uint64, length=len(compiled.words)),
            edge=own.word("edge", EDGES),
            sentences=own.whole("sentences"),
            cut_off=own.wholes("cut_off"),
        )
    notes = tuple(folder.list_of("notes", str))
    return NgramLM(vocabulary, compiled, counts=counts, settings=settings, notes=notes)


def _counts_of(vocabulary: Vocabulary, compiled: Compiled, frequencies: np.ndarray, **settings: Any) -> Counts:
    return Counts(vocabulary, compiled.trie, frequencies, **settings)


def _extra(folder: Folder) -> tuple[str, ...]:
    names = folder.list_of("extra", str)
    if len(set(names)) < len(names) or "uniform" not in names or not set(names) <= set(CONSTANT_BLOCKS):
        raise folder.damaged(f"extra must be a list of {', '.join(CONSTANT_BLOCKS)}, with uniform in it")
    return tuple(names)


def _ngram_block(folder: Folder, vocabulary: Vocabulary) -> Block:
    smoother = SMOOTHERS[folder.word("smoothing", SMOOTHERS)]()
    counts = counts_in(folder, vocabulary)
    return NgramBlock(Estimates(smoother, counts, _discounts(folder, counts.order)))


def _model_block(folder: Folder, vocabulary: Vocabulary) -> Block:
    if folder.inside.count("columns/") > DEEPEST:
        raise folder.damaged(f"models stand inside models more than {DEEPEST} deep")
    return ModelBlock(opened(folder.part("model")), vocabulary)


BLOCK_READERS: dict[str, Callable[[Folder, Vocabulary], Block]] = {
    "ngram": _ngram_block,
    "model": _model_block,
    "uniform": lambda folder, vocabulary: CONSTANT_BLOCKS["uniform"](vocabulary),
    "unknown": lambda folder, vocabulary: CONSTANT_BLOCKS["unknown"](vocabulary),
}


LATER_BLOCK_READERS = {"causal-lm": "modlm.integrations.hugging_face.lm_block.opened"}


def read_blocks(folder: Folder, vocabulary: Vocabulary) -> dict[str, Block]:
    """The columns of a model in their order."""
    readers: dict[str, Any] = {**BLOCK_READERS, **LATER_BLOCK_READERS}
    blocks: dict[str, Block] = {}
    settings = folder.part("blocks")
    for name in settings.about:
        own = settings.part(name, inside=f"columns/{name}/")
        reader = readers[own.word("kind", readers)]
        blocks[name] = (named(reader) if isinstance(reader, str) else reader)(own, vocabulary)
    return blocks


def _mixture(folder: Folder, vocabulary: Vocabulary) -> Mixture:
    blocks = read_blocks(folder, vocabulary)
    own = folder.part("mixer")
    layout = ColumnLayout(blocks)
    mixer: Mixer
    if own.word("kind", ("heuristic", "static")) == "static":
        weights = own.reals("weights")
        if len(weights) != len(layout):
            raise folder.damaged(f"it has {len(weights)} weights for {len(layout)} columns")
        mixer = StaticMixer(np.array(weights))
    else:
        smoother = SMOOTHERS[own.word("smoothing", SMOOTHERS)]()
        mixer = HeuristicMixer(layout, smoother, block=str(own.about.get("block")))
    return Mixture(vocabulary, blocks, mixer)


READERS: dict[str, Callable[[Folder, Vocabulary], LanguageModel]] = {"ngram": _ngram, "mixture": _mixture}
LATER_READERS = {"neural-mixture": "modlm.nets.neural_folder.opened"}
