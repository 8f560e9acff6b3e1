"""Heuristic weights: the product rule over the fallbacks, from the same features a net would read.

    lambda_n(c) = (1 - alpha_n(c)) * prod_{m > n} alpha_m(c)

What is left below the unigrams is shared equally by the columns that are not n-grams (uniform, unknown).
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from modlm.blocks.block import ALONE, Beside, Blocks, ColumnLayout, Rows
from modlm.blocks.ngram import NgramBlock
from modlm.errors import ConfigError
from modlm.ground.arrays import Floats, Ids
from modlm.mixers.mixer import Mixer, State
from modlm.smoothing.smoother import ContextSums, Smoother, fallback_of, smoother_in, smoother_settings
from modlm.store.folder import Folder, Parts


class HeuristicMixer(Mixer):
    """Weights of one n-gram block and its constant columns by the block's own smoothing family."""

    kind: ClassVar[str] = "heuristic"

    def __init__(self, layout: ColumnLayout, smoother: Smoother, *, block: str = "ngram") -> None:
        if block not in layout.spans:
            raise ConfigError(
                f"The heuristic mixer needs an n-gram block named {block!r}; there are {', '.join(layout.spans)}."
            )
        self.smoother, self.vocab_size = smoother, layout.vocab_size
        self.span = layout.spans[block]
        self.orders = self.span.columns.stop - self.span.columns.start
        self.width = (self.span.features.stop - self.span.features.start) // self.orders
        if self.width < 3:
            raise ConfigError(f"{block!r} has not the features of an n-gram block, which the heuristic mixer reads.")
        self.columns = len(layout)
        self.rest = [k for k in range(self.columns) if not self.span.columns.start <= k < self.span.columns.stop]
        if not self.rest:
            raise ConfigError(
                "The heuristic mixer needs a uniform column for what falls through the unigrams; add one."
            )

    @classmethod
    def fitted(cls, layout: ColumnLayout, blocks: Blocks, rows: Rows) -> Self:
        """The rule of the one n-gram block that there is; the rows do not matter."""
        orders = {name: block for name, block in blocks.items() if isinstance(block, NgramBlock)}
        if len(orders) != 1:
            raise ConfigError(f"The heuristic mixer is for one block of n-gram columns, but there are {len(orders)}.")
        ((name, block),) = orders.items()
        return cls(layout, block.estimates.smoother, block=name)

    def log_weights(
        self, contexts_BW: Ids, features_BF: Floats, state_BS: State, beside: Beside = ALONE
    ) -> tuple[Floats, State]:
        """The product rule, in each context."""
        with np.errstate(divide="ignore"):
            return np.log(self.weights(features_BF)), state_BS

    def weights(self, features_BF: Floats) -> Floats:
        """lambda for each context."""
        fallback_BN = self.fallback(features_BF)
        weights_BK = np.zeros((len(features_BF), self.columns))
        left_B = np.ones(len(features_BF))
        for n in range(fallback_BN.shape[1] - 1, -1, -1):
            weights_BK[:, self.span.columns.start + n] = left_B * (1.0 - fallback_BN[:, n])
            left_B = left_B * fallback_BN[:, n]
        weights_BK[:, self.rest] = left_B[:, None] / len(self.rest)
        return weights_BK

    def fallback(self, features_BF: Floats) -> Floats:
        """alpha of each order, 1 where its context was not seen."""
        own_BNF = features_BF[:, self.span.features].reshape(len(features_BF), self.orders, self.width)
        total_BN, followers_BN = np.rint(np.exp(own_BNF[:, :, 1])), np.rint(np.exp(own_BNF[:, :, 2]))
        kept_BN = np.where(own_BNF[:, :, 0] > 0, np.exp(own_BNF[:, :, 3]) if self.width > 3 else total_BN, 0.0)
        orders = np.arange(1, self.orders + 1)
        contexts = ContextSums(total_BN, followers_BN, kept_BN, orders, self.orders, self.vocab_size)
        return fallback_of(self.smoother, contexts)

    def parts(self) -> Parts:
        """The family whose fallback it uses."""
        return Parts({**smoother_settings(self.smoother), "block": self.span.name})

    @classmethod
    def from_parts(cls, stored: Folder, layout: ColumnLayout) -> Self:
        """The rule of the family that a folder names."""
        smoother, block = smoother_in(stored), str(stored.about.get("block"))
        return stored.checked(lambda: cls(layout, smoother, block=block))
