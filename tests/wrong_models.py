"""Models that are no language models, each wrong in a way of its own, over the words a b c d q and `</s>`.

A function gives probabilities after words, or the log-probabilities of a text; a class has both.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from modlm.blocks.block import ALONE, Beside
from modlm.ground.arrays import Floats, Ids
from modlm.mixers import StaticMixer
from modlm.model.language_model import States
from modlm.model.mixture import Mixture
from modlm.model.ngram_lm import NgramLM

WORDS = ("a", "b", "c", "d", "q", "</s>")
Row = dict[str, float]
FLAT: Row = dict.fromkeys(WORDS, 1 / len(WORDS))
SKEWED: Row = dict(zip(WORDS, (0.5, 0.2, 0.1, 0.1, 0.05, 0.05), strict=True))


def counted(before: list[str]) -> Row:
    """An honest one: the words so far, and one of each."""
    found = Counter(before)
    return {word: (found[word] + 1) / (len(before) + len(WORDS)) for word in WORDS}


def scored(row: Callable[[list[str], str, list[str]], float]) -> Callable[[list[str]], list[float]]:
    """log P of each word of a text by a function of the words before it, itself, and those behind."""
    return lambda text: [math.log(row(text[:at], word, text[at + 1 :])) for at, word in enumerate(text)]


def named(name: str, function: Callable[[list[str]], list[float]]) -> Callable[[list[str]], list[float]]:
    function.__name__ = name
    return function


def hashed_counts(before: list[str]) -> Row:
    """Counts in a table of three buckets, as if each word had its own: what collides is counted twice."""
    table = [1, 1, 1]
    for word in before:
        table[ord(word[-1]) % 3] += 1
    return {word: table[ord(word[-1]) % 3] / sum(table) for word in WORDS}


def gate_from_the_target(before: list[str]) -> Row:
    """Each word is given the model that likes it, as if the gate had been allowed to look at it."""
    return {word: 0.9 * max(FLAT[word], SKEWED[word]) + 0.1 * min(FLAT[word], SKEWED[word]) for word in WORDS}


def max_instead_of_sum(before: list[str]) -> Row:
    return {word: max(FLAT[word], counted(before)[word]) for word in WORDS}


def top_k_cut(before: list[str]) -> Row:
    best = sorted(WORDS, key=lambda word: -counted(before)[word])[:3]
    return {word: counted(before)[word] for word in best}


def tempered(before: list[str]) -> Row:
    """Sharpened, and not divided by the sum again."""
    return {word: p**0.8 for word, p in counted(before).items()}


def discounted_below_nothing(before: list[str]) -> Row:
    """Sums to 1, and yet: more was taken off than was there."""
    row = {word: (Counter(before)[word] - 0.5) / (len(before) + 1) for word in WORDS}
    return row | {"a": row["a"] + 1 - sum(row.values())}


def no_room_for_the_unknown(before: list[str]) -> Row:
    """The mass of `<unk>` is promised, and nobody gets it."""
    return {word: 0.9 * p for word, p in counted(before).items()}


def weights_that_sum_to_two(before: list[str]) -> Row:
    """Two gates, each a sigmoid of its own."""
    return {word: 0.9 * FLAT[word] + 0.8 * SKEWED[word] for word in WORDS}


class Asked:
    """Learns from being asked, not from what it reads."""

    def __init__(self) -> None:
        self.calls = 0

    def probabilities(self, before: list[str]) -> Row:
        self.calls += 1
        share = self.calls / (self.calls + 9)
        return {word: share * FLAT[word] + (1 - share) * SKEWED[word] for word in WORDS}


class Noisy:
    """Dropout was left on."""

    def __init__(self) -> None:
        self.drawn = random.Random(1)

    def probabilities(self, before: list[str]) -> Row:
        share = self.drawn.random()
        return {word: share * FLAT[word] + (1 - share) * SKEWED[word] for word in WORDS}


look_ahead_by_one = named("look_ahead_by_one", scored(lambda before, word, behind: 0.8 if behind[:1] == ["a"] else 0.2))
counted_beforehand = named(
    "counted_beforehand", scored(lambda before, word, behind: counted([*before, word, *behind])[word])
)
update_before_scoring = named(
    "update_before_scoring", scored(lambda before, word, behind: counted([*before, *[word] * 9])[word])
)
by_the_length_of_the_text = named(
    "by_the_length_of_the_text", scored(lambda before, word, behind: counted(before)[word] ** (9 / (10 + len(behind))))
)


class Both:
    """Distributions that are fine beside scores that are not."""

    def probabilities(self, before: list[str]) -> Row:
        return counted(before)


class UpdateBeforeScoring(Both):
    log_probs = staticmethod(scored(lambda before, word, behind: counted([*before, word])[word]))


class BestOfTwo(Both):
    log_probs = staticmethod(scored(lambda before, word, behind: max(counted(before)[word], FLAT[word])))


class LogarithmsToTheBaseTwo(Both):
    def log_probs(self, text: list[str]) -> list[float]:
        return [math.log2(counted(text[:at])[word]) for at, word in enumerate(text)]


class CacheThatHoldsTheTarget(Both):
    """Its window ends one too late."""

    log_probs = staticmethod(scored(lambda before, word, behind: counted([*before, word][-4:])[word]))


class PiecesThatSlip(NgramLM):
    """In a stream each score stands one word too late."""

    def along(self, texts: Iterable[Ids], beside: Beside = ALONE) -> Iterator[tuple[Ids, Floats]]:
        for ids in texts:
            yield ids, np.roll(self.log_probs(ids), 1)


class BatchesInAnotherOrder(NgramLM):
    """Sentences are sorted to be scored together, and never put back."""

    def _summed(self, sentences: Sequence[str | Sequence[str]]) -> Floats:
        return np.sort(super()._summed(sentences))


class StatesThatForget(NgramLM):
    """Word by word it has forgotten all but the sentence's beginning."""

    def advance(self, states: States, words: Ids) -> tuple[States, Floats]:
        return super().advance(self.start(len(words)), words)


class EverySourceWordForItself(StaticMixer):
    """Each column over the source has the weight of all of them; beside one word, or none, nothing is wrong."""

    def _spread(self, count: int, beside: Beside) -> Floats:
        weights_BK = super()._spread(count, beside)
        weights_BK[:, self.columns :] *= max(1, beside.longest)
        return weights_BK


class SourceOfTheLineBefore(Mixture):
    """Along a text the sources stand one line too late."""

    def log_probs(self, ids: Ids, beside: Beside = ALONE) -> Floats:
        return super().log_probs(ids, Beside([*beside.sources[-1:], *beside.sources[:-1]]))


PROBABILITIES = {
    "normalised": (
        hashed_counts, gate_from_the_target, max_instead_of_sum, top_k_cut, tempered, discounted_below_nothing,
        no_room_for_the_unknown, weights_that_sum_to_two,
    ),
    "repeatable": (Asked, Noisy),
}  # fmt: skip
SCORES = {
    "causal": (look_ahead_by_one, counted_beforehand, by_the_length_of_the_text),
    "normalised": (update_before_scoring,),
}
BOTH = {"scores": (UpdateBeforeScoring, BestOfTwo, LogarithmsToTheBaseTwo, CacheThatHoldsTheTarget)}
OURS = {"ways": (PiecesThatSlip, StatesThatForget, BatchesInAnotherOrder)}
