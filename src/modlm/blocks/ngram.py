"""The n-gram block: one column for each order, each the smoothed distribution of its own context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import ClassVar, Self

import numpy as np

from modlm.blocks import block_kernels
from modlm.blocks.block import ALONE, NOTHING, Beside, Block, Reads, Rows, flattened
from modlm.counts import trie_kernels
from modlm.counts.counts import ONE_THREAD
from modlm.counts.counts_folder import counts_in
from modlm.ground.arrays import AnyFloats, Floats, Ids, even_ranges, in_parallel, threads
from modlm.smoothing.estimates import Estimates, given_discounts
from modlm.smoothing.smoother import smoother_in, smoother_settings
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import UNKNOWN, Vocabulary

SMALL_COUNTS = 1 << 10  # counts and sums whose logarithms are taken from a table
RANGES_PER_THREAD = 4


class NgramBlock(Block):
    """Columns `1-gram` … `N-gram` over smoothed counts.

    Features, for each order: seen, log total, log followers, and for discounting families log kept.
    """

    kind: ClassVar[str] = "ngram"

    def __init__(self, estimates: Estimates) -> None:
        self.estimates = estimates
        self.counts = estimates.counts
        self.vocabulary = self.counts.vocabulary
        orders = range(1, self.counts.order + 1)
        self.columns = tuple(f"{n}-gram" for n in orders)
        self.features = feature_names(self.counts.order, discounting=estimates.smoother.discounting)
        self.steady = len(self.features) // self.counts.order  # those of the unigram
        self.reads = Reads(self.counts.context_length)

    def rows(self, ids: Ids, beside: Beside = ALONE) -> Rows:
        """Rows of D and features along a text, from one walk."""
        probs_TK, features_TF = np.empty((len(ids), len(self.columns))), np.empty((len(ids), len(self.features)))
        self._fill(ids, probs_TK, features_TF, as_logs=False)
        return Rows(probs_TK, features_TF)

    def log_rows(self, ids: Ids, log_probs_TK: AnyFloats, features_TF: AnyFloats, beside: Beside = ALONE) -> None:
        """The same, by the same walk."""
        self._fill(ids, log_probs_TK, features_TF, as_logs=True)

    def _fill(self, ids: Ids, probs_TK: AnyFloats, features_TF: AnyFloats, *, as_logs: bool) -> None:
        contexts_TN, nodes_TN = self.counts.walk(ids)
        sums_C3, logs, width = self._sums_C3, self._logs, len(self.features) // len(self.columns)

        def part(low: int, high: int) -> None:
            block_kernels.rows_along(
                ids[low:high], len(self.vocabulary), contexts_TN[low:high], nodes_TN[low:high],
                self.counts.frequencies, sums_C3, *self._tables, logs, as_logs, width, probs_TK[low:high],
                features_TF[low:high],
            )  # fmt: skip

        in_parallel([partial(part, *r) for r in even_ranges(len(ids), threads() if len(ids) >= ONE_THREAD else 1)])

    def to_mix(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Callable[[Floats, AnyFloats], None]]:
        """Columns are added up without being made: a ninth of the time, for 49,152 words and five orders."""
        contexts_BN = self.contexts_after(windows_BC)
        return self.features_at(contexts_BN), partial(self.add_at, contexts_BN)

    def contexts_after(self, windows_BC: Ids) -> Ids:
        """(B, N): the context of each order that windows end in."""
        step = windows_BC.shape[1] + 2
        contexts_TN, _ = self.counts.walk(flattened(windows_BC, np.full(len(windows_BC), UNKNOWN, dtype=np.uint32)))
        return np.ascontiguousarray(contexts_TN[step - 1 :: step])

    def features_at(self, contexts_BN: Ids) -> Floats:
        """(B, F): the features of contexts."""
        features_BF = np.empty((len(contexts_BN), len(self.features)))
        block_kernels.features_after(
            contexts_BN, self._sums_C3, self._logs, len(self.features) // self.counts.order, features_BF
        )
        return features_BF

    def add_at(self, contexts_BN: Ids, weights_BN: Floats, out_BJ: AnyFloats) -> None:
        """Add the columns times weights, without making the columns; costs J and the followers of longer contexts."""
        uniform_B = np.zeros(len(contexts_BN))
        for n in range(2, self.counts.order + 1):
            layer = self.counts.layer(n)
            block_kernels.add_column_after(
                contexts_BN[:, n - 1], layer.trie.words, layer.trie.first, layer.frequencies,
                self.estimates.discounts[n - 1], self._sums_C3, np.ascontiguousarray(weights_BN[:, n - 1]), uniform_B,
                out_BJ,
            )  # fmt: skip
        block_kernels.add_everywhere(self._unigrams, weights_BN[:, 0].copy(), uniform_B / len(self.vocabulary), out_BJ)

    @cached_property
    def _unigrams(self) -> Floats:
        """The column of the empty context, which is the same after every window."""
        return np.ascontiguousarray(self.after(np.full((1, 1), NOTHING, np.uint32))[0][0, :, 0])

    def after(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Floats]:
        """Whole columns and features after each window."""
        contexts_BN = self.contexts_after(windows_BC)
        columns_BJK = np.empty((len(windows_BC), len(self.vocabulary), self.counts.order))
        for n in range(1, self.counts.order + 1):
            layer = self.counts.layer(n)
            block_kernels.column_after(
                contexts_BN[:, n - 1], layer.trie.words, layer.trie.first, layer.frequencies,
                self.estimates.discounts[n - 1], self._sums_C3, columns_BJK[:, :, n - 1],
            )  # fmt: skip
        return columns_BJK, self.features_at(contexts_BN)

    @cached_property
    def _sums_C3(self) -> Floats:
        """Total, followers and kept of every context of every order, side by side; 24 bytes each."""
        layers = [self.counts.layer(n) for n in range(1, self.counts.order + 1)]
        sums_C3 = np.zeros((layers[-1].high, 3))

        def part(n: int, low: int, high: int) -> None:
            total, followers, kept = sums_C3[low:high].T
            trie_kernels.context_sums(
                self.counts.trie.first, self.counts.frequencies, self.estimates.discounts[n], low, high,
                total, followers, kept,
            )  # fmt: skip

        in_parallel(
            [
                partial(part, n, layer.low + low, layer.low + high)
                for n, layer in enumerate(layers)
                for low, high in even_ranges(layer.high - layer.low, RANGES_PER_THREAD * threads())
            ]
        )
        return sums_C3

    @cached_property
    def _tables(self) -> tuple[Floats, Floats]:
        return discount_tables(self.estimates.discounts)

    @cached_property
    def _logs(self) -> Floats:
        return small_logs()

    def parts(self) -> Parts:
        """The counts' arrays and how they are smoothed."""
        discounts = [table[1:].tolist() for table in self.estimates.discounts]
        smoothing = {**smoother_settings(self.estimates.smoother), "discounts": discounts}
        return Parts(self.counts.settings() | smoothing, self.counts.arrays())

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> Self:
        """The block over the counts that a folder keeps."""
        smoother = smoother_in(stored)
        counts = counts_in(stored, vocabulary)
        return cls(Estimates(smoother, counts, stored_discounts(stored, counts.order)))


def stored_discounts(stored: Folder, orders: int) -> tuple[Floats, ...]:
    """For each order, what counts of 0, 1, 2, … lose."""
    tables = [replace(stored, about={"discounts": table}) for table in stored.list_of("discounts", list)]
    if len(tables) != orders:
        raise stored.damaged(f"discounts must hold {orders} lists of numbers")
    rows = [table.reals("discounts") for table in tables]
    return stored.checked(lambda: given_discounts(rows, orders))


def feature_names(order: int, *, discounting: bool) -> tuple[str, ...]:
    """The labels of all features, order by order."""
    names = ("seen", "log total", "log followers", "log kept")[: 4 if discounting else 3]
    return tuple(f"{n}-gram {name}" for n in range(1, order + 1) for name in names)


def discount_tables(discounts: Sequence[Floats], *, largest: int = 0) -> tuple[Floats, Floats]:
    """Discounts of all orders as one table, up to `largest` at least, and the logarithms of small counts less these."""
    length = max(largest + 1, *map(len, discounts))
    discounts_NR = np.array([np.pad(table, (0, length - len(table)), mode="edge") for table in discounts])
    counts_R = np.arange(max(SMALL_COUNTS, length))
    tops_NR = counts_R - discounts_NR[:, np.minimum(counts_R, length - 1)]
    tops_NR[:, 0] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return discounts_NR, np.log(tops_NR)


def small_logs() -> Floats:
    """The logarithms of 0, 1, 2, …"""
    with np.errstate(divide="ignore"):
        return np.log(np.arange(SMALL_COUNTS, dtype=np.float64))
