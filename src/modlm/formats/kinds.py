"""What a path is: one of our folders, by its manifest, or a file, by its first lines."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from modlm.errors import InputError
from modlm.store.manifest import is_folder
from modlm.text.sources import STANDARD_INPUT, Files

COUNT_LINE = re.compile(rb" *+[^\t ][^\t]*+\t[0-9]+\r?")  # nothing is tried twice: lines may be as long as a text
LOOK = 100  # lines that tell a count file from a text
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
KENLM_MAGIC = b"mmap lm http://kheafield.com/code"


def folder_kind(path: Path) -> str:
    """`model`, `counts` or `corpus`, or "" for a folder that is not ours; a run folder with a model is a model."""
    found = [kind for kind in ("model", "counts", "corpus") if is_folder(path, kind=kind)]
    return found[0] if found else "model" if is_folder(path / "model", kind="model") else ""


def kind_of(path: Path) -> str:
    """`model`, `counts`, `corpus`, `arpa`, `count file`, `kenlm` or `text`."""
    if path.is_dir():
        if kind := folder_kind(path):
            return kind
        raise InputError(
            "this is a folder, but not one of modlm's: it has no model.json, counts.json or corpus.json. "
            "Give the files in it.",
            path=path,
        )
    if str(path) == STANDARD_INPUT or not path.is_file():
        return "text"  # a pipe cannot be looked at twice; whoever reads it says what is wrong
    with path.open("rb") as stream:
        head = stream.read(len(KENLM_MAGIC))
        if head == KENLM_MAGIC or (head.startswith(KENLM_MAGIC[:7]) and KENLM_MAGIC.startswith(head)):
            return "kenlm"  # or the first bytes of one, which its reader says
    lines = _first(path).split(b"\n")
    if any(line.strip() == b"\\data\\" for line in lines):
        return "arpa"
    shown = [line for line in lines[:LOOK] if line.strip()]
    return "count file" if shown and all(COUNT_LINE.fullmatch(line) for line in shown) else "text"


def _first(path: Path) -> bytes:
    """The first lines of a file, decompressed."""
    with contextlib.closing(Files([path]).blocks(1 << 16)) as blocks:  # type: ignore[type-var]  # a generator
        block = next(blocks, None)
    return bytes(block.data[: block.size]) if block else b""


def is_binary(path: Path) -> bool:
    """Whether what would be read as a text has bytes that no text has: control characters, and none of UTF-8."""
    first = _first(path) if path.is_file() else b""
    return CONTROL.search(first) is not None and "\ufffd" in first.decode(errors="replace")
