"""Models on disk: a folder with `model.json`, the vocabulary, and the arrays of each block, all memory-mapped on opening.

`docs/formats.md` specifies it. Nothing is executed or unpickled; what a folder says is checked before it is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from modlm.blocks import CONSTANT_BLOCKS, NgramBlock
from modlm.blocks.block import Block, ColumnLayout
from modlm.blocks.model import ModelBlock
from modlm.counts.counts import EDGES, MAX_ORDER, Counts
from modlm.counts.trie import Trie
from modlm.errors import ModelFolderError, ModlmError
from modlm.formats.folder import Folder, Verify, is_folder, open_folder, write_folder
from modlm.mixers import HeuristicMixer, Mixer, StaticMixer
from modlm.model.compiled import Compiled
from modlm.model.language_model import LanguageModel
from modlm.model.mixture import Mixture
from modlm.model.ngram_lm import NgramLM, NgramSettings
from modlm.smoothing import SMOOTHERS, Estimates
from modlm.text.vocabulary import Vocabulary

KIND = "model"
VOCABULARY = "vocabulary.txt"
CARD = "card.md"
NGRAM = "columns/ngram"

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
    raise ModlmError(f"A {type(model).__name__} has no form on disk; save the models it is made of.")


def _ngram_contents(model: NgramLM, inside: str) -> tuple[About, Arrays, Texts]:
    trie = model.compiled.trie
    about: About = {
        "kind": "ngram",
        "order": model.order,
        "levels": list(trie.levels),
        "start": model.compiled.start,
        "settings": asdict(model.settings) if model.settings else None,
        "counts": None,
        "notes": list(model.notes),
        "vocabulary": model.vocabulary.fingerprint,
    }
    arrays: Arrays = {"words": trie.words, "first": trie.first, "suffix": trie.suffix}
    if model.counts is not None:
        about["counts"] = {"edge": model.counts.edge, "sentences": model.counts.sentences, "cut_off": list(model.counts.cut_off)}
        arrays["frequencies"] = model.counts.frequencies
    arrays |= {"probs": model.compiled.probs, "backoffs": model.compiled.backoffs}
    prefix = f"{inside}{NGRAM}/"
    return about, {prefix + name: array for name, array in arrays.items()}, {inside + VOCABULARY: _lines(model.vocabulary)}


def _mixture_contents(model: Mixture, inside: str) -> tuple[About, Arrays, Texts]:
    arrays: Arrays = {}
    texts: Texts = {inside + VOCABULARY: _lines(model.vocabulary)}
    blocks: dict[str, About] = {}
    for name, block in model.blocks.items():
        place = f"{inside}columns/{name}/"
        if isinstance(block, ModelBlock):
            about, own_arrays, own_texts = contents(block.model, inside=place)  # type: ignore[arg-type]
            blocks[name] = {"kind": block.kind, "model": about}
            arrays |= own_arrays
            texts |= own_texts
            continue
        parts = block.parts()
        blocks[name] = {"kind": block.kind, **parts.settings}
        arrays |= {place + key: array for key, array in parts.arrays.items()}
    mixer = {"kind": model.mixer.kind, **model.mixer.parts().settings}
    about = {"kind": "mixture", "blocks": blocks, "mixer": mixer, "vocabulary": model.vocabulary.fingerprint}
    return about, arrays, texts


WRITERS: dict[type[LanguageModel], Callable[[Any, str], tuple[About, Arrays, Texts]]] = {
    NgramLM: _ngram_contents,
    Mixture: _mixture_contents,
}


def _lines(vocabulary: Vocabulary) -> bytes:
    return ("\n".join(vocabulary.words) + "\n").encode()


def default_card(model: LanguageModel) -> str:
    """A card for a model about which nothing more was said."""
    return f"# {type(model).__name__}\n\n{len(model.vocabulary):,} words; looks at {model.context_length} words of context.\n"


# ---- opening ---------------------------------------------------------------------------------------------------------


def load(path: str | os.PathLike[str], *, verify: Verify = "fast") -> LanguageModel:
    """The model at a path: a model folder, a run folder with `model/` in it, or an ARPA file (packed or not).

    `verify="full"` reads every byte and compares it with the manifest.
    """
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


def opened(folder: Folder, about: About | None = None, *, inside: str = "") -> LanguageModel:
    """The model that a folder, or a folder in it, holds."""
    said = Said(folder, folder.about if about is None else about)
    vocabulary = Vocabulary.from_file(folder.file(inside + VOCABULARY), strict=True)
    if vocabulary.fingerprint != said.about.get("vocabulary"):
        raise folder.damaged(f"{inside}{VOCABULARY} is not the vocabulary that the model was made with")
    return said.choice(READERS, "kind")(folder, said, vocabulary, inside)


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

    def numbers(self, name: str, *, whole: bool = False) -> tuple[Any, ...]:
        """A list of numbers."""
        value = self.about.get(name)
        wanted = int if whole else (int, float)
        if not isinstance(value, list) or not all(isinstance(x, wanted) and not isinstance(x, bool) for x in value):
            raise self.folder.damaged(f"{name} must be a list of numbers")
        return tuple(value)

    def tables(self, name: str, orders: int) -> tuple[tuple[float, ...], ...]:
        """Discounts: for each order a list of numbers."""
        value = self.about.get(name)
        if not isinstance(value, list) or len(value) != orders:
            raise self.folder.damaged(f"{name} must hold a list for each of the {orders} orders")
        return tuple(Said(self.folder, {name: row}).numbers(name) for row in value)


def read_trie(folder: Folder, said: Said, prefix: str, vocabulary: Vocabulary) -> Trie:
    """The trie under a prefix, with levels that fit its arrays."""
    levels = said.numbers("levels", whole=True)
    proper = len(levels) >= 3 and levels[:2] == (0, 1) and all(a <= b for a, b in zip(levels, levels[1:], strict=False))
    if not proper or len(levels) > MAX_ORDER + 2 or levels[2] != len(vocabulary) + 2:
        raise folder.damaged("its levels do not fit its vocabulary")
    words = folder.array(prefix + "words", np.uint32, length=levels[-1])
    first = folder.array(prefix + "first", np.uint32, length=levels[-2] + 1)
    suffix = folder.array(prefix + "suffix", np.uint32, length=levels[-1])
    return Trie(words, first, suffix, levels)


def frequencies(folder: Folder, name: str, length: int) -> np.ndarray:
    """Frequencies, in 32 or 64 bits."""
    wide = name in folder.arrays and folder.arrays[name].dtype == np.uint64
    return folder.array(name, np.uint64 if wide else np.uint32, length=length)


def _ngram(folder: Folder, said: Said, vocabulary: Vocabulary, inside: str) -> NgramLM:
    prefix = f"{inside}{NGRAM}/"
    trie = read_trie(folder, said, prefix, vocabulary)
    wide = folder.arrays.get(prefix + "probs", np.zeros(0)).dtype == np.float64
    real = np.float64 if wide else np.float32
    probs = folder.array(prefix + "probs", real, length=len(trie))
    backoffs = folder.array(prefix + "backoffs", real, length=trie.contexts)
    start = said.about.get("start")
    if not isinstance(start, int) or not 0 <= start < trie.contexts:
        raise folder.damaged(f"its start {start!r} is not a context")
    settings = None
    if said.about.get("settings") is not None:
        own = said.part("settings")
        own.choice(SMOOTHERS, "smoothing")
        settings = NgramSettings(
            smoothing=own.about["smoothing"],
            discounts=own.tables("discounts", trie.order),
            extra=tuple(CONSTANT_BLOCKS[name].kind for name in _names(own, "extra", CONSTANT_BLOCKS)),
            prune=own.numbers("prune", whole=True),
            prune_entropy=float(own.about.get("prune_entropy") or 0.0),
        )
    counts = None
    if said.about.get("counts") is not None:
        own = said.part("counts")
        own.choice(dict.fromkeys(EDGES), "edge")
        counts = Counts(
            vocabulary,
            trie,
            frequencies(folder, prefix + "frequencies", len(trie)),
            edge=own.about["edge"],
            sentences=int(own.about.get("sentences") or 0),
            cut_off=own.numbers("cut_off", whole=True),
        )
    notes = tuple(str(note) for note in said.about.get("notes") or ())
    compiled = Compiled(trie, probs, backoffs, start)
    return NgramLM(vocabulary, compiled, counts=counts, settings=settings, notes=notes)


def _names(said: Said, name: str, known: Mapping[str, Any]) -> tuple[str, ...]:
    value = said.about.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) and item in known for item in value):
        raise said.folder.damaged(f"{name} must be a list of {', '.join(known)}")
    return tuple(value)


def _ngram_block(folder: Folder, said: Said, vocabulary: Vocabulary, place: str) -> Block:
    trie = read_trie(folder, said, place, vocabulary)
    smoother = said.choice(SMOOTHERS, "smoothing")()
    said.choice(dict.fromkeys(EDGES), "edge")
    counts = Counts(vocabulary, trie, frequencies(folder, place + "frequencies", len(trie)), edge=said.about["edge"])
    tables = tuple(np.array([0.0, *row]) for row in said.tables("discounts", trie.order))
    return NgramBlock(Estimates(smoother, counts, tables))


def _model_block(folder: Folder, said: Said, vocabulary: Vocabulary, place: str) -> Block:
    return ModelBlock(opened(folder, said.part("model").about, inside=place), vocabulary)


BLOCK_READERS: dict[str, Callable[[Folder, Said, Vocabulary, str], Block]] = {
    "ngram": _ngram_block,
    "model": _model_block,
    "uniform": lambda folder, said, vocabulary, place: CONSTANT_BLOCKS["uniform"](vocabulary),
    "unknown": lambda folder, said, vocabulary, place: CONSTANT_BLOCKS["unknown"](vocabulary),
}


def _mixture(folder: Folder, said: Said, vocabulary: Vocabulary, inside: str) -> Mixture:
    blocks: dict[str, Block] = {}
    for name in said.part("blocks").about:
        own = said.part("blocks").part(name)
        blocks[name] = own.choice(BLOCK_READERS, "kind")(folder, own, vocabulary, f"{inside}columns/{name}/")
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
