"""Models side by side on one text: word by word, sentence by sentence, and whether a difference could be chance.

Sentences are the unit of chance: they are drawn again and again with replacement (a paired bootstrap), and the interval
holds the middle 95% of the perplexity ratios. A sign test over sentences tells how one-sided the wins are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modlm.arrays import Floats, Ids, Ints
from modlm.errors import ConfigError, InputError
from modlm.model.language_model import LanguageModel
from modlm.text.corpus import Corpus
from modlm.text.sources import Text
from modlm.text.vocabulary import END_NAME, Vocabulary

DRAWS = 1000
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Scores:
    """One model's log-probabilities along a text: a row for each prediction, sums for each sentence."""

    log_probs: Floats
    """Natural logarithms, of every word and sentence end."""
    sentences: Floats
    unknown: int
    """Words that the model does not know."""

    @property
    def mean(self) -> float:
        """Mean log-likelihood of a prediction."""
        return float(self.log_probs.mean())

    @property
    def perplexity(self) -> float:
        """Of all predictions."""
        return math.exp(-self.mean) if -self.mean < 700 else math.inf

    @property
    def bits(self) -> float:
        """A prediction."""
        return -self.mean / math.log(2)


@dataclass(frozen=True, slots=True)
class Difference:
    """A model against the first one. Ratios are of perplexities: below 1 is better than the first."""

    ratio: float
    low: float
    high: float
    """The bootstrap interval of the ratio."""
    better: int
    """Sentences that it gives more probability than the first model does."""
    worse: int
    p_value: float
    """Of the sign test over sentences, two-sided."""


@dataclass(frozen=True, slots=True)
class WordChange:
    """What a word, over all its occurrences, gained or lost against the first model."""

    word: str
    occurrences: int
    bits: float
    """In all; above 0 is a gain."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Scores of all models, and each further model's difference from the first."""

    words: tuple[str, ...]
    """The text's own words, whether models know them or not, by place in `word_of`."""
    word_of: Ints
    lengths: Ints
    """Predictions in each sentence."""
    scores: tuple[Scores, ...]
    differences: tuple[Difference, ...]
    """Of the second model, the third, …"""

    def changes(self, model: int, *, most: int = 10) -> tuple[list[WordChange], list[WordChange]]:
        """The words that gained most and lost most under a model (1 is the second), in bits over the whole text."""
        gain_T = np.nan_to_num(self.scores[model].log_probs - self.scores[0].log_probs) / math.log(2)
        gain_W = np.bincount(self.word_of, weights=gain_T, minlength=len(self.words))
        times_W = np.bincount(self.word_of, minlength=len(self.words))
        order = np.argsort(-gain_W, kind="stable")

        def listed(places: Ints) -> list[WordChange]:
            return [WordChange(self.words[w], int(times_W[w]), float(gain_W[w])) for w in places.tolist()]

        best, worst = order[:most], order[::-1][:most]
        return listed(best[gain_W[best] > 0]), listed(worst[gain_W[worst] < 0])


def scores_of(model: LanguageModel, text: Corpus) -> Scores:
    """A model's scores of a text that may have another vocabulary."""
    same = text.vocabulary == model.vocabulary
    ids: Ids = text.ids if same else text.vocabulary.mapping(model.vocabulary)[text.ids]
    log_probs = model.log_probs(ids)
    sums = np.add.reduceat(log_probs, text.starts[:-1])
    predicted = ids != model.vocabulary.start
    return Scores(log_probs[predicted], sums, int(np.count_nonzero(ids == 0)))


def compare_models(
    models: Sequence[LanguageModel], text: Text | Corpus, *, rng: np.random.Generator, draws: int = DRAWS
) -> Comparison:
    """Score a text with all models and compare each with the first; `rng` draws the sentences."""
    if len(models) < 2:
        raise ConfigError("A comparison needs at least two models.")
    corpus = text if isinstance(text, Corpus) else Corpus.from_text(text, _tokens(models))
    if corpus.sentences == 0:
        raise InputError("There are no sentences to compare on. Give a text with one sentence a line.")
    scores = tuple(scores_of(model, corpus) for model in models)
    lengths = np.diff(corpus.starts) - 1
    with np.errstate(invalid="ignore"):
        gains_MS = np.array([other.sentences - scores[0].sentences for other in scores[1:]])
    means_DM = drawn_means(gains_MS, lengths, rng=rng, draws=draws)
    differences = tuple(
        difference(scores[0], other, gains_MS[place], means_DM[:, place]) for place, other in enumerate(scores[1:])
    )
    words, word_of = _words(corpus)
    return Comparison(words, word_of, lengths, scores, differences)


def _tokens(models: Sequence[LanguageModel]) -> Vocabulary | None:
    """The vocabulary of models of subwords, which must have one tokenizer; none for models of words."""
    first = models[0].vocabulary
    if not all(first.splits_like(model.vocabulary) for model in models):
        raise ConfigError(
            "The models split texts differently (words, or tokens of other tokenizers), so they cannot be compared "
            "word by word. `modlm eval` gives perplexity per word and bits per byte, which compare."
        )
    return first if first.units == "tokens" else None


def drawn_means(gains_MS: Floats, lengths: Ints, *, rng: np.random.Generator, draws: int) -> Floats:
    """(D, M): the mean gain of a prediction for each model, over as many sentences drawn with replacement."""
    means_DM = np.empty((draws, len(gains_MS)))
    for row in means_DM:
        picks = rng.integers(0, len(lengths), len(lengths))
        row[:] = gains_MS[:, picks].sum(axis=1) / lengths[picks].sum()
    return means_DM


def difference(first: Scores, other: Scores, gain_S: Floats, means_D: Floats) -> Difference:
    """Ratio, interval and sign test of one model against the first; NaN where a probability of 0 forbids it."""
    better, worse = int(np.count_nonzero(gain_S > 0)), int(np.count_nonzero(gain_S < 0))
    ratio = _ratio(other, first)
    low = high = math.nan
    if len(means_D) and np.isfinite(gain_S).all():
        low, high = np.exp(-np.quantile(means_D, [(1 + LEVEL) / 2, (1 - LEVEL) / 2])).tolist()
    return Difference(ratio, low, high, better, worse, sign_test(better, worse))


def _ratio(other: Scores, first: Scores) -> float:
    gap = first.mean - other.mean
    return math.exp(min(gap, 700.0)) if math.isfinite(gap) else math.nan if math.isnan(gap) else gap


def sign_test(better: int, worse: int) -> float:
    """Probability of wins at least as one-sided if each sentence were a fair coin; ties do not count."""
    total, fewer = better + worse, min(better, worse)
    if total == 0:
        return 1.0
    logs = [math.lgamma(total + 1) - math.lgamma(k + 1) - math.lgamma(total - k + 1) for k in range(fewer + 1)]
    top = max(logs)
    tail = math.exp(top - total * math.log(2)) * math.fsum(math.exp(value - top) for value in logs)
    return min(1.0, 2 * tail)


def _words(corpus: Corpus) -> tuple[tuple[str, ...], Ints]:
    vocabulary: Vocabulary = corpus.vocabulary
    predicted = corpus.ids[corpus.ids != vocabulary.start].astype(np.int64)
    words = vocabulary.words
    assert words[1] == END_NAME
    return words, predicted


def as_records(comparison: Comparison, names: Sequence[str], *, most: int = 10) -> list[dict[str, Any]]:
    """For `--json`: an object for each model."""
    records: list[dict[str, Any]] = []
    for place, (name, scores) in enumerate(zip(names, comparison.scores, strict=True)):
        record: dict[str, Any] = {
            "model": name, "perplexity": scores.perplexity, "bits": scores.bits, "predictions": len(scores.log_probs),
            "unknown": scores.unknown,
        }  # fmt: skip
        if place:
            own = comparison.differences[place - 1]
            gained, lost = comparison.changes(place, most=most)
            record |= {
                "ratio": own.ratio, "interval": [own.low, own.high], "better": own.better, "worse": own.worse,
                "p_value": own.p_value,
                "gained": [{"word": c.word, "occurrences": c.occurrences, "bits": c.bits} for c in gained],
                "lost": [{"word": c.word, "occurrences": c.occurrences, "bits": c.bits} for c in lost],
            }  # fmt: skip
        records.append(record)
    return records
