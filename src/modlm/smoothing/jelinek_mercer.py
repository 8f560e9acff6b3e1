"""Jelinek-Mercer: maximum-likelihood columns, and fallbacks that make held-out words likeliest.

Contexts of an order that have seen about as many occurrences for each different follower share one alpha (Chen &
Goodman found the mean count to tell more than the total). Expectation-maximisation finds all of them together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from modlm.errors import ConfigError
from modlm.ground.arrays import Floats, Ints
from modlm.smoothing.smoother import ContextSums, HeldOutWords, Smoother

PASSES = 40
LEAST = 1e-4  # no bucket is trusted wholly, or not at all


@dataclass(frozen=True)
class JelinekMercer(Smoother):
    """P_ML with one alpha for each order and bucket of contexts (Jelinek & Mercer 1980)."""

    name: ClassVar[str] = "jelinek-mercer"
    learns: ClassVar[bool] = True

    bounds: tuple[float, ...] = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 25.0)
    """The largest mean count c / u of each bucket; the last bucket has no bound."""
    alphas: tuple[tuple[float, ...], ...] = ()
    """For each order one alpha a bucket; none: to be learned, and one half until then."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", tuple(map(float, self.bounds)))
        object.__setattr__(self, "alphas", tuple(tuple(map(float, row)) for row in self.alphas))
        if list(self.bounds) != sorted(set(self.bounds)):
            raise ConfigError(f"bounds must rise from bucket to bucket, but are {self.bounds}.")
        if any(len(row) != len(self.bounds) + 1 or not all(0 <= alpha <= 1 for alpha in row) for row in self.alphas):
            raise ConfigError(f"alphas must hold {len(self.bounds) + 1} numbers between 0 and 1 for each order.")

    def buckets(self, contexts: ContextSums) -> Ints:
        """The bucket of each context."""
        return np.searchsorted(self.bounds, contexts.total / contexts.followers)

    def fallback(self, contexts: ContextSums) -> Floats:
        """alpha of its order and bucket."""
        alphas: Floats = np.array(self.alphas or ((0.5,) * (len(self.bounds) + 1),) * contexts.highest)
        fallback: Floats = alphas[np.asarray(contexts.order) - 1, self.buckets(contexts)]
        return fallback

    def learned(self, words: HeldOutWords) -> Self:
        """The alphas after some passes of EM, from one half; a bucket without words keeps that."""
        if self.alphas:
            return self
        contexts, seen_TN, times_T1 = words.contexts, words.contexts.seen, words.times_T[:, None]
        counted = replace(contexts, followers=np.where(seen_TN, contexts.followers, 1.0))
        places_TN = (contexts.order - 1) * (len(self.bounds) + 1) + self.buckets(counted)
        alphas = np.full(contexts.highest * (len(self.bounds) + 1), 0.5)
        for _ in range(PASSES):
            passed_TN, arrived_TN = expected(words.probs_TN, np.where(seen_TN, alphas[places_TN], 1.0), contexts)
            weights_TN = np.where(seen_TN, times_T1, 0.0)
            trials = np.bincount(places_TN.ravel(), (weights_TN * arrived_TN).ravel(), len(alphas))
            fell = np.bincount(places_TN.ravel(), (weights_TN * passed_TN).ravel(), len(alphas))
            shares = np.clip(fell / np.where(trials > 0, trials, 1.0), LEAST, 1 - LEAST)
            alphas = np.where(trials > 0, shares, alphas)
        return replace(self, alphas=tuple(map(tuple, alphas.reshape(contexts.highest, -1).tolist())))


def expected(probs_TN: Floats, alphas_TN: Floats, contexts: ContextSums) -> tuple[Floats, Floats]:
    """The chances, given the word, that each order passed it on to the next shorter one, and that it was asked."""
    below_TN = np.empty_like(probs_TN)  # P of the word from the orders below each
    below_T = np.full(len(probs_TN), 1.0 / contexts.vocab_size)
    for n in range(probs_TN.shape[1]):
        below_TN[:, n] = below_T
        below_T = (1 - alphas_TN[:, n]) * probs_TN[:, n] + alphas_TN[:, n] * below_T
    passed_TN, arrived_TN, left_T = np.empty_like(probs_TN), np.empty_like(probs_TN), np.ones(len(probs_TN))
    for n in range(probs_TN.shape[1] - 1, -1, -1):
        arrived_TN[:, n] = left_T
        own_T, falls_T = (1 - alphas_TN[:, n]) * probs_TN[:, n], alphas_TN[:, n] * below_TN[:, n]
        both_T = own_T + falls_T
        left_T = left_T * falls_T / np.where(both_T > 0, both_T, 1.0)
        passed_TN[:, n] = left_T
    return passed_TN, arrived_TN
