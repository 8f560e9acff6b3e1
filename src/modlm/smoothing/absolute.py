"""Absolute discounting: every count loses the same d; what was taken falls through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from modlm.ground.arrays import Floats, Ints
from modlm.smoothing.discounts import one_discount
from modlm.smoothing.smoother import ContextSums, Smoother


@dataclass(frozen=True)
class Absolute(Smoother):
    """P_ND of frequencies with one discount for each order (Ney et al. 1994)."""

    name: ClassVar[str] = "absolute"
    discounting: ClassVar[bool] = True
    largest: ClassVar[int] = 2

    def discounts(self, counts_of_counts: Ints) -> tuple[Floats, str]:
        """d = n1 / (n1 + 2 n2)."""
        return one_discount(counts_of_counts)

    def fallback(self, contexts: ContextSums) -> Floats:
        """beta = 1 - kept / total: the mass that discounting took (Eq. 4)."""
        return 1.0 - contexts.kept / contexts.total
