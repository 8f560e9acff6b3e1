"""A column that somebody else computes and brings along with every question, such as a recogniser's own distribution.

It cannot be asked for anything itself; `Mixture.mixed` takes what is given, and everything else of a mixture (mixers,
their fitting, saving and loading) treats it as a column like any other.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from modlm.blocks.block import ALONE, Beside, Block
from modlm.errors import ModlmError
from modlm.ground.arrays import Floats, Ids, Singles
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import Vocabulary


class GivenBlock(Block):
    """One column with two features: the highest log-probability of the given distribution and its entropy in nats."""

    kind: ClassVar[str] = "given"
    columns: tuple[str, ...] = ("",)
    features = ("highest", "entropy")

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    @staticmethod
    def features_of(log_probs_BJ: Singles, probs_BJ: Singles) -> Floats:
        """The features of given distributions, in any order of words."""
        entropy_B = -np.einsum("bj,bj->b", probs_BJ, log_probs_BJ)
        if np.isnan(entropy_B).any():  # where some words are impossible: 0 log 0 is 0
            entropy_B = -np.einsum("bj,bj->b", probs_BJ, np.maximum(log_probs_BJ, np.float32(-1e4)))
        return np.stack((log_probs_BJ.max(axis=1), entropy_B), axis=1).astype(np.float64)

    def after(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Floats]:
        """Nothing: it is given."""
        raise ModlmError(
            "A column of this mixture is given from outside (a recogniser's distribution, say), so the mixture cannot "
            "be asked without it. Use it in a decoder: modlm.integrations.mixture_fusion.MixtureFusion."
        )

    def parts(self) -> Parts:
        """Nothing but its kind."""
        return Parts()

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> Self:
        """The column of a vocabulary."""
        return cls(vocabulary)
