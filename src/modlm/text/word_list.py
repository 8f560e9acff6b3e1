"""Word lists, from files and from Python, as the sound bytes of a vocabulary file.

Sound means: UTF-8, `<unk>` and `</s>` on the first two lines, then one word a line without white space inside, no empty
line, no `<s>`, a line end behind the last word. Equal words are refused wherever words are looked at one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import dropwhile
from pathlib import Path
from typing import TypeAlias

import numpy as np

from modlm.errors import InputError, VocabularyError
from modlm.ground.arrays import Ints
from modlm.text.sources import Files

UNKNOWN_NAME = "<unk>"
END_NAME = "</s>"
START_NAME = "<s>"
RESERVED = (UNKNOWN_NAME, END_NAME, START_NAME)

WordLines: TypeAlias = tuple[bytes, Ints]
"""The bytes of a vocabulary file, and where each line begins (with the length behind)."""

SPACE = " \t\n\v\f\r\0"  # ASCII white space, which ends words; other white space, such as U+00A0, belongs to words

HEADER = f"{UNKNOWN_NAME}\n{END_NAME}\n".encode()
_RESERVED_LINES = tuple(f"{name}\n".encode() for name in RESERVED)
_SPACE = re.compile(f"[{SPACE}]")


def words_as_lines(words: Iterable[str]) -> WordLines:
    """The vocabulary file with these ordinary words; reserved names in front are passed over."""
    ordinary = list(dropwhile(RESERVED.__contains__, words))
    try:
        data = HEADER + "\n".join([*ordinary, ""]).encode()
    except (UnicodeEncodeError, TypeError):
        raise _wrong_word(ordinary) from None
    offsets = _sound_offsets(data)
    if offsets is None or len(offsets) != len(ordinary) + 3 or len(set(ordinary)) < len(ordinary):
        raise _wrong_word(ordinary)
    return data, offsets


def _wrong_word(words: list[str]) -> VocabularyError:
    seen: set[str] = set()
    for place, word in enumerate(words, start=1):
        if problem := _problem(word):
            return VocabularyError(f"Word {place} of the vocabulary, {word!r:.60}, {problem}.")
        if word in seen:
            return VocabularyError(f"The word {word!r:.60} is given twice. Every word has one id; leave one out.")
        seen.add(word)
    raise AssertionError("a good word list was called wrong")


def _problem(word: object) -> str | None:
    if not isinstance(word, str):
        return f"is not a string but a {type(word).__name__}"
    if not word:
        return "is empty"
    if _SPACE.search(word):
        return "has white space inside, and texts are split there"
    if word in RESERVED:
        return "is a reserved name and has its id already; leave it out, or put it in front of the ordinary words"
    try:
        word.encode()
    except UnicodeEncodeError:
        return "holds half a surrogate pair and cannot be written as UTF-8"
    return None


def read_words(path: Path, *, strict: bool) -> WordLines:
    """The vocabulary file with the words of this list, which is the list itself when that is sound."""
    data = b"".join(memoryview(block.data)[: block.size] for block in Files([path]).blocks())
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"byte 0x{data[error.start]:02x} is not valid UTF-8 here. Word lists must be UTF-8; convert the file.",
            path=path, line=data.count(b"\n", 0, error.start) + 1,
        ) from None  # fmt: skip
    offsets = _sound_offsets(data)
    if offsets is None and strict:
        raise _unsound(text, path)
    return (data, offsets) if offsets is not None else words_as_lines(_tidied(text, path))


def _sound_offsets(data: bytes) -> Ints | None:
    """Where the lines of a sound vocabulary file begin; None for any other data. Equal words are not looked for."""
    if not data.startswith(HEADER) or any(ord(space) in data for space in SPACE if space != "\n"):
        return None
    offsets = line_offsets(data)
    starts = offsets[2:-1]
    suspects = starts[np.frombuffer(data, np.uint8)[starts] == ord("<")].tolist()
    reserved = any(data.startswith(_RESERVED_LINES, start) for start in suspects)
    return None if reserved or np.diff(offsets).min() == 1 else offsets


def line_offsets(lines: bytes) -> Ints:
    """Where each line begins, and behind them the length."""
    line_ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == ord("\n"))
    offsets = np.zeros(len(line_ends) + 1, np.int64)
    np.add(line_ends, 1, out=offsets[1:])
    return offsets


def _unsound(text: str, path: Path) -> InputError:
    rule = f"Line 1 is {UNKNOWN_NAME}, line 2 {END_NAME}, then one word a line; the file was edited or damaged."
    if not text.startswith(HEADER.decode()):
        return InputError(f"this vocabulary does not begin with {UNKNOWN_NAME} and {END_NAME}. {rule}", path=path)
    for number, line in enumerate(text.split("\n")[2:-1], start=3):
        if problem := _problem(line):
            return InputError(f"the word {line!r:.60} {problem}. {rule}", path=path, line=number)
    raise AssertionError("a sound vocabulary was called unsound")


def _tidied(text: str, path: Path) -> Iterable[str]:
    """The ordinary words, without white space around them; what is no word is an error with its line."""
    lines: dict[str, int] = {}
    for number, line in enumerate(text.rstrip(SPACE).split("\n"), start=1):
        word = line.strip(SPACE)
        if word in RESERVED:
            continue
        if problem := _problem(word):
            raise InputError(f"the word {word!r:.60} {problem}. Write one word a line.", path=path, line=number)
        if word in lines:
            message = f"the word {word!r:.60} stands on line {lines[word]} already. Every word has one line."
            raise InputError(message, path=path, line=number)
        lines[word] = number
    return lines
