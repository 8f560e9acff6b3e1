"""Additive smoothing: every context is taken to have been seen delta times more with each of the J words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from modlm.errors import ConfigError
from modlm.ground.arrays import Floats
from modlm.smoothing.smoother import ContextSums, Smoother


@dataclass(frozen=True)
class Additive(Smoother):
    """P_ML with alpha = delta J / (c + delta J).

    Unigrams are (r + delta) / (c + delta J), Laplace's with delta = 1. A longer context shares out what is added as the
    next shorter one predicts, or evenly, as textbooks do; then only the longest contexts count, and the words after
    shorter ones at the beginning of a sentence are uniform unless `<s>` is repeated.
    """

    name: ClassVar[str] = "additive"

    delta: float = 1.0
    evenly: bool = False

    def __post_init__(self) -> None:
        if not self.delta > 0:
            raise ConfigError(f"delta must be above 0, but is {self.delta}.")

    def fallback(self, contexts: ContextSums) -> Floats:
        """The share of what was added."""
        added = self.delta * contexts.vocab_size
        skipped = self.evenly & (np.asarray(contexts.order) < contexts.highest)
        return np.where(skipped, 1.0, added / (contexts.total + added))
