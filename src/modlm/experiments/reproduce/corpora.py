"""Where the texts of the recipes lie, and texts made from them: joined, sampled, cut, each written once.

A corpus is looked up under the paper's name. It is the original if it is ours to have or if the user gave it
(`--corpus wsj=PATH`); otherwise its stand-in is taken, and whatever comes of it says so.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from modlm.errors import ConfigError, InputError, nearest
from modlm.experiments.reproduce.book import Book
from modlm.experiments.reproduce.entries import CorpusEntry, TextEntry
from modlm.files import new_file
from modlm.text.sources import Files

if TYPE_CHECKING:
    from modlm.text.vocabulary import Vocabulary

PARTS = ("train", "valid", "test", "vocabulary")
PATTERNS = {"train": "*train*", "valid": "*valid*", "test": "*test*", "vocabulary": "*vocab*"}


class Corpora:
    """The texts of a book; files that are made from them go to a folder."""

    def __init__(self, book: Book, made: Path, *, given: Mapping[str, Path], data: str | None = None) -> None:
        self.book, self.made = book, made
        self.data = os.environ.get("MODLM_DATA", "") if data is None else data
        self.given = {name: _found(name, path, book) for name, path in given.items()}

    # ---- which corpus -----------------------------------------------------------------------------------------------

    def used(self, role: str) -> CorpusEntry:
        """The corpus that is taken for one of the paper's: itself, or what stands for it."""
        entry = self.book.corpora[role]
        given = any(name.partition(".")[0] == role for name in self.given)
        return entry if given or not entry.stand_in else self.book.corpora[entry.stand_in]

    def stand_ins(self, name: str) -> dict[str, str]:
        """For a run: the paper's corpora that it draws on by what stands for them."""
        used = {role: self.used(role).name for role in self.book.roles(name)}
        return {role: found for role, found in used.items() if found != role}

    def names(self, name: str) -> tuple[str, ...]:
        """The corpora, as they are here, that a run draws on."""
        return tuple(dict.fromkeys(self.used(role).name for role in self.book.roles(name)))

    # ---- files ------------------------------------------------------------------------------------------------------

    def part(self, role: str, part: str) -> tuple[Path, ...]:
        """The files of a part of a corpus; none if it has no such part."""
        entry = self.used(role)
        for name in (f"{entry.name}.{part}", entry.name):
            if name in self.given:
                return _part_of(self.given[name], part, named=name.endswith(f".{part}"))
        files = getattr(entry, part)
        names = files if isinstance(files, tuple) else tuple(filter(None, (files,)))
        return tuple(self._in_data(entry, name) for name in names)

    def one(self, role: str, part: str) -> Path:
        """The one file of a part that must be there."""
        files = self.part(role, part)
        if len(files) != 1:
            raise InputError(
                f"the corpus has {len(files)} files for its part {part!r}, but needs one. Name it with "
                f"--corpus {self.used(role).name}.{part}=FILE",
                path=self.used(role).name,
            )
        return files[0]

    def _in_data(self, entry: CorpusEntry, name: str) -> Path:
        path = Path(self.data) / name
        if self.data and path.exists():
            return path
        where = f"{path} is not there" if self.data else "MODLM_DATA does not name a folder with the corpora"
        raise InputError(f"{where}. Set MODLM_DATA, or give it with --corpus {entry.name}=PATH", path=entry.name)

    def files(self, text: str) -> tuple[Path, ...]:
        """The files of a text or of a corpus's training text; a text that is cut is written first."""
        if text in self.book.corpora:
            if not (files := self.part(text, "train")):
                raise InputError(f"there is no training text. Give it with --corpus {text}=PATH", path=text)
            return files
        entry = self.book.texts[text]
        parts = tuple(path for name in entry.of for path in self.files(name))
        return parts if entry.whole else (self._written(entry, parts),)

    def file(self, text: str) -> Path:
        """The same as one file."""
        files = self.files(text)
        return files[0] if len(files) == 1 else self._written(TextEntry(name=text, of=(text,)), files)

    def sources(self, text: str) -> tuple[Path, ...]:
        """The same with a file for each text that it joins, since a net trained on several knows them apart."""
        entry = self.book.texts.get(text)
        if entry is None or not entry.whole:
            return (self.file(text),)
        return tuple(path for name in entry.of for path in self.sources(name))

    def _written(self, entry: TextEntry, files: tuple[Path, ...]) -> Path:
        """The lines that an entry keeps of some files, in a file named after both."""
        about = [entry.stated(), [(path.name, path.stat().st_size) for path in files]]
        mark = hashlib.sha256(json.dumps(about).encode()).hexdigest()[:8]
        target = self.made / f"{entry.name}-{mark}.txt"
        if not target.is_file():
            self.made.mkdir(parents=True, exist_ok=True)
            with new_file(target) as place, place.open("wb") as stream:
                stream.writelines(kept(entry, lines(files)))
        return target

    # ---- vocabulary -------------------------------------------------------------------------------------------------

    def vocabulary_file(self, role: str, text: str) -> Path | None:
        """The file with the words that a run on a text knows; none if these are all words of the text itself."""
        if files := self.part(role, "vocabulary"):
            return files[0]
        entry = self.used(role)
        if not entry.max_words and text in ("", role):
            return None
        files = self.files(role)
        mark = hashlib.sha256(json.dumps([(path.name, path.stat().st_size) for path in files]).encode()).hexdigest()[:8]
        target = self.made / f"{entry.name}-{entry.max_words or 'all'}-{mark}.vocabulary.txt"
        if not target.is_file():
            from modlm.text.vocabulary import Vocabulary

            self.made.mkdir(parents=True, exist_ok=True)
            Vocabulary.from_text(list(files), max_words=entry.max_words or None).save(target)
        return target

    def vocabulary(self, role: str, text: str) -> Vocabulary | None:
        """The words of that file."""
        from modlm.text.vocabulary import Vocabulary

        path = self.vocabulary_file(role, text)
        return None if path is None else Vocabulary.from_file(path)


def lines(files: Iterable[Path]) -> Iterator[bytes]:
    """The lines of files, unpacked, with their ends."""
    for block in Files(files).blocks():
        for line in bytes(block.data[: block.size]).split(b"\n")[:-1]:
            yield line + b"\n"


def kept(entry: TextEntry, all_lines: Iterator[bytes]) -> Iterator[bytes]:
    """The lines that a text keeps."""
    if entry.first:
        return islice(all_lines, entry.first)
    if not (period := entry.every or entry.without_every):
        return all_lines
    sample = bool(entry.every)
    return (line for number, line in enumerate(all_lines) if (number // entry.stretch % period == 0) == sample)


def _found(name: str, path: Path, book: Book) -> Path:
    """A path that the user gave for a corpus, or for a part of one."""
    corpus, _, part = name.partition(".")
    if corpus not in book.corpora:
        known = ", ".join(book.corpora)
        raise ConfigError(f"--corpus: there is no {corpus!r}.{nearest(corpus, book.corpora)} Known: {known}.")
    if part and part not in PARTS:
        raise ConfigError(f"--corpus: {name!r} names no part of a corpus. Parts: {', '.join(PARTS)}.")
    if not path.exists():
        raise InputError(f"there is no such file or folder, but --corpus {name} names it.", path=path)
    return path


def _part_of(path: Path, part: str, *, named: bool) -> tuple[Path, ...]:
    """The files of a part in what the user gave: a file is a part itself, or a training text; a folder has them all."""
    if path.is_file():
        return (path,) if named or part == "train" else ()
    files = sorted(file for file in path.iterdir() if file.is_file())
    own = [file for file in files if file.match(PATTERNS[part])]
    if named:
        return tuple(files)
    parted = any(file.match(pattern) for file in files for pattern in PATTERNS.values())
    return tuple(files) if part == "train" and not parted else tuple(own)
