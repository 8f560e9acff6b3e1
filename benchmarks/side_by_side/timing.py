"""Repeated times, taken in turns: ours, theirs, ours, theirs, so that a slow minute hits both."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

TOLERANCE = 1e-4  # relative, in logarithms: both hold probabilities in 32 bits
WORD_TOLERANCE = 1e-3  # for single rare words, where KenLM's unigram discounts are slightly off (kenlm#405)


class DisagreementError(Exception):
    """Two programs that were to be compared computed different things."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds of each repetition."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The number that ratios are made from."""
        return statistics.median(self.seconds)

    @property
    def best(self) -> float:
        """The shortest."""
        return min(self.seconds)

    @property
    def worst(self) -> float:
        """The longest."""
        return max(self.seconds)

    @property
    def spread(self) -> float:
        """(longest - shortest) / median."""
        return (self.worst - self.best) / self.median


@dataclass(frozen=True, slots=True)
class Ratio:
    """One sample over another, by medians and by bests; None when there is no other."""

    value: float | None
    best: float | None


def ratio(over: Sample | None, under: Sample | None) -> Ratio:
    """How many times longer the first took."""
    if over is None or under is None:
        return Ratio(None, None)
    return Ratio(over.median / under.median, over.best / under.best)


def clocked(function: Callable[[], object]) -> Callable[[], float]:
    """The function as one that returns how many seconds it took; what it returns is freed off the clock."""

    def timed() -> float:
        begun = time.perf_counter()
        result = function()
        seconds = time.perf_counter() - begun
        del result
        return seconds

    return timed


def in_turns(repetitions: int, functions: Mapping[str, Callable[[], float]]) -> dict[str, Sample]:
    """Each function's seconds, all functions once per round; the garbage collector waits."""
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    gc.collect()
    gc.disable()
    try:
        for _ in range(repetitions):
            for name, function in functions.items():
                seconds[name].append(function())
    finally:
        gc.enable()
    return {name: Sample(tuple(found)) for name, found in seconds.items()}


def must_agree(what: str, ours: ArrayLike, theirs: ArrayLike, *, tolerance: float = TOLERANCE) -> None:
    """Stop unless both numbers are the same, so that only equal work is compared."""
    mine, other = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    if mine.shape != other.shape:
        raise DisagreementError(f"{what}: ours has shape {mine.shape}, KenLM's {other.shape}.")
    apart = np.abs(mine - other) / np.maximum(np.abs(other), 1e-12)
    if not (apart <= tolerance).all():
        raise DisagreementError(f"{what}: ours and KenLM's differ by {np.nanmax(apart):.2g}, more than {tolerance:g}.")
