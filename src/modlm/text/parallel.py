"""Parallel text: sentences and what each is a translation of, line by line; two corpora with a vocabulary each.

A pair with nothing on one side stays: a sentence without a source is a sentence like any other, and what learns from
pairs leaves it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from modlm.errors import InputError
from modlm.ground.arrays import Bools, Ids, Ints
from modlm.text.corpus import Corpus
from modlm.text.folds import Cut
from modlm.text.options import TextOptions
from modlm.text.sources import Text, source_of

READ_ALL = TextOptions()


@dataclass(frozen=True, eq=False)
class Parallel:
    """Sentence n of the target is a translation of sentence n of the source."""

    source: Corpus
    target: Corpus
    names: tuple[str, str] = ("the source", "the target")  # what they were read from, for messages

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise InputError(
                f"{self.names[0]} has {len(self.source):,} lines and {self.names[1]} has {len(self.target):,}, but "
                f"line by line one must be the translation of the other. Give files with as many lines; what has no "
                f"translation is an empty line."
            )

    @classmethod
    def read(
        cls, source: Text, target: Text, options: TextOptions = READ_ALL, target_options: TextOptions | None = None
    ) -> Parallel:
        """Two texts with as many lines; the options are for both unless the target has its own."""
        first, second = ("the sentences" if isinstance(own, list) else str(source_of(own)) for own in (source, target))
        own = target_options or options
        return cls(Corpus.read(source, options), Corpus.read(target, own), (first, second))

    def __len__(self) -> int:
        return len(self.target)

    @cached_property
    def sources(self) -> Sequence[Ids]:
        """The words of each source sentence, without boundaries."""
        return words_of(self.source)

    @cached_property
    def whole_N(self) -> Bools:
        """True for pairs with words on both sides."""
        return (np.diff(self.source.starts) > 2) & (np.diff(self.target.starts) > 2)

    def without(self, fold: Sequence[Cut] = ()) -> Ints:
        """The numbers of the pairs with words on both sides that are not in a fold."""
        kept_N = self.whole_N.copy()
        for first, after in fold:
            kept_N[first:after] = False
        return np.flatnonzero(kept_N)

    def swapped(self) -> Parallel:
        return Parallel(self.target, self.source)


def words_of(corpus: Corpus) -> list[Ids]:
    """The words of each sentence, without boundaries."""
    ids, starts = np.asarray(corpus.ids), corpus.starts.tolist()
    return [ids[first + 1 : after - 1] for first, after in pairwise(starts)]
