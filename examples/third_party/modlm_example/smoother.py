"""A smoothing family: every context falls through as if it had been seen a few times more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from modlm.smoothing import ContextSums, Smoother


@dataclass(frozen=True)
class Pseudocounts(Smoother):
    """alpha = weight / (c + weight)."""

    name: ClassVar[str] = "pseudocounts"

    weight: float = 2.0

    def fallback(self, contexts: ContextSums) -> np.ndarray:
        """The share of the weight."""
        return self.weight / (contexts.total + self.weight)
