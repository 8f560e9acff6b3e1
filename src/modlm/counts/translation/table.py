"""`TranslationTable`: for each source word a distribution over target words, in sorted arrays.

Of the words of one vocabulary for those of another. A row may be empty: that of a word which was never seen. On disk a
folder with `translation.json`, the arrays, and both vocabularies.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from modlm.errors import InputError, VocabularyError
from modlm.formats.lines import quoted, text_lines
from modlm.formats.output import text_output
from modlm.ground.arrays import Floats, Ids, Ints
from modlm.store.folder import Folder, Parts, open_folder, write_folder
from modlm.store.manifest import Verify
from modlm.store.npy import AnyArray
from modlm.text.vocabulary import UNKNOWN, Vocabulary
from modlm.text.vocabulary_files import vocabulary_in

KIND = "translation"
SOURCE = "source/"
ROUNDED = (
    1e-3  # how far from 1 a row of a file may sum without a word about it: probabilities are written with few digits
)

log = logging.getLogger("modlm")


@dataclass(frozen=True, slots=True, eq=False)
class TranslationTable:
    """P(target word | source word)."""

    source: Vocabulary
    target: Vocabulary
    first: Ints
    """For each source word where its row begins, and behind them the length of the others."""
    words: Ids
    """Target words, rising in each row."""
    probs: Floats
    """Their probabilities; each row that is not empty sums to 1."""
    frequency: Ints
    """How often each source word was seen, if that is known; else 0."""

    def row(self, word: str) -> dict[str, float]:
        """The translations of a word, the likeliest first; none for one that was never seen."""
        own = slice(*self.first[(at := self.source.id(word)) : at + 2].tolist())
        order = np.argsort(-self.probs[own], kind="stable")
        names = self.target.decode(self.words[own][order])
        return dict(zip(names, self.probs[own][order].tolist(), strict=True))

    @property
    def seen_V(self) -> Ints:
        """How many translations each source word has."""
        return np.diff(self.first)

    @property
    def entropy_V(self) -> Floats:
        """In nats, of each row; that of a word never seen is log J, as its column is."""
        surprise = np.append(-self.probs * np.log(np.where(self.probs > 0, self.probs, 1.0)), 0.0)
        sums = np.add.reduceat(surprise, self.first[:-1])  # which takes a neighbour for an empty row
        return np.where(self.seen_V > 0, np.maximum(sums, 0.0), np.log(len(self.target)))

    # ---- making --------------------------------------------------------------------------------------------------

    @classmethod
    def of(
        cls, source: Vocabulary, target: Vocabulary, cells: tuple[Ints, Ints, Floats], frequency: Ints | None = None
    ) -> Self:
        """From (source word, target word, weight) in any order; equal ones are added, rows divided by their sum."""
        some = cells[2] > 0
        keys, at = np.unique((cells[0] * np.int64(len(target)) + cells[1])[some], return_inverse=True)
        sums: Floats = np.bincount(at, cells[2][some], minlength=len(keys)).astype(np.float64)
        rows = keys // len(target)
        probs = sums / np.bincount(rows, sums, minlength=len(source))[rows]
        first = np.searchsorted(rows, np.arange(len(source) + 1))
        seen = np.zeros(len(source), np.int64) if frequency is None else frequency
        return cls(source, target, first.astype(np.int64), (keys % len(target)).astype(np.uint32), probs, seen)

    def pruned(self, least: float) -> TranslationTable:
        """Without translations less likely than this, but for the best of each word; what is left sums to 1 again."""
        rows = np.repeat(np.arange(len(self.source)), self.seen_V)
        best = np.zeros(len(self.source))
        np.maximum.at(best, rows, self.probs)
        kept = (self.probs >= least) | (self.probs == best[rows])
        cells = rows[kept], self.words[kept].astype(np.int64), self.probs[kept]
        return TranslationTable.of(self.source, self.target, cells, self.frequency)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], source: Vocabulary, target: Vocabulary) -> Self:
        """From lines `source<TAB>target<TAB>probability`.

        A target word that the vocabulary does not have is `<unk>`; a source word that it does not have is left out.
        Rows are divided by their sum: where that was not 1, a warning says so.
        """
        cells, outside = list[tuple[int, int, float]](), 0
        for number, line in text_lines(path := Path(path)):
            if (cell := _cell(line, path, number)) is None:
                continue
            if cell[0] in source:
                cells.append((source.id(cell[0]), target.id(cell[1]), cell[2]))
            else:
                outside += 1
        if not cells:
            raise VocabularyError(
                f"{path}: no line has a source word of the vocabulary ({len(source):,} words; {outside:,} lines have "
                f"others). Check that the source stands first, and that both are split into words alike."
            )
        rows, words, probs = (np.array(column) for column in zip(*cells, strict=True))
        sums = np.bincount(rows, probs, minlength=len(source))
        if len(odd := np.flatnonzero((sums > 0) & (np.abs(sums - 1) > ROUNDED))):
            log.warning(
                "%s: in %s rows the probabilities do not sum to 1 (those of %s sum to %.4g); they are divided by their "
                "sum", path, f"{len(odd):,}", quoted(source.word(int(odd[0]))), sums[odd[0]],
            )  # fmt: skip
        return cls.of(source, target, (rows, words, probs.astype(np.float64)))

    # ---- on disk -------------------------------------------------------------------------------------------------

    def parts(self) -> Parts:
        """The arrays, and the source's vocabulary in a folder of its own; that of the target is its owner's."""
        arrays: dict[str, AnyArray] = {
            "first": self.first,
            "words": self.words,
            "probs": self.probs,
            "frequency": self.frequency,
        }
        return Parts(
            {"source": self.source.fingerprints()}, arrays, Parts({}, {}, self.source.files()).within(SOURCE).texts
        )

    @classmethod
    def from_parts(cls, stored: Folder, target: Vocabulary) -> Self:
        """What `parts` gave."""
        source = vocabulary_in(stored.part("source", inside=SOURCE), what="table was")
        first = np.asarray(stored.array("first", np.int64, length=len(source) + 1))
        words = np.asarray(stored.array("words", np.uint32, length=int(first[-1])))
        probs = np.asarray(stored.array("probs", np.float64, length=len(words)))
        frequency = np.asarray(stored.array("frequency", np.int64, length=len(source)))
        if first[0] != 0 or (np.diff(first) < 0).any() or (words >= len(target)).any() or not (probs >= 0).all():
            raise stored.damaged("its rows do not stand side by side, or have words that the vocabulary does not")
        return cls(source, target, first, words, probs, frequency)

    def save(self, target: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a folder that `open_table` opens."""
        own = self.parts()
        about = own.settings | self.target.fingerprints()
        texts = {**own.texts, **self.target.files()}
        write_folder(target, kind=KIND, about=about, arrays=own.arrays, texts=texts, overwrite=overwrite)

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write lines `source<TAB>target<TAB>probability`, which `from_file` reads."""
        rows = np.repeat(np.arange(len(self.source)), self.seen_V)
        cells = zip(self.source.decode(rows.tolist()), self.target.decode(self.words), self.probs.tolist(), strict=True)
        with text_output(Path(path), overwrite=overwrite) as out:
            out.writelines(f"{f}\t{e}\t{p:.6g}\n".encode() for f, e, p in cells)


def read_table(path: str | os.PathLike[str], source: Vocabulary, target: Vocabulary) -> TranslationTable:
    """A table from its folder or from a file, for these vocabularies; what they do not have is as in a file."""
    if not Path(path).is_dir():
        return TranslationTable.from_file(path, source, target)
    table = open_table(path)
    if table.source == source and table.target == target:
        return table
    rows = np.repeat(table.source.mapping(source)[:-1].astype(np.int64), table.seen_V)
    kept = (rows != UNKNOWN) | (np.repeat(np.arange(len(table.source)), table.seen_V) == UNKNOWN)
    words = table.target.mapping(target)[table.words].astype(np.int64)
    frequency = np.bincount(table.source.mapping(source)[:-1], table.frequency, len(source)).astype(np.int64)
    frequency[UNKNOWN] = table.frequency[UNKNOWN]
    return TranslationTable.of(source, target, (rows[kept], words[kept], table.probs[kept]), frequency)


def open_table(path: str | os.PathLike[str], *, verify: Verify = "fast") -> TranslationTable:
    """A table from its folder."""
    folder = open_folder(path, kind=KIND, verify=verify)
    return TranslationTable.from_parts(folder, vocabulary_in(folder, what="table was"))


def _cell(line: str, path: Path, number: int) -> tuple[str, str, float] | None:
    """A line of a file; None for one whose probability is 0."""
    parts = line.split("\t")
    try:
        source, target, prob = parts[0].strip(), parts[1].strip(), float(parts[2])
    except (IndexError, ValueError):
        source = target = ""
        prob = 0.0
    if len(parts) != 3 or not source or not target or not 0 <= prob < np.inf:
        raise InputError(
            f"this is not source<TAB>target<TAB>probability with a number from 0 up: {quoted(line)}.",
            path=path,
            line=number,
        )
    return (source, target, prob) if prob else None
