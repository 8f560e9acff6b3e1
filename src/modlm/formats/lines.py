"""A file as blocks of whole lines, with the number of the line at hand.

Kernels work on `text[at:end]`, which always ends with a line feed, and report how many lines they took; Python takes
the odd line (a header, a section mark) with `take_line`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from modlm.errors import InputError
from modlm.ground.arrays import Bytes
from modlm.text.packing import packing_at
from modlm.text.sources import Block, Files
from modlm.text.vocabulary import split_words


class Lines:
    """The lines of a file; `line` is the number (from 1) of the one that starts at `at`."""

    def __init__(self, blocks: Iterator[Block], path: Path, *, size: int | None) -> None:
        self.path = path
        self.size = size
        """Bytes of the file; None when it is packed or a pipe, so that nothing is known before it is read."""
        self.consumed = 0
        """Bytes of the file as it lies on disk that were read so far."""
        self.at, self.end, self.line = 0, 0, 1
        self.text: Bytes = np.zeros(0, np.uint8)
        self._data = bytearray()
        self._blocks = blocks

    def more(self) -> bool:
        """Whether text[at:end] holds a line, reading the next block if it is empty."""
        while self.at == self.end:
            block = next(self._blocks, None)
            if block is None:
                return False
            self._data, self.at, self.end = block.data, 0, block.size
            self.text = np.frombuffer(block.data, np.uint8)
            self.consumed += block.consumed
        return True

    def take_line(self) -> bytes | None:
        """The next line without its line end, or None at the end of the file."""
        if not self.more():
            return None
        start, stop = self.at, self._data.index(b"\n", self.at, self.end)
        self.skip(stop + 1 - start, lines=1)
        return bytes(self._data[start:stop]).removesuffix(b"\r")

    def peek(self) -> bytes | None:
        """The next line that is not blank, stripped and not taken (blank ones before it are); None at the end."""
        while self.more():
            stop = self._data.index(b"\n", self.at, self.end)
            line = bytes(self._data[self.at : stop]).strip()
            if line:
                return line
            self.skip(stop + 1 - self.at, lines=1)
        return None

    def skip(self, count: int, *, lines: int) -> None:
        """Count bytes that hold so many lines as done."""
        self.at += count
        self.line += lines

    def drain(self) -> None:
        """Read to the end of the file, so that a packed one is checked to its end."""
        for _ in self._blocks:
            pass

    def fail(self, message: str, *, line: int = 0) -> InputError:
        """The error for the line at hand, or for the given one."""
        return InputError(message, path=self.path, line=line or self.line)


def shown(found: bytes) -> str:
    """What was found, quoted for a message: decoded as far as possible and not too long."""
    text = found.decode(errors="backslashreplace")
    return "'" + (text if len(text) <= 60 else text[:57] + "...") + "'"


def quoted(text: str) -> str:
    """A name or word for a message, cut if it is long."""
    return shown(text.encode(errors="backslashreplace"))


@contextmanager
def open_lines(path: Path) -> Iterator[Lines]:
    """The lines of a file, plain or packed."""
    files = Files([path])
    with closing(files.blocks()) as blocks:  # type: ignore[type-var]  # a generator, which closes the file
        yield Lines(blocks, path, size=None if packing_at(path) else files.size())


def text_lines(path: Path, *, blank: bool = False) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers; blank ones only if asked for."""
    with open_lines(path) as lines:
        while True:
            number, raw = lines.line, lines.take_line()
            if raw is None:
                return
            if not blank and not raw.strip():
                continue
            try:
                text = raw.decode()
            except UnicodeDecodeError as error:
                raise InputError(
                    f"byte {error.start + 1} of the line is not valid UTF-8. Convert the file to UTF-8.",
                    path=path,
                    line=number,
                ) from None
            if blank or split_words(text):
                yield number, text
