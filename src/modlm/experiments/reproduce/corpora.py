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

from modlm.errors import ConfigError, InputError, nearest
from modlm.experiments.reproduce.recipe import CorpusEntry, TextEntry
from modlm.experiments.reproduce.recipe_folder import Recipes
from modlm.ground.files import new_file
from modlm.text.sources import Files
from modlm.text.vocabulary import Vocabulary

PATTERNS = {"train": "*train*", "valid": "*valid*", "test": "*test*", "vocabulary": "*vocab*"}


class Corpora:
    """The texts of recipes; files that are made from them go to a folder."""

    def __init__(self, recipes: Recipes, made: Path, *, given: Mapping[str, Path]) -> None:
        self.recipes, self.made = recipes, made
        self.data = os.environ.get("MODLM_DATA", "")
        self.given = {name: _found(name, path, recipes.corpora) for name, path in given.items()}

    def used(self, role: str) -> CorpusEntry:
        """The corpus that is taken for one of the paper's: itself, or what stands for it."""
        entry = self.recipes.corpora[role]
        given = any(name.partition(".")[0] == role for name in self.given)
        return entry if given or not entry.stand_in else self.recipes.corpora[entry.stand_in]

    def taken(self, name: str) -> dict[str, CorpusEntry]:
        """The corpora that a text or a run draws on: the paper's name, and what is taken for it."""
        return {role: self.used(role) for role in self.recipes.roles(name)}

    def names(self, name: str) -> tuple[str, ...]:
        """The corpora, as they are here, that a run draws on."""
        return tuple(dict.fromkeys(entry.name for entry in self.taken(name).values()))

    def part(self, role: str, part: str) -> tuple[Path, ...]:
        """The files of a part of a corpus; none if it has no such part."""
        entry = self.used(role)
        for name in (f"{entry.name}.{part}", entry.name):
            if name in self.given:
                return _part_of(self.given[name], part, named=name.endswith(f".{part}"))
        named = getattr(entry, part)
        named = (named,) if isinstance(named, str) else named
        if len(named) == 1 and named[0] in self.recipes.texts:
            return self.files(named[0])
        paths = tuple(Path(self.data) / name for name in named if name)
        for path in paths:
            if not self.data or not path.exists():
                lost = f"{path} is not there" if self.data else "MODLM_DATA does not name a folder with the corpora"
                raise InputError(f"{lost}. Set MODLM_DATA, or give it with --corpus {entry.name}=PATH", path=entry.name)
        return paths

    def one(self, role: str, part: str) -> Path:
        files = self.part(role, part)
        if len(files) != 1:
            raise InputError(
                f"the corpus has {len(files)} files for its part {part!r}, but needs one. Name it with "
                f"--corpus {self.used(role).name}.{part}=FILE",
                path=self.used(role).name,
            )
        return files[0]

    def files(self, text: str) -> tuple[Path, ...]:
        """The files of a text or of a corpus's training text; a text that is cut is written first."""
        if text in self.recipes.corpora:
            if not (files := self.part(text, "train")):
                raise InputError(f"there is no training text. Give it with --corpus {text}=PATH", path=text)
            return files
        entry = self.recipes.texts[text]
        parts = tuple(path for name in entry.of for path in self.files(name))
        return parts if entry.whole else (self._written(entry, parts),)

    def sources(self, text: str) -> tuple[Path, ...]:
        """The same with a file for each text that it joins, since a net trained on several knows them apart."""
        entry = self.recipes.texts.get(text)
        if entry is not None and entry.whole:
            return tuple(path for name in entry.of for path in self.sources(name))
        files = self.files(text)
        return files if len(files) == 1 else (self._written(TextEntry(name=text, of=(text,)), files),)

    def _written(self, entry: TextEntry, files: tuple[Path, ...]) -> Path:
        """The lines that an entry keeps of some files, in a file named after both."""
        target = self.made / f"{entry.name}-{_mark([entry.stated(), _sizes(files)])}.txt"
        if not target.is_file():
            self.made.mkdir(parents=True, exist_ok=True)
            with new_file(target) as place, place.open("wb") as stream:
                stream.writelines(kept(entry, lines(files)))
        return target

    def vocabulary_file(self, role: str, text: str) -> Path | None:
        """The file with the words that a run on a text knows; none if these are all words of the text itself."""
        if files := self.part(role, "vocabulary"):
            return files[0]
        entry = self.used(role)
        if not entry.max_words and text in ("", role):
            return None
        files = self.files(role)
        target = self.made / f"{entry.name}-{entry.max_words or 'all'}-{_mark(_sizes(files))}.vocabulary.txt"
        if not target.is_file():
            self.made.mkdir(parents=True, exist_ok=True)
            Vocabulary.from_text(list(files), max_words=entry.max_words or None).save(target)
        return target


def _sizes(files: Iterable[Path]) -> list[tuple[str, int]]:
    return [(path.name, path.stat().st_size) for path in files]


def _mark(about: object) -> str:
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:8]


def lines(files: Iterable[Path]) -> Iterator[bytes]:
    """The lines of files, unpacked, with their ends."""
    for block in Files(files).blocks():
        for line in bytes(block.data[: block.size]).split(b"\n")[:-1]:
            yield line + b"\n"


def kept(entry: TextEntry, all_lines: Iterator[bytes]) -> Iterator[bytes]:
    if entry.first:
        return islice(all_lines, entry.first)
    if not (period := entry.every or entry.without_every):
        return all_lines
    sample = bool(entry.every)
    place = entry.after % period
    return (line for number, line in enumerate(all_lines) if (number // entry.stretch % period == place) == sample)


def _found(name: str, path: Path, known: Iterable[str]) -> Path:
    """A path that the user gave for a corpus, or for a part of one."""
    corpus, _, part = name.partition(".")
    if corpus not in (known := list(known)):
        raise ConfigError(f"--corpus: there is no {corpus!r}.{nearest(corpus, known)} Known: {', '.join(known)}.")
    if part and part not in PATTERNS:
        raise ConfigError(f"--corpus: {name!r} names no part of a corpus. Parts: {', '.join(PATTERNS)}.")
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
