"""Models side by side on one text: word by word, sentence by sentence, and whether a difference could be chance.

Sentences are the unit of chance: they are drawn again and again with replacement (a paired bootstrap), and the interval
holds the middle 95% of the perplexity ratios. A sign test over sentences tells how one-sided the wins are.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from modlm.errors import ConfigError, InputError
from modlm.evaluation.error_rate import DRAWS, interval
from modlm.ground.arrays import Floats, Ints
from modlm.model.language_model import LanguageModel
from modlm.model.scored_text import ScoredText, scored_parts
from modlm.text.corpus import Corpus
from modlm.text.sources import Text
from modlm.text.vocabulary import Vocabulary


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
    scores: tuple[ScoredText, ...]
    differences: tuple[Difference, ...]
    """Of the second model, the third, …"""

    def changes(self, model: int, *, most: int = 10) -> tuple[list[WordChange], list[WordChange]]:
        """The words that gained most and lost most under a model (1 is the second), in bits over the whole text."""
        return word_changes(self.words, self.word_of, self.scores[0].log_probs, self.scores[model].log_probs, most=most)


def word_changes(
    words: Sequence[str], word_of: Ints, first: Floats, second: Floats, *, most: int = 10
) -> tuple[list[WordChange], list[WordChange]]:
    """The words that gained most and lost most from the first log-probabilities to the second.

    `word_of` says which of the words each prediction is. Where a probability is 0 the difference is no number, and does
    not count.
    """
    with np.errstate(invalid="ignore"):
        gain_T = (second - first) / math.log(2)
    gain_W = np.bincount(word_of, weights=np.where(np.isfinite(gain_T), gain_T, 0.0), minlength=len(words))
    times_W = np.bincount(word_of, minlength=len(words))
    order = np.argsort(-gain_W, kind="stable")

    def listed(places: Ints) -> list[WordChange]:
        return [WordChange(words[w], int(times_W[w]), float(gain_W[w])) for w in places.tolist()]

    best, worst = order[:most], order[::-1][:most]
    return listed(best[gain_W[best] > 0]), listed(worst[gain_W[worst] < 0])


def compare_models(
    models: Sequence[LanguageModel],
    text: Text | Corpus,
    *,
    rng: np.random.Generator,
    draws: int = DRAWS,
    source: Text | None = None,
) -> Comparison:
    """Score a text with all models and compare each with the first; `rng` draws the sentences.

    `source` has the source of each sentence, for the models that read them.
    """
    if len(models) < 2:
        raise ConfigError("A comparison needs at least two models.")
    corpus = text if isinstance(text, Corpus) else Corpus.from_text(text, _tokens(models))
    if corpus.sentences == 0:
        raise InputError("There are no sentences to compare on. Give a text with one sentence per line.")
    read = [source if model.reads.source else None for model in models]
    scores = tuple(  # a corpus is one part
        scored for model, own in zip(models, read, strict=True) for scored in scored_parts(model, corpus, source=own)
    )
    lengths = np.diff(corpus.starts) - 1
    first_S, *others_S = (own.sentence_sums() for own in scores)
    with np.errstate(invalid="ignore"):
        gains_MS = np.array(others_S) - first_S
    means_DM = drawn_means(gains_MS, lengths, rng=rng, draws=draws)
    if any(model.vocabulary != models[0].vocabulary for model in models):
        unknown = ", ".join(f"{own.unknown:,}" for own in scores)
        logging.getLogger("modlm").warning(
            f"The models know different words: of {scores[0].words:,}, {unknown} are unknown to them, one after the "
            f"other. What is unknown is easy to predict, so perplexities do not compare. Bits per byte (`modlm eval`) "
            f"do, if the models have spelling models (spelling=True)."
        )
    differences = tuple(
        difference(scores[0], other, gains_MS[place], means_DM[:, place]) for place, other in enumerate(scores[1:])
    )
    word_of = corpus.ids[corpus.ids != corpus.vocabulary.start].astype(np.int64)
    return Comparison(corpus.vocabulary.words, word_of, scores, differences)


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


def difference(first: ScoredText, other: ScoredText, gain_S: Floats, means_D: Floats) -> Difference:
    """Ratio, interval and sign test of one model against the first; NaN where a probability of 0 forbids it."""
    better, worse = int(np.count_nonzero(gain_S > 0)), int(np.count_nonzero(gain_S < 0))
    with np.errstate(over="ignore"):
        ratio = float(np.exp2(other.bits - first.bits))
    low = high = math.nan
    if len(means_D) and np.isfinite(gain_S).all():
        low, high = np.exp(interval(-means_D)).tolist()
    return Difference(ratio, low, high, better, worse, sign_test(better, worse))


def sign_test(better: int, worse: int) -> float:
    """Probability of wins at least as one-sided if each sentence were a fair coin; ties do not count."""
    total, fewer = better + worse, min(better, worse)
    if total == 0:
        return 1.0
    logs = [math.lgamma(total + 1) - math.lgamma(k + 1) - math.lgamma(total - k + 1) for k in range(fewer + 1)]
    top = max(logs)
    tail = math.exp(top - total * math.log(2)) * math.fsum(math.exp(value - top) for value in logs)
    return min(1.0, 2 * tail)


def as_records(comparison: Comparison, names: Sequence[str], *, most: int = 10) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for place, (name, scores) in enumerate(zip(names, comparison.scores, strict=True)):
        record: dict[str, Any] = {
            "model": name, "perplexity": scores.perplexity, "bits": scores.bits, "predictions": scores.predictions,
            "unknown": scores.unknown, "bits_per_byte": scores.bits_per_byte,
        }  # fmt: skip
        if place:
            own = comparison.differences[place - 1]
            gained, lost = comparison.changes(place, most=most)
            record |= {
                "ratio": own.ratio, "interval": [own.low, own.high], "better": own.better, "worse": own.worse,
                "p_value": own.p_value,
                "gained": [asdict(change) for change in gained], "lost": [asdict(change) for change in lost],
            }  # fmt: skip
        records.append(record)
    return records
