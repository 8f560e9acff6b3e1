"""The texts: unpacked into the work folder, with `<unk>` renamed because lmplz refuses it, and cut to measure.

Both programs read the very same files, so the renamed word is an ordinary word for both.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from modlm.ground.files import new_file

OPENERS: dict[str, Callable[[Path], Any]] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
RENAMED = b"(unk)"
WIDE_WORDS = 300_000  # the large vocabulary for whole distributions
LAST_SENTENCES = 200_000
TEST_COPIES = 20
HELD_OUT = 2_000  # sentences behind the wide training text that give contexts

DEFAULTS = {
    "ptb.train": "ptb/ptb.train.txt.xz",
    "ptb.test": "ptb/ptb.test.txt.xz",
    "newswire": "newswire/reuters_2006_2013.ptb.txt.xz",
    "large": "news/enwiki_third.ptb.txt.xz",
}
"""Where texts lie in the folder that MODLM_DATA names."""


def default_sources() -> dict[str, Path]:
    """The texts that are there under MODLM_DATA."""
    folder = os.environ.get("MODLM_DATA", "")
    places = {name: Path(folder) / place for name, place in DEFAULTS.items()} if folder else {}
    return {name: place for name, place in places.items() if place.is_file()}


class Texts:
    """Plain text files by name, made when first asked for."""

    def __init__(self, folder: Path, sources: Mapping[str, Path]) -> None:
        self.folder, self.sources = folder, dict(sources)
        self._makers: dict[str, tuple[str, Callable[[], Iterator[bytes]]]] = {
            "ptb.test.many": ("ptb.test", self._repeated),
            "newswire.last": ("newswire", self._last),
            "wide": ("large", self._wide),
            "wide.test": ("large", self._behind_wide),
        }

    def has(self, name: str) -> bool:
        """Whether the text, or the one it is made from, was given."""
        return self._makers.get(name, (name,))[0] in self.sources

    def file(self, name: str) -> str:
        """The text's file name in the work folder, where it now lies."""
        path = self.folder / f"{name}.txt"
        if not path.exists():
            lines = self._makers[name][1]() if name in self._makers else self._unpacked(name)
            with new_file(path) as target, target.open("wb") as stream:
                stream.writelines(lines)
        return path.name

    def path(self, name: str) -> Path:
        """The same with its folder."""
        return self.folder / self.file(name)

    def sentences(self, name: str, count: int | None = None) -> list[str]:
        """The first lines of a text."""
        with self.path(name).open(encoding="utf-8") as stream:
            return [line.rstrip("\n") for line in islice(stream, count)]

    def _unpacked(self, name: str) -> Iterator[bytes]:
        source = self.sources[name]
        opener = OPENERS.get(source.suffix)
        with source.open("rb") if opener is None else opener(source) as stream:
            for line in stream:
                yield line.replace(b"<unk>", RENAMED).rstrip(b"\r\n") + b"\n"

    def _lines(self, name: str) -> Iterator[bytes]:
        with self.path(name).open("rb") as stream:
            yield from stream

    def _repeated(self) -> Iterator[bytes]:
        yield from list(self._lines("ptb.test")) * TEST_COPIES

    def _last(self) -> Iterator[bytes]:
        yield from deque(self._lines("newswire"), maxlen=LAST_SENTENCES)

    def _wide(self) -> Iterator[bytes]:
        """The shortest beginning of the large text that has the words; all of it when it never does."""
        words: set[bytes] = set()
        for line in self._unpacked("large"):
            yield line
            words.update(line.split())
            if len(words) >= WIDE_WORDS:
                return

    def _behind_wide(self) -> Iterator[bytes]:
        """What follows that beginning; when nothing does, its own last sentences."""
        length = sum(1 for _ in self._lines("wide"))
        behind = list(islice(self._unpacked("large"), length, length + HELD_OUT))
        yield from behind or deque(self._lines("wide"), maxlen=HELD_OUT)
