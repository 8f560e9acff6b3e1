"""Held-out columns: the log rows of a fold from the counts of everything else, without smoothing all of that anew.

Only what the fold has can differ between all counts and those without it. So one pass over the fold takes its n-grams
out and keeps everything derived from them right on the way: continuation counts, counts of counts (from which the
discounts come) and the tallies of every context (from which its sums come). The fold's rows are made, and a second pass
puts it back. Each position costs the same however many folds there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np

from modlm.blocks import held_out_kernels
from modlm.blocks.block import Fold
from modlm.blocks.ngram import RANGES_PER_THREAD, discount_tables, small_logs
from modlm.counts.counts import Counts, Frequencies
from modlm.errors import InputError
from modlm.ground.arrays import AnyFloats, Ids, Ints, even_ranges, in_parallel, threads
from modlm.smoothing.estimates import Estimates
from modlm.smoothing.smoother import Smoother


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutColumns:
    """The columns of an n-gram block for folds of the text that was counted. One thread at a time: take copies."""

    smoother: Smoother
    counts: Counts
    """The frequencies of the whole text."""
    frequencies: Frequencies
    """Those of the text without a fold, while its rows are made."""
    used: Frequencies
    """What the smoother reads; the frequencies themselves unless these are continuation counts."""
    tallies_CR: np.ndarray
    """For each context: the sum of its followers' counts, and how many of them have a count of 1, 2, … R or more."""
    numbers_NL: Ints
    """For each order: how many n-grams have a count of 0, 1, 2, … L or more."""

    @classmethod
    def of(cls, counts: Counts, estimates: Estimates) -> Self:
        """From the counts of a whole text and what a smoother made of them."""
        smoother, used = estimates.smoother, estimates.counts
        largest = smoother.largest
        numbers_NL = np.zeros((counts.order, largest + 2), dtype=np.int64)
        for n in range(1, counts.order + 1):
            numbers_NL[n - 1, : largest + 1] = used.counts_of_counts(n, largest)
        return cls(smoother, counts, counts.frequencies, used.frequencies, _tallies(used, largest), numbers_NL)

    def copy(self) -> Self:
        """The same, to be changed by another thread; the trie is shared."""
        own = self.frequencies.copy()
        return replace(
            self,
            frequencies=own,
            used=self.used.copy() if self.smoother.continuation else own,
            tallies_CR=self.tallies_CR.copy(),
            numbers_NL=self.numbers_NL.copy(),
        )

    def fill(self, fold: Fold, log_probs_TK: AnyFloats, features_TF: AnyFloats) -> None:
        """The log rows and features of a fold from the counts without it."""
        walked = (fold.ids, *self.counts.walk(fold.ids))
        self._move(-1, *(along_T[fold.counted] for along_T in walked))
        largest = self.smoother.largest
        discounts = [self.smoother.discounts(numbers[: largest + 1])[0] for numbers in self.numbers_NL]
        ids, contexts_TN, nodes_TN = (along_T[fold.wanted] for along_T in walked)
        held_out_kernels.held_out_rows_along(
            ids, len(self.counts.vocabulary), contexts_TN, nodes_TN, self.used, self.tallies_CR,
            *discount_tables(discounts, largest=largest), small_logs(), features_TF.shape[1] // self.counts.order,
            log_probs_TK, features_TF,
        )  # fmt: skip
        self._move(1, *(along_T[fold.counted] for along_T in walked))

    def _move(self, step: int, ids: Ids, contexts_TN: Ids, nodes_TN: Ids) -> None:
        there = held_out_kernels.move(
            ids, len(self.counts.vocabulary), self.counts.edge == "once", step, contexts_TN, nodes_TN,
            self.frequencies, self.used, self.smoother.continuation, self.tallies_CR, self.numbers_NL,
        )  # fmt: skip
        if not there:
            raise InputError(
                "The fold is not part of the counted text. Hold out sentences of the very text that was counted, with "
                "the same vocabulary."
            )


def _tallies(counts: Counts, largest: int) -> np.ndarray:
    contexts = counts.layer(counts.order).high
    tallies_CR = np.zeros((contexts, largest + 1), dtype=counts.frequencies.dtype)
    in_parallel(
        [
            partial(held_out_kernels.tally_contexts, counts.trie.first, counts.frequencies, low, high, tallies_CR)
            for low, high in even_ranges(contexts, RANGES_PER_THREAD * threads())
        ]
    )
    return tallies_CR
