"""Drawing sentences: temperature, top-k and top-p over whole next-word distributions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from modlm.errors import ConfigError
from modlm.ground.arrays import AnyFloats, Floats, Ids
from modlm.text.vocabulary import END, UNKNOWN

if TYPE_CHECKING:
    from modlm.model.language_model import LanguageModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How the next word is drawn."""

    temperature: float = 1.0
    """Below 1 sharpens, above 1 flattens; 0 always takes the most probable word."""
    top_k: int = 0
    """Draw among the k most probable words only; 0 means all."""
    top_p: float = 1.0
    """Draw among the most probable words that together have this probability."""
    max_words: int = 100
    """Stop here if the sentence has not ended."""
    unknown: bool = False
    """Whether `<unk>` may be drawn."""

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise ConfigError(f"temperature must be 0 or more, but is {self.temperature}.")
        if self.top_k < 0:
            raise ConfigError(f"top_k must be 0 (all words) or more, but is {self.top_k}.")
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"top_p must be above 0 and at most 1, but is {self.top_p}.")
        if self.max_words < 1:
            raise ConfigError(f"max_words must be at least 1, but is {self.max_words}.")


def adjusted(probs_J: AnyFloats, sampling: Sampling) -> Floats:
    """The distribution that is drawn from."""
    probs = np.array(probs_J, dtype=np.float64)
    if not sampling.unknown and probs[UNKNOWN] < probs.sum():
        probs[UNKNOWN] = 0.0
    if sampling.temperature == 0:
        certain: Floats = np.eye(1, len(probs), int(np.argmax(probs)))[0]
        return certain
    if sampling.temperature != 1:
        with np.errstate(divide="ignore"):
            logs = np.log(probs)
        with np.errstate(over="ignore"):
            probs = np.exp((logs - logs.max()) / sampling.temperature)
    if 0 < sampling.top_k < len(probs):
        probs[np.argpartition(-probs, sampling.top_k)[sampling.top_k :]] = 0.0
    probs /= probs.sum()
    if sampling.top_p < 1:
        order = np.argsort(-probs, kind="stable")
        kept = int(np.searchsorted(np.cumsum(probs[order]), sampling.top_p)) + 1
        probs[order[kept:]] = 0.0
        probs /= probs.sum()
    return probs


@dataclass(frozen=True, slots=True)
class Draw:
    """A word that was drawn, and its probability in the model itself, whatever the sampling made of it."""

    word: int
    probability: float
    row_J: AnyFloats | None = field(default=None, repr=False, compare=False)
    """The model's whole distribution at this place."""


def draws(model: LanguageModel, sampling: Sampling, *, context: str, rng: np.random.Generator) -> Iterator[Draw]:
    """Draws until the sentence ends, its end included, or has `max_words`."""
    for draw in drawn_lines(model, model.window(context), sampling, rng):
        yield draw
        if draw.word == END:
            return


def drawn_lines(model: LanguageModel, window_1C: Ids, sampling: Sampling, rng: np.random.Generator) -> Iterator[Draw]:
    """`max_words` draws after a window; after the end of a sentence the next one begins."""
    states = model.state_after(window_1C)
    for _ in range(sampling.max_words):
        row = model.distributions(states)[0]
        probs = adjusted(row, sampling)
        word = int(np.searchsorted(np.cumsum(probs), rng.random(), side="right"))
        word = min(word, int(np.flatnonzero(probs)[-1]))
        yield Draw(word, float(row[word]), row)
        for step in (END, model.vocabulary.start) if word == END else (word,):
            states, _ = model.advance(states, np.array([step], dtype=np.uint32))


def most_probable(row_J: AnyFloats, k: int) -> Ids:
    """The ids of the k most probable words, the best first, ties by id."""
    k = min(k, len(row_J))
    among = np.argpartition(-row_J, k - 1)[:k] if k < len(row_J) else np.arange(len(row_J))
    best: Ids = among[np.lexsort((among, -row_J[among]))].astype(np.uint32)
    return best
