"""Models on disk: a folder with `model.json`, the vocabulary, and the arrays of each block, all mapped on opening.

`docs/formats.md` specifies it. Every class says with `parts` what a folder keeps of it and reads it back with
`from_parts`; what kinds there are stands in `modlm.families`. Nothing is executed or unpickled.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modlm.blocks.block import DELTA, UNLIMITED, Blocks
from modlm.errors import ConfigError, ModelFolderError
from modlm.families import MODELS, READERS
from modlm.formats.kinds import is_binary, kind_of
from modlm.store.folder import COLUMNS, Folder, Parts, open_folder, write_folder
from modlm.store.manifest import FILE_NAME, Verify, is_folder
from modlm.text.sources import MODEL_FIRST
from modlm.text.tokens import with_tokenizer
from modlm.text.vocabulary_files import vocabulary_in

if TYPE_CHECKING:
    from modlm.model.language_model import LanguageModel

KIND = "model"
CARD = "card.md"
NEURAL = "neural-mixture"  # what earlier versions called a mixture whose mixer is a net
HUB = re.compile("hf:/")


def save(model: LanguageModel, target: str | os.PathLike[str], *, card: str = "", overwrite: bool = False) -> None:
    """Write a model folder; `card` says in Markdown what it is."""
    parts = model.parts()
    about, arrays, texts = parts.settings, parts.arrays, {**parts.texts, CARD: card or default_card(model)}
    if model.spelling is not None:
        own = model.spelling.parts()
        about, arrays, texts = {**about, "spelling": own.settings}, {**arrays, **own.arrays}, {**texts, **own.texts}
    write_folder(target, kind=KIND, about=about, arrays=arrays, texts=texts, overwrite=overwrite)


def card_of(title: str, facts: Iterable[str], *, command: str = "") -> str:
    """A card: a title, facts below it, and with what it was made."""
    from modlm import __version__

    made = f"Made by modlm {__version__}" + (f":\n\n    {command}\n" if command else ".\n")
    return "\n".join([f"# {title}", "", *(f"- {fact}" for fact in facts), "", made])


def default_card(model: LanguageModel) -> str:
    """A card for a model about which nothing more was said."""
    title, size = type(model).__name__, f"{len(model.vocabulary):,} {model.vocabulary.units}"
    length = model.context_length
    context = f"{length} words of context" if length < UNLIMITED else "all words of the sentence before"
    return f"# {title}\n\n{size}; looks at {context}.\n"


def load(
    path: str | os.PathLike[str],
    *,
    verify: Verify = "fast",
    resident: bool = False,
    tokenizer: str | os.PathLike[str] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> LanguageModel:
    """The model at a path: a model folder, a run folder with `model/` in it, an ARPA file or a KenLM binary.

    `hf://user/name`, or `hf://user/name@revision`, is downloaded from the Hugging Face Hub, or found in its cache, and
    every byte is compared (`store/hub.py`).

    `verify="full"` reads every byte and compares it with the manifest. A model is mapped from its files, which takes
    milliseconds and is shared between processes; `resident=True` takes an n-gram model into memory instead and indexes
    it, for programs that score a lot. An ARPA file over tokens reads text with its `tokenizer`, a tokenizer.json or a
    folder with one; models of ours have their own. `functions` gives columns that are Python functions by the names of
    their blocks, where these cannot be imported.
    """
    if HUB.match(str(path)):
        from modlm.store.hub import download

        path, verify = download(str(path), kind=KIND), "full"
    model = _load(Path(path), verify, functions or {})
    if tokenizer is not None and model.vocabulary.units == "words":
        model.vocabulary = with_tokenizer(model.vocabulary, tokenizer)
    return model.resident() if resident else model


def _load(place: Path, verify: Verify, functions: Mapping[str, Callable[..., Any]]) -> LanguageModel:
    if place.is_dir():
        if not is_folder(place, kind=KIND) and is_folder(place / "model", kind=KIND):
            place = place / "model"
        elif not is_folder(place, kind=KIND) and (place / "journal.jsonl").exists():
            raise ModelFolderError(
                f"The run in {place} has not ended, so there is no model in it yet. Go on with: "
                f'modlm.train(..., out="{place}", resume=True)'
            )
        stored = replace(open_folder(place, kind=KIND, verify=verify), functions=functions)
        model: LanguageModel = stored.member(MODELS).from_parts(stored, vocabulary_in(stored, what="model was"))
        model.folder = str(place.resolve())
        if stored.about.get("spelling") is not None:
            model.spelling = READERS["spelling"](stored)
        return model
    if not place.exists():
        hint = f" {MODEL_FIRST}" if " " in place.name else ""
        raise ModelFolderError(
            f"There is no model at {place}. Give a model folder, an ARPA file or a KenLM binary.{hint}"
        )
    kind = kind_of(place)
    if kind in ("text", "count file") and place.suffixes[:1] != [".arpa"]:
        if is_binary(place):
            raise ModelFolderError(
                f"{place} is binary data of an unknown kind. Give a model folder, an ARPA file or a KenLM binary."
            )
        raise ModelFolderError(f"{place} is a {kind}, not a model. {MODEL_FIRST}")
    read: LanguageModel = READERS["kenlm" if kind == "kenlm" else "arpa"](place)
    return read


def parts_of_blocks(blocks: Blocks) -> Parts:
    """What a folder keeps of the blocks of a mixture, each in a folder of its own."""
    kept = Parts()
    for name, block in blocks.items():
        if not FILE_NAME.fullmatch(name):
            raise ConfigError(
                f"A block called {name!r} cannot be saved. Use letters, digits, dots and dashes in its name."
            )
        own = block.parts().within(f"{COLUMNS}/{name}/")
        settings = {**kept.settings, name: {"kind": block.kind, **own.settings}}
        kept = Parts(settings, {**kept.arrays, **own.arrays}, {**kept.texts, **own.texts})
    return kept


def mixture_of_today(stored: Folder) -> dict[str, Any]:
    """What an earlier version said of a mixture whose mixer is a net, as this one says it."""
    delta = stored.about.get("delta")
    if not isinstance(delta, bool):
        raise stored.damaged("delta must be true or false")
    blocks = {**stored.part("blocks").about, **({DELTA: {"kind": DELTA}} if delta else {})}
    mixer = {"kind": "net", "net": stored.about.get("net"), "trained_on": stored.about.get("trained_on", "")}
    return {**stored.about, "blocks": blocks, "mixer": mixer}
