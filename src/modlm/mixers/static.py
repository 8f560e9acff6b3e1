"""Static weights: one lambda for every context, tuned by EM to the likelihood of a held-out text (Eq. 2).

A block with a column for each source word has one weight, spread evenly over them, as IBM Model 1 takes every source
word to be as likely as another. Where the source has no words it has none, and the others are scaled to sum to 1.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from modlm.blocks.block import ALONE, Beside, Blocks, ColumnLayout, Reads, Rows
from modlm.errors import ConfigError, EstimationError
from modlm.ground.arrays import Floats, Ids
from modlm.mixers.mixer import Mixer, State
from modlm.store.folder import Folder, Parts


class StaticMixer(Mixer):
    """The same weights in every context."""

    kind: ClassVar[str] = "static"

    def __init__(self, weights_K: Floats, layout: ColumnLayout | None = None) -> None:
        """One for each dense column, then for each block over a source, if the layout has any, then for each delta."""
        weights = np.asarray(weights_K, dtype=np.float64)
        if weights.ndim != 1 or not np.all(weights >= 0) or not np.isclose(weights.sum(), 1.0, atol=1e-6):
            raise ConfigError(f"Static weights must not be negative and must sum to 1, but are {weights.tolist()}.")
        exact = abs(weights.sum() - 1.0) < 1e-12  # then they stay as they are, so that saved weights come back the same
        self.weights_K: Floats = weights if exact else weights / weights.sum()
        self._over = tuple(layout.over_source) if layout is not None else ()
        if layout is not None and self._over:
            self.over_source, self.deltas, self.reads = len(self._over), layout.deltas, Reads(source=True)
        self.columns = len(weights) - self.over_source

    def log_weights(
        self, contexts_BW: Ids, features_BF: Floats, state_BS: State, beside: Beside = ALONE
    ) -> tuple[Floats, State]:
        """The weights, once for each context."""
        with np.errstate(divide="ignore"):
            if self.over_source:
                return np.log(self._spread(len(features_BF), beside)), state_BS
            log_weights_K = np.log(self.weights_K)
        return np.broadcast_to(log_weights_K, (len(features_BF), len(log_weights_K))), state_BS

    def _spread(self, count: int, beside: Beside) -> Floats:
        """The weights, those of blocks over sources spread over the words of each."""
        sizes_B1 = np.array([len(source) for source in beside.sources] or [0] * count)[:, None]
        dense, own, deltas = np.split(self.weights_K, [self.columns - self.deltas, len(self.weights_K) - self.deltas])
        even_BS = (np.arange(beside.longest) < sizes_B1) / np.maximum(sizes_B1, 1)
        rest_B1 = 1.0 / np.where(sizes_B1 > 0, 1.0, 1.0 - own.sum())
        return np.concatenate([rest_B1 * dense, *(even_BS * weight for weight in own), rest_B1 * deltas], axis=1)

    @classmethod
    def fitted(cls, layout: ColumnLayout, blocks: Blocks, rows: Rows) -> Self:
        """By EM; of blocks over sources the rows have the mean over the words of each source."""
        return cls(expectation_maximisation(rows.probs_TK)[0], layout)

    def described(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Its weights; of columns over a source together."""
        dense = self.columns - self.deltas
        names = (*names[:dense], *self._over, *names[dense:]) if self._over else names
        return super().described(names) | {"weights": dict(zip(names, self.weights_K.tolist(), strict=True))}

    def parts(self) -> Parts:
        """The weights."""
        return Parts({"weights": self.weights_K.tolist()})

    @classmethod
    def from_parts(cls, stored: Folder, layout: ColumnLayout) -> Self:
        """The weights that a folder keeps."""
        weights = stored.reals("weights")
        if len(weights) != len(layout) + len(layout.over_source):
            raise stored.damaged(f"it has {len(weights)} weights for {len(layout)} columns")
        return stored.checked(lambda: cls(np.array(weights), layout))


def expectation_maximisation(
    probs_TK: Floats, *, steps: int = 200, tolerance: float = 1e-9
) -> tuple[Floats, list[float]]:
    """Weights that maximise the likelihood of the rows, from equal ones, and the mean log-likelihood before each step.

    Each step gives a column the share of the words that it explains. Ends when a step gains less than `tolerance` nats
    a word. Words to which every column gives 0 cannot be explained by any weights; they do not count.
    """
    explained = probs_TK[(probs_TK > 0).any(axis=1)]
    if len(explained) == 0:
        raise EstimationError(
            "No word of the tuning text has a probability above 0 in any column; is it the right text?"
        )
    weights = np.full(probs_TK.shape[1], 1.0 / probs_TK.shape[1])
    history: list[float] = []
    for _ in range(steps):
        mixed = explained @ weights
        history.append(float(np.log(mixed).mean()))
        if len(history) > 1 and history[-1] - history[-2] < tolerance:
            break
        weights = weights * (explained / mixed[:, None]).mean(axis=0)
        weights /= weights.sum()
    return weights, history
