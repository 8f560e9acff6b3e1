"""A counted text and what else only the text, or all of its counts at once, can tell.

`Counts` alone are enough for a model. Held-out folds need the text again, and on a cluster continuation counts and
counts of counts are jobs of their own; whoever asks for them need not know where they are computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from modlm.arrays import Ints
from modlm.counts.counts import Counts
from modlm.counts.held_out_counts import held_out
from modlm.text.corpus import Corpus


class Tally(Protocol):
    """The counts of a text and their companions; every engine gives the same ones."""

    @property
    def counts(self) -> Counts:
        """How often each n-gram occurs."""
        ...

    def continuation(self) -> Counts:
        """The counts that Kneser-Ney smooths, as `Counts.continuation` explains them."""
        ...

    def held_out(self, folds: int) -> Iterator[Counts]:
        """For each fold of the text, cut as `Corpus.folds` cuts, the counts of everything else; one at a time."""
        ...

    def counts_of_counts(self, largest: int) -> tuple[list[Ints], list[Ints]]:
        """For each order how many n-grams occur r = 1..largest times; the same of the continuation counts."""
        ...


@dataclass(frozen=True, slots=True)
class LocalTally:
    """All of it from a corpus and its counts on this machine."""

    corpus: Corpus
    counts: Counts

    def continuation(self) -> Counts:
        return self.counts.continuation()

    def held_out(self, folds: int) -> Iterator[Counts]:
        for fold in self.corpus.folds(folds):
            yield held_out(self.counts, fold)

    def counts_of_counts(self, largest: int) -> tuple[list[Ints], list[Ints]]:
        both = (self.counts, self.counts.continuation())
        raw, continued = ([of.counts_of_counts(n, largest)[1:] for n in range(1, of.order + 1)] for of in both)
        return raw, continued
