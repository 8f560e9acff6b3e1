"""Witten-Bell: the maximum-likelihood columns, falling through as often as the context showed something new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from modlm.ground.arrays import Floats
from modlm.smoothing.smoother import ContextSums, Smoother


@dataclass(frozen=True)
class WittenBell(Smoother):
    """P_ML with alpha = u / (c + u), the paper's heuristic for maximum-likelihood columns."""

    name: ClassVar[str] = "witten-bell"

    def fallback(self, contexts: ContextSums) -> Floats:
        """alpha = u / (c + u)."""
        return contexts.followers / (contexts.total + contexts.followers)
