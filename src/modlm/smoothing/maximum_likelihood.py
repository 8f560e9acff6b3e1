"""Maximum likelihood: a context that was seen is trusted wholly, one that was not falls through wholly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from modlm.ground.arrays import Floats
from modlm.smoothing.smoother import ContextSums, Smoother


@dataclass(frozen=True)
class MaximumLikelihood(Smoother):
    """P_ML with no smoothing; unseen words after a seen context get nothing. A column for learned or static weights."""

    name: ClassVar[str] = "maximum-likelihood"

    def fallback(self, contexts: ContextSums) -> Floats:
        """alpha = 0: the longest context that was seen decides."""
        return np.zeros_like(contexts.total)
