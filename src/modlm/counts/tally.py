"""A counted text and what else only the text, or all of its counts at once, can tell.

`Counts` alone are enough for a model. Held-out folds need the text again, wherever that is; whoever asks for them need
not know.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from modlm.counts.counts import Counts
from modlm.counts.held_out_counts import held_out
from modlm.ground.arrays import Ints
from modlm.text.corpus import Corpus


class Tally(ABC):
    """The counts of a text and their companions; every engine gives the same ones."""

    counts: Counts

    @abstractmethod
    def held_out(self, folds: int) -> Iterator[Counts]:
        """For each fold of the text, cut as `Corpus.folds` cuts, the counts of everything else; one at a time."""

    def continuation(self) -> Counts:
        """The counts that Kneser-Ney smooths, as `Counts.continuation` explains them."""
        return self.counts.continuation()

    def counts_of_counts(self, largest: int) -> tuple[list[Ints], list[Ints]]:
        """For each order how many n-grams occur r = 1..largest times; the same of the continuation counts."""
        both = (self.counts, self.continuation())
        raw, continued = ([of.counts_of_counts(n, largest)[1:] for n in range(1, of.order + 1)] for of in both)
        return raw, continued


class LocalTally(Tally):
    """All of it from a corpus and its counts on this machine."""

    def __init__(self, corpus: Corpus, counts: Counts) -> None:
        self.corpus, self.counts = corpus, counts

    def held_out(self, folds: int) -> Iterator[Counts]:
        for fold in self.corpus.folds(folds):
            yield held_out(self.counts, fold)
