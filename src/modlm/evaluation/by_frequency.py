"""Perplexity by how often the predicted word was seen in training: rare words are where models differ.

Bands are cumulative, as in the paper's figure of them: words seen at most 10, 100, 1000 times, and all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modlm.errors import ConfigError, InputError
from modlm.ground.arrays import Ints
from modlm.model.language_model import LanguageModel
from modlm.model.scored_text import perplexity_of, read_parts, scored_parts
from modlm.text.corpus import Corpus
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
        return perplexity_of(self.log_likelihood, self.predictions)

    @property
    def label(self) -> str:
        return "all" if math.isinf(self.limit) else f"≤ {self.limit:,.0f}"

    def as_dict(self) -> dict[str, Any]:
        limit = None if math.isinf(self.limit) else int(self.limit)
        sums = {name: getattr(self, name) for name in ("predictions", "perplexity", "log_likelihood")}
        return {"seen": self.label, "limit": limit, **sums}


def word_frequencies(model: LanguageModel, text: Text | Corpus | None = None) -> Ints:
    """How often each word of the model's vocabulary occurs, by id: in a text if given, else in the model's counts."""
    if text is None:
        counts = getattr(model, "counts", None)
        if counts is None:
            raise ConfigError(
                "The model does not keep its counts (it was pruned, mixed, or read from an ARPA file), so it does not "
                "know how often words were seen. Give the training text as well."
            )
        return np.asarray(counts.frequencies[1 : 1 + len(model.vocabulary)], dtype=np.int64)
    frequencies = np.zeros(len(model.vocabulary) + 1, dtype=np.int64)
    for block in read_parts(text, model.vocabulary):
        frequencies += np.bincount(block.ids, minlength=len(frequencies))
    return frequencies[:-1]


def perplexity_by_frequency(
    model: LanguageModel,
    text: Text | Corpus,
    frequencies: Ints,
    *,
    source: Text | None = None,
    limits: Sequence[float] = LIMITS,
) -> list[FrequencyBand]:
    """A band for each limit; sentence ends are words like any other. `frequencies` is by word id."""
    if len(frequencies) != len(model.vocabulary):
        raise ConfigError(f"There are {len(frequencies):,} frequencies for {len(model.vocabulary):,} words.")
    seen, totals = np.zeros(len(limits), dtype=np.int64), np.zeros(len(limits))
    for part in scored_parts(model, text, source=source):
        for place, limit in enumerate(limits):
            inside = frequencies[part.ids] <= limit
            seen[place] += np.count_nonzero(inside)
            totals[place] += part.log_probs[inside].sum()
    if len(seen) and seen.max() == 0 and math.isinf(max(limits)):
        raise InputError("There are no sentences to score. Give a text with one sentence per line.")
    return [FrequencyBand(limit, int(n), float(total)) for limit, n, total in zip(limits, seen, totals, strict=True)]
