"""Which stretches of a text stand in an index word for word, whatever the line breaks of either.

One pass over the ids of the index: rows of `least` words, sentence ends left out, are looked up among the text's.
Every one that is found is compared word for word, so nothing is invented, and goes on with the one before if that was
found just before it, so that a stretch is as long as what was copied.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from modlm.counts import overlap_kernels
from modlm.counts.suffixes import Hit, TextIndex
from modlm.errors import ConfigError
from modlm.ground.arrays import Ids, Ints
from modlm.ground.progress import progress
from modlm.text.corpus import Corpus
from modlm.text.sources import Text
from modlm.text.vocabulary import END, UNKNOWN

CONTEXT = 6  # words around a copy that are shown


@dataclass(frozen=True, slots=True)
class Stretch:
    """Words of a text that stand in an index."""

    source: str
    line: int
    """Where it begins in the text, from 1."""
    length: int
    """Words."""
    hit: Hit
    """A place where they stand in the index."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """What of a text stands in an index."""

    source: str
    words: int
    covered: int
    """Words of the text that are part of a stretch."""
    stretches: list[Stretch]
    """In the order of the text; none inside of another."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def overlaps(index: TextIndex, text: Text, *, least: int = 8) -> Overlap:
    """The stretches of at least so many words that a text shares with an index."""
    if least < 2:
        raise ConfigError(f"Stretches have at least 2 words, but least is {least}.")
    name = os.fspath(text) if isinstance(text, str | os.PathLike) else "the sentences"
    corpus = Corpus.from_text(Path(text) if isinstance(text, str) else text, index.vocabulary)
    ids, start = np.asarray(corpus.ids), index.vocabulary.start
    lines = np.cumsum(ids == start)
    words_T = (ids != start) & (ids != END)
    sought, line_T = ids[words_T], lines[words_T]
    length_T, shard_T, place_T, span_T = _copied(index, sought, least)
    begins = _outermost(length_T)
    covered = np.zeros(len(sought) + 1, np.int64)
    np.add.at(covered, begins, 1)
    np.add.at(covered, begins + length_T[begins], -1)
    stretches = [
        Stretch(
            name, int(line_T[t]), int(length_T[t]), index.hit(int(shard_T[t]), int(place_T[t]), int(span_T[t]), CONTEXT)
        )
        for t in begins.tolist()
    ]
    return Overlap(name, len(sought), int((np.cumsum(covered) > 0).sum()), stretches)


def _copied(index: TextIndex, sought: Ids, least: int) -> tuple[Ints, Ints, Ints, Ints]:
    """For each word of a text, how many from there on stand in the index, where, and in how many ids of it."""
    size = max(0, len(sought) - least + 1)
    out = tuple(np.zeros(len(sought), np.int64) for _ in range(4))
    if not size:
        return out  # type: ignore[return-value]
    heads = np.full(1 << int(2 * size).bit_length(), -1, np.int64)
    chain, run = np.empty(size, np.int64), np.zeros((size, 4), np.int64)
    overlap_kernels.note_rows(sought, least, UNKNOWN, heads, chain)
    with progress("comparing", total=int(index.bases[-1])) as bar:
        for shard, row in enumerate(index.table_SF):
            overlap_kernels.compare(index.ids, row, shard, sought, least, UNKNOWN, heads, chain, run, *out)
            bar.advance(int(row[2]))
    return out  # type: ignore[return-value]


def _outermost(length_T: Ints) -> Ints:
    """Where stretches begin that do not lie inside of one that began before."""
    ends_T = np.where(length_T > 0, np.arange(len(length_T)) + length_T, 0)
    before_T = np.concatenate(([0], np.maximum.accumulate(ends_T)[:-1])) if len(ends_T) else ends_T
    return np.flatnonzero((length_T > 0) & (ends_T > before_T))
