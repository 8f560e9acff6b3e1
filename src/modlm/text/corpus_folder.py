"""A corpus on disk: `ids.npy` (memory-mapped), `vocabulary.txt`, and `corpus.json` with the numbers that fit both."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from modlm.arrays import Ids
from modlm.errors import InputError, ModelFolderError, ModlmError
from modlm.text.tokens import TOKENIZER, TokenVocabulary, tokenizer_bytes
from modlm.text.vocabulary import END, UNKNOWN, VOCABULARY, Vocabulary

FORMAT, VERSION = "modlm corpus", 1
IDS, RECORD = "ids.npy", "corpus.json"
PIECE = 1 << 22  # ids looked at together when a corpus is checked

Verify: TypeAlias = Literal["fast", "full"]
"""How a folder is checked on opening: sizes and vocabulary, or every id as well."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a corpus counts."""

    sentences: int
    unknown: int


def write_record(
    folder: Path, ids: Ids, vocabulary: Vocabulary, numbers: Numbers, sources: tuple[int, ...] = ()
) -> None:
    """Write the vocabulary and the record beside `ids.npy`."""
    for name, data in vocabulary.files().items():
        (folder / name).write_bytes(data)
    record = {
        "format": FORMAT,
        "version": VERSION,
        "ids": len(ids),
        "sentences": numbers.sentences,
        "unknown": numbers.unknown,
        "sources": list(sources),
        **vocabulary.fingerprints(),
    }
    (folder / RECORD).write_text(json.dumps(record, indent=2) + "\n")


def read_folder(folder: Path, *, verify: Verify) -> tuple[Ids, Vocabulary, Numbers, tuple[int, ...]]:
    """The parts of a corpus folder, or an error that says what is wrong with it."""
    record = _read_record(folder)
    try:
        vocabulary = Vocabulary.from_file(folder / VOCABULARY, strict=True)
        ids: Ids = np.load(folder / IDS, mmap_mode="r")
    except (ModlmError, OSError, ValueError, EOFError) as error:
        raise _damaged(folder, str(error)) from error
    if vocabulary.fingerprint != record["vocabulary"]:
        raise _damaged(folder, f"{VOCABULARY} is not the vocabulary with which the text was read")
    if "tokenizer" in record:
        vocabulary = _with_tokenizer(folder, vocabulary, record["tokenizer"])
    if ids.dtype != np.dtype("<u4") or ids.shape != (record["ids"],):
        raise _damaged(folder, f"{IDS} holds {ids.shape} {ids.dtype}, but {RECORD} says {record['ids']} uint32")
    numbers = Numbers(record["sentences"], record["unknown"])
    if verify == "full":
        try:
            found = check_ids(ids, vocabulary)
        except InputError as error:
            raise _damaged(folder, f"{IDS}: {error}") from error
        if found != numbers:
            raise _damaged(folder, f"{IDS} has {found}, but {RECORD} says {numbers}")
    return ids, vocabulary, numbers, _sources(folder, record)


def _sources(folder: Path, record: dict[str, Any]) -> tuple[int, ...]:
    """Sentences of each source; earlier versions did not write them."""
    sources = record.get("sources", [])
    proper = isinstance(sources, list) and all(type(size) is int and size > 0 for size in sources)
    if not proper or sum(sources) not in (0, record["sentences"]):
        raise _damaged(folder, f"{RECORD} has sources that do not add up to its sentences")
    return tuple(sources)


def _with_tokenizer(folder: Path, vocabulary: Vocabulary, fingerprint: object) -> TokenVocabulary:
    try:
        tokens = TokenVocabulary(vocabulary.files()[VOCABULARY], tokenizer_bytes(folder / TOKENIZER))
    except InputError as error:
        raise _damaged(folder, str(error)) from error
    if tokens.tokenizer_fingerprint != fingerprint:
        raise _damaged(folder, f"{TOKENIZER} is not the tokenizer with which the text was read")
    return tokens


def _read_record(folder: Path) -> dict[str, Any]:
    if not (folder / RECORD).is_file():
        raise ModelFolderError(f"{folder} is not a corpus folder: it has no {RECORD}. Write one with Corpus.save.")
    try:
        record = json.loads((folder / RECORD).read_bytes())
    except (OSError, ValueError) as error:
        raise _damaged(folder, f"{RECORD} cannot be read: {error}") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise _damaged(folder, f"{RECORD} does not describe a corpus")
    if record.get("version") != VERSION:
        raise ModelFolderError(
            f"{folder} has version {record.get('version')!r} of the corpus format, but this program reads version "
            f"{VERSION}. Read the text again, or use the program that wrote the folder."
        )
    for name, kind in (("ids", int), ("sentences", int), ("unknown", int), ("vocabulary", str)):
        if not isinstance(record.get(name), kind):
            raise _damaged(folder, f"{RECORD} has no proper entry {name!r}")
    return record


def _damaged(folder: Path, reason: str) -> ModelFolderError:
    return ModelFolderError(f"The corpus in {folder} is damaged: {reason}. Read the text again to replace it.")


def check_ids(ids: Ids, vocabulary: Vocabulary) -> Numbers:
    """Sentences and unknown words of an array that is `<s> w ... </s>` again and again; else an error."""
    start = vocabulary.start
    if len(ids) and (ids[0] != start or ids[-1] != END):
        raise InputError(f"ids of a text begin with <s> ({start}) and end with </s> ({END}).")
    sentences, unknown = 0, 0
    for at in range(0, len(ids), PIECE):
        piece = np.asarray(ids[at : at + PIECE + 1])  # one more, to see what follows the last
        starts, ends = piece == start, piece == END
        wrong = np.flatnonzero((ends[:-1] != starts[1:]) | (piece[:-1] > start))
        if len(wrong):
            place = at + int(wrong[0])
            raise InputError(
                f"the ids {ids[place]} {ids[place + 1]} at place {place} cannot stand in a text: ids go to {start}, "
                f"and each </s> ({END}) has an <s> ({start}) behind it."
            )
        sentences += int(np.count_nonzero(starts[:PIECE]))
        unknown += int(np.count_nonzero(piece[:PIECE] == UNKNOWN))
    return Numbers(sentences, unknown)
