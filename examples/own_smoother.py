"""A smoothing family of one's own, with a parameter that it learns from words that were not counted.

    python examples/own_smoother.py TRAIN VALID TEST

prints the perplexity with the weight given, and with the weight learned from the validation text.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

import modlm
import modlm.testing
from modlm.smoothing import ContextSums, HeldOutWords, Smoother


@dataclass(frozen=True)
class Pseudocounts(Smoother):
    """Every context falls through as if it had been seen `weight` times more: alpha = weight / (c + weight)."""

    name: ClassVar[str] = "pseudocounts"
    learns: ClassVar[bool] = True

    weight: float = 0.0
    """0: to be learned."""

    def fallback(self, contexts: ContextSums) -> np.ndarray:
        """The share of the weight."""
        return self.weight / (contexts.total + self.weight)

    def learned(self, words: HeldOutWords) -> Self:
        """The weight under which words that were not counted are likeliest, among a few."""
        if self.weight:
            return self
        return max((replace(self, weight=2.0**power) for power in range(-4, 8)), key=lambda one: one.likelihood(words))

    def likelihood(self, words: HeldOutWords) -> float:
        """log P of held-out words, by the fallback recursion from the uniform distribution up."""
        fallback_TN = np.where(words.contexts.seen, self.fallback(words.contexts), 1.0)
        probs_T = np.full(len(words.times_T), 1 / words.contexts.vocab_size)
        for n in range(words.contexts.highest):
            probs_T = (1 - fallback_TN[:, n]) * words.probs_TN[:, n] + fallback_TN[:, n] * probs_T
        return float(words.times_T @ np.log(probs_T))


def main(train: str, valid: str, test: str) -> None:
    """Train with it, check it, save it and load it again."""
    modlm.register("smoothers", "pseudocounts", f"{__name__}:Pseudocounts")
    modlm.testing.check_smoother(Pseudocounts())
    for smoothing in ("witten-bell", "pseudocounts:weight=1", "pseudocounts"):
        modlm.NgramLM.fit(train, order=3, smoothing=smoothing, held_out=valid).save("own-smoother", overwrite=True)
        model = modlm.load("own-smoother")
        print(f"{smoothing}: perplexity {model.perplexity(test).perplexity:.1f}, {model.settings.parameters}")


if __name__ == "__main__":
    main(*sys.argv[1:4])
