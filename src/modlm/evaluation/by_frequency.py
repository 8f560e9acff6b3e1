"""Perplexity by how often the predicted word was seen in training: rare words are where models differ.

Bands are cumulative, as in the paper's figure of them: words seen at most 10, 100, 1000 times, and all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modlm.arrays import Ints
from modlm.errors import ConfigError, InputError
from modlm.model.language_model import LanguageModel
from modlm.text.corpus import Corpus
from modlm.text.encoding import encode_blocks
from modlm.text.sources import Text

LIMITS = (10, 100, 1000, math.inf)


@dataclass(frozen=True, slots=True)
class FrequencyBand:
    """The predictions whose word was seen at most `limit` times in training."""

    limit: float
    predictions: int
    log_likelihood: float
    """Natural logarithm of their probability."""

    @property
    def perplexity(self) -> float:
        """NaN when there are none."""
        if self.predictions == 0:
            return math.nan
        mean = -self.log_likelihood / self.predictions
        return math.exp(mean) if mean < 700 else math.inf

    @property
    def label(self) -> str:
        """For tables."""
        return "all" if math.isinf(self.limit) else f"≤ {self.limit:,.0f}"

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "seen": self.label,
            "limit": None if math.isinf(self.limit) else int(self.limit),
            "predictions": self.predictions,
            "perplexity": self.perplexity,
            "log_likelihood": self.log_likelihood,
        }


def word_frequencies(model: LanguageModel, text: Text | Corpus | None = None) -> Ints:
    """How often each word of the model's vocabulary occurs, by id: in a text if given, else in the model's counts."""
    if text is None:
        counts = getattr(model, "counts", None)
        if counts is None:
            raise ConfigError(
                "The model does not keep its counts (it was pruned, mixed, or read from an ARPA file), so it does not "
                "know how often words were seen. Give the training text with --train."
            )
        return np.asarray(counts.frequencies[1 : 1 + len(model.vocabulary)], dtype=np.int64)
    frequencies = np.zeros(len(model.vocabulary) + 1, dtype=np.int64)
    for ids in _blocks(model, text):
        frequencies += np.bincount(ids, minlength=len(frequencies))
    return frequencies[:-1]


def perplexity_by_frequency(
    model: LanguageModel, text: Text | Corpus, frequencies: Ints, *, limits: Sequence[float] = LIMITS
) -> list[FrequencyBand]:
    """A band for each limit; sentence ends are words like any other. `frequencies` is by word id."""
    if len(frequencies) != len(model.vocabulary):
        raise ConfigError(f"There are {len(frequencies):,} frequencies for {len(model.vocabulary):,} words.")
    seen, totals = np.zeros(len(limits), dtype=np.int64), np.zeros(len(limits))
    for ids, log_probs in model.along(_blocks(model, text)):
        predicted = ids != model.vocabulary.start
        counts, logs = frequencies[ids[predicted]], log_probs[predicted]
        for place, limit in enumerate(limits):
            inside = counts <= limit
            seen[place] += np.count_nonzero(inside)
            totals[place] += logs[inside].sum()
    if len(seen) and seen.max() == 0 and math.isinf(max(limits)):
        raise InputError("There are no sentences to score. Give a text with one sentence a line.")
    return [FrequencyBand(limit, int(n), float(total)) for limit, n, total in zip(limits, seen, totals, strict=True)]


def _blocks(model: LanguageModel, text: Text | Corpus) -> Any:
    if isinstance(text, Corpus):
        same = text.vocabulary == model.vocabulary
        return iter([text.ids if same else text.vocabulary.mapping(model.vocabulary)[text.ids]])
    return encode_blocks(text, model.vocabulary)
