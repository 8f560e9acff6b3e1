"""What a path on the command line is, and texts that may come from standard input."""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from modlm.errors import InputError
from modlm.files import scratch_folder

if TYPE_CHECKING:
    from modlm.model.language_model import LanguageModel

STANDARD_INPUT = Path("-")
COUNT_LINE = re.compile(rb"[^\t]*[^\t ][^\t]*\t[0-9]+\r?")
LOOK = 100  # lines that tell a count file from a text
KENLM_MAGIC = b"mmap lm http://kheafield.com/code"


def kind_of(path: Path) -> str:
    """`model`, `counts`, `corpus`, `arpa`, `count file`, `kenlm` or `text`, by its manifest or first lines."""
    if path.is_dir():
        for kind in ("model", "counts", "corpus"):
            if (path / f"{kind}.json").is_file():
                return kind
        if (path / "model" / "model.json").is_file():
            return "model"
        raise InputError(
            "this is a folder, but not one of modlm's: it has no model.json, counts.json or corpus.json. "
            "Give the files in it.",
            path=path,
        )
    if path == STANDARD_INPUT or not path.is_file():
        return "text"  # a pipe cannot be looked at twice; whoever reads it says what is wrong
    head = first_bytes(path)
    if head.startswith(KENLM_MAGIC):
        return "kenlm"
    lines = head.split(b"\n")
    if any(line.strip() == b"\\data\\" for line in lines):
        return "arpa"
    shown = [line for line in lines[:LOOK] if line.strip()]
    return "count file" if shown and all(COUNT_LINE.fullmatch(line) for line in shown) else "text"


def first_bytes(path: Path) -> bytes:
    """The first whole lines of a file, unpacked; nothing of an empty one."""
    from modlm.text.sources import Files

    with path.open("rb") as stream:
        if stream.read(len(KENLM_MAGIC)) == KENLM_MAGIC:
            return KENLM_MAGIC
    with contextlib.closing(Files([path]).blocks(1 << 16)) as blocks:  # type: ignore[type-var]  # a generator
        block = next(blocks, None)
        return bytes(block.data[: block.size]) if block else b""


def words_of(sentence: str) -> list[str]:
    """The words of a line, as the package splits it: at ASCII white space."""
    from modlm.text.word_list import SPACE

    return re.findall(f"[^{SPACE}]+", sentence)


def batches_of_lines(
    text: Path, size: int = 4096, *, encoding_errors: str = "strict"
) -> Iterator[tuple[int, list[str]]]:
    """The number (from 1) of a line and up to so many lines from there."""
    from modlm.text.options import TextOptions
    from modlm.text.sources import Files

    errors = TextOptions(encoding_errors=encoding_errors).encoding_errors
    line, lines = 0, list[str]()
    for block in Files([text]).blocks():
        for raw in bytes(block.data[: block.size]).split(b"\n")[:-1]:
            line += 1
            try:
                lines.append(raw.removesuffix(b"\r").decode(errors=errors))
            except UnicodeDecodeError as error:
                raise InputError(
                    f"byte {error.start + 1} of the line is not valid UTF-8. Convert the text to UTF-8, or have such "
                    f"bytes replaced with --encoding-errors replace.",
                    path=text,
                    line=line,
                ) from None
            if len(lines) == size:
                yield line - size + 1, lines
                lines = []
    if lines:
        yield line - len(lines) + 1, lines
    if line == 0:
        raise InputError("there are no sentences: the text is empty.", path=text)


def load_model(path: Path, tokenizer: Path | None = None) -> LanguageModel:
    """The model at a path; an ARPA file over tokens with its tokenizer."""
    from modlm.model.folder import load

    model = load(path)
    if tokenizer is not None and model.vocabulary.units == "words":
        from modlm.text.tokens import with_tokenizer

        model.vocabulary = with_tokenizer(model.vocabulary, tokenizer)
    return model


@contextlib.contextmanager
def readable_twice(text: Path) -> Iterator[Path]:
    """The text as a file that can be read more than once; standard input is kept in a temporary file."""
    if text != STANDARD_INPUT:
        yield text
        return
    with scratch_folder() as folder:
        copy = folder / "standard-input"
        with copy.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream, 1 << 20)
        yield copy
