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
from modlm.formats.folder import FILE_NAME, Folder, Verify, is_folder, open_folder, write_folder
from modlm.formats.vocabulary_files import vocabulary_in
from modlm.mixers import HeuristicMixer, Mixer, StaticMixer
from modlm.model.language_model import LanguageModel
from modlm.model.mixture import Mixture
from modlm.model.ngram.compiled import Compiled, leaf_type, node_type
from modlm.model.ngram_lm import NgramLM, NgramSettings
from modlm.smoothing import SMOOTHERS, Estimates
from modlm.smoothing.smoother import given_discounts
from modlm.text.vocabulary import Vocabulary

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
    from modlm.model.ngram.arpa import read_model

    return read_model(place)


def opened(folder: Folder, about: About | None = None, *, inside: str = "") -> LanguageModel:
    """The model that a folder, or a folder in it, holds."""
    said = Said(folder, folder.about if about is None else about)
    vocabulary = vocabulary_in(folder, said.about, inside=inside, what="model was")
    reader = said.choice({**READERS, **LATER_READERS}, "kind")
    model: LanguageModel = (named(reader) if isinstance(reader, str) else reader)(folder, said, vocabulary, inside)
    return model


class Said:
    """What a manifest says, asked for with what it must be."""

    def __init__(self, folder: Folder, about: object) -> None:
        if not isinstance(about, dict):
            raise folder.damaged("its description is not a list of settings")
        self.folder, self.about = folder, about

    def part(self, name: str) -> Said:
        """A group of settings."""
        return Said(self.folder, self.about.get(name))

    def choice(self, table: Mapping[str, Any], name: str) -> Any:
        """The entry of a table that the setting names."""
        value = self.about.get(name)
        if not isinstance(value, str) or value not in table:
            raise self.folder.damaged(f"{name} is {str(value)[:60]!r}, which this version does not know")
        return table[value]

    def number(self, name: str, *, whole: bool = False) -> Any:
        """A number that is not negative; no larger than any count could be."""
        value = self.about.get(name)
        wanted = int if whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, wanted) or not 0 <= value < 2**63:
            raise self.folder.damaged(f"{name} must be a number from 0 up, but is {str(value)[:60]}")
        return value if whole else float(value)

    def numbers(self, name: str, *, whole: bool = False) -> tuple[Any, ...]:
        """A list of such numbers."""
        value = self.about.get(name)
        if not isinstance(value, list):
            raise self.folder.damaged(f"{name} must be a list of numbers")
        return tuple(Said(self.folder, {name: item}).number(name, whole=whole) for item in value)

    def discounts(self, orders: int) -> tuple[Floats, ...]:
        """For each order, what counts of 0, 1, 2, … lose."""
        value = self.about.get("discounts")
        if not isinstance(value, list) or len(value) != orders:
            raise self.folder.damaged(f"discounts must hold a list for each of the {orders} orders")
        rows = [Said(self.folder, {"discounts": row}).numbers("discounts") for row in value]
        try:
            return given_discounts(rows, orders)
        except ConfigError as error:
            raise self.folder.damaged(str(error)) from error


def read_compiled(folder: Folder, said: Said, prefix: str, vocabulary: Vocabulary) -> Compiled:
    """The compiled form under a prefix, with levels that fit its arrays."""
    levels = said.numbers("levels", whole=True)
    proper = len(levels) >= 3 and levels[:2] == (0, 1) and all(a <= b for a, b in pairwise(levels))
    if not proper or len(levels) > MAX_ORDER + 2 or levels[2] != len(vocabulary) + 2:
        raise folder.damaged("its levels do not fit its vocabulary")
    words = folder.array(prefix + "words", np.uint32, length=levels[-1])
    found = folder.arrays.get(prefix + "leaves", np.zeros(0)).dtype
    real = np.float64 if found == leaf_type(np.float64) else np.float32
    nodes = folder.array(prefix + "nodes", node_type(real), length=levels[-2] + 1)
    leaves = folder.array(prefix + "leaves", leaf_type(real), length=levels[-1] - levels[-2])
    first = nodes["first"]
    if any(first[levels[n - 1]] != levels[n] for n in range(1, len(levels) - 1)) or first[-1] != levels[-1]:
        raise folder.damaged("its levels do not fit its followers")
    start = said.number("start", whole=True)
    if start >= len(nodes) - 1:
        raise folder.damaged(f"its start {start} is not a context")
    return Compiled(words, nodes, leaves, levels, start)


def frequencies(folder: Folder, name: str, length: int) -> np.ndarray:
    """Frequencies, in 32 or 64 bits."""
    wide = name in folder.arrays and folder.arrays[name].dtype == np.uint64
    return folder.array(name, np.uint64 if wide else np.uint32, length=length)


def _ngram(folder: Folder, said: Said, vocabulary: Vocabulary, inside: str) -> NgramLM:
    prefix = f"{inside}{NGRAM}/"
    compiled = read_compiled(folder, said, prefix, vocabulary)
    settings = None
    if said.about.get("settings") is not None:
        own = said.part("settings")
        own.choice(SMOOTHERS, "smoothing")
        settings = NgramSettings(
            smoothing=own.about["smoothing"],
            discounts=tuple(tuple(table[1:].tolist()) for table in own.discounts(compiled.order)),
            extra=_extra(own),
            prune=own.numbers("prune", whole=True),
            prune_entropy=own.number("prune_entropy"),
        )
    counts = None
    if said.about.get("counts") is not None:
        own = said.part("counts")
        own.choice(dict.fromkeys(EDGES), "edge")
        counts = partial(
            _counts_of,
            vocabulary,
            compiled,
            frequencies(folder, prefix + "frequencies", len(compiled.words)),
            edge=own.about["edge"],
            sentences=own.number("sentences", whole=True),
            cut_off=own.numbers("cut_off", whole=True),
        )
    notes = said.about.get("notes")
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise folder.damaged("its notes must be a list of sentences")
    return NgramLM(vocabulary, compiled, counts=counts, settings=settings, notes=tuple(notes))


def _counts_of(vocabulary: Vocabulary, compiled: Compiled, frequencies: np.ndarray, **settings: Any) -> Counts:
    return Counts(vocabulary, compiled.trie, frequencies, **settings)


def _extra(said: Said) -> tuple[str, ...]:
    value = said.about.get("extra")
    known = isinstance(value, list) and all(isinstance(name, str) and name in CONSTANT_BLOCKS for name in value)
    if not isinstance(value, list) or not known or len(set(value)) < len(value) or "uniform" not in value:
        raise said.folder.damaged(f"extra must be a list of {', '.join(CONSTANT_BLOCKS)}, with uniform in it")
    return tuple(value)


def _ngram_block(folder: Folder, said: Said, vocabulary: Vocabulary, place: str) -> Block:
    smoother = said.choice(SMOOTHERS, "smoothing")()
    counts = counts_in(replace(folder, about=said.about), vocabulary, inside=place)
    return NgramBlock(Estimates(smoother, counts, said.discounts(counts.order)))


def _model_block(folder: Folder, said: Said, vocabulary: Vocabulary, place: str) -> Block:
    if place.count("columns/") > DEEPEST:
        raise folder.damaged(f"models stand inside models more than {DEEPEST} deep")
    return ModelBlock(opened(folder, said.part("model").about, inside=place), vocabulary)


BLOCK_READERS: dict[str, Callable[[Folder, Said, Vocabulary, str], Block]] = {
    "ngram": _ngram_block,
    "model": _model_block,
    "uniform": lambda folder, said, vocabulary, place: CONSTANT_BLOCKS["uniform"](vocabulary),
    "unknown": lambda folder, said, vocabulary, place: CONSTANT_BLOCKS["unknown"](vocabulary),
}


LATER_BLOCK_READERS = {"causal-lm": "modlm.integrations.hugging_face.lm_block.opened"}


def read_blocks(folder: Folder, said: Said, vocabulary: Vocabulary, inside: str) -> dict[str, Block]:
    """The columns of a model in their order."""
    blocks: dict[str, Block] = {}
    for name in said.part("blocks").about:
        own = said.part("blocks").part(name)
        reader = own.choice({**BLOCK_READERS, **LATER_BLOCK_READERS}, "kind")
        reader = named(reader) if isinstance(reader, str) else reader
        blocks[name] = reader(folder, own, vocabulary, f"{inside}columns/{name}/")
    return blocks


def _mixture(folder: Folder, said: Said, vocabulary: Vocabulary, inside: str) -> Mixture:
    blocks = read_blocks(folder, said, vocabulary, inside)
    mixer_said = said.part("mixer")
    layout = ColumnLayout(blocks)
    mixer: Mixer
    if mixer_said.choice(dict.fromkeys(("heuristic", "static"), True), "kind") and mixer_said.about["kind"] == "static":
        weights = mixer_said.numbers("weights")
        if len(weights) != len(layout):
            raise folder.damaged(f"it has {len(weights)} weights for {len(layout)} columns")
        mixer = StaticMixer(np.array(weights))
    else:
        smoother = mixer_said.choice(SMOOTHERS, "smoothing")()
        mixer = HeuristicMixer(layout, smoother, block=str(mixer_said.about.get("block")))
    return Mixture(vocabulary, blocks, mixer)


READERS: dict[str, Callable[[Folder, Said, Vocabulary, str], LanguageModel]] = {"ngram": _ngram, "mixture": _mixture}
LATER_READERS = {"neural-mixture": "modlm.nets.neural_folder.opened"}
