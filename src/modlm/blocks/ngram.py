"""The n-gram block: one column for each order, each the smoothed distribution of its own context."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from modlm.arrays import Floats, Ids
from modlm.blocks.block import Parts, Rows, flattened
from modlm.smoothing.smoother import Estimates
from modlm.text.vocabulary import UNKNOWN


class NgramBlock:
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
        names = ("seen", "log total", "log followers", "log kept")[: 4 if estimates.smoother.discounting else 3]
        self.features = tuple(f"{n}-gram {name}" for n in orders for name in names)
        self.context_length = self.counts.context_length

    def rows(self, ids: Ids) -> Rows:
        """Rows of D and features along a text, from one walk."""
        from modlm.blocks.block_kernels import column_along

        contexts_TN, nodes_TN = self.counts.walk(ids)
        order, vocab_size = self.counts.order, len(self.vocabulary)
        probs_TK = np.empty((len(ids), order))
        for n in range(1, order + 1):
            layer, sums = self.counts.layer(n), self.estimates.sums(n)
            column_along(
                contexts_TN[:, n - 1], nodes_TN[:, n - 1], layer.low, layer.frequencies,
                self.estimates.discounts[n - 1], sums.kept, vocab_size, probs_TK[:, n - 1],
            )  # fmt: skip
        features_TF = self._features(contexts_TN)
        outside = ids >= vocab_size
        probs_TK[outside], features_TF[outside] = 1.0, 0.0
        return Rows(probs_TK, features_TF)

    def after(self, windows_BC: Ids) -> tuple[Floats, Floats]:
        """Whole columns and features after each window."""
        from modlm.blocks.block_kernels import column_after

        step = windows_BC.shape[1] + 2
        contexts_TN, _ = self.counts.walk(flattened(windows_BC, np.full(len(windows_BC), UNKNOWN, dtype=np.uint32)))
        contexts_BN = np.ascontiguousarray(contexts_TN[step - 1 :: step])
        columns_BJK = np.empty((len(windows_BC), len(self.vocabulary), self.counts.order))
        for n in range(1, self.counts.order + 1):
            layer, sums = self.counts.layer(n), self.estimates.sums(n)
            column_after(
                contexts_BN[:, n - 1], layer.low, layer.trie.words, layer.trie.first, layer.frequencies,
                self.estimates.discounts[n - 1], sums.kept, columns_BJK[:, :, n - 1],
            )  # fmt: skip
        return columns_BJK, self._features(contexts_BN)

    def _features(self, contexts_TN: Ids) -> Floats:
        from modlm.blocks.block_kernels import features_along

        width = len(self.features) // self.counts.order
        features_TF = np.empty((len(contexts_TN), len(self.features)))
        for n in range(1, self.counts.order + 1):
            sums = self.estimates.sums(n)
            features_along(
                contexts_TN[:, n - 1], self.counts.layer(n).low, sums.total, sums.followers, sums.kept, width == 4,
                features_TF[:, (n - 1) * width : n * width],
            )  # fmt: skip
        return features_TF

    def parts(self) -> Parts:
        """The counts' arrays and how they are smoothed."""
        smoothing = {
            "smoothing": self.estimates.smoother.name,
            "discounts": [table[1:].tolist() for table in self.estimates.discounts],
        }
        return Parts(self.counts.settings() | smoothing, self.counts.arrays(), {})
