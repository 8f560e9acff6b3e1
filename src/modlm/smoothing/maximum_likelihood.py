"""Maximum likelihood: a context that was seen is trusted wholly, one that was not falls through wholly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from modlm.arrays import Floats, Ints


@dataclass(frozen=True)
class MaximumLikelihood:
    """P_ML with no smoothing; unseen words after a seen context get nothing. A column for learned or static weights."""

    name: ClassVar[str] = "maximum-likelihood"
    continuation: ClassVar[bool] = False
    discounting: ClassVar[bool] = False
    largest: ClassVar[int] = 1

    def discounts(self, counts_of_counts: Ints) -> tuple[Floats, str]:
        """Nothing is taken."""
        return np.zeros(2), ""

    def fallback(self, total: Floats, followers: Floats, kept: Floats) -> Floats:
        """alpha = 0: the longest context that was seen decides."""
        return np.zeros_like(total)
