"""`/score`: sentences to log-probabilities, many requests in one pass of the model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modlm.arrays import Floats, Ids, Ints
from modlm.model.language_model import LanguageModel
from modlm.text.corpus import Corpus
from modlm.text.vocabulary import END_NAME, UNKNOWN, split_words


@dataclass(frozen=True, slots=True)
class ScoredSentences:
    """Sentences as ids, log P of each of their words, and where each begins; the last entry is the end of all."""

    ids: Ids
    log_probs: Floats
    starts: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1

    def part(self, first: int, after: int) -> ScoredSentences:
        """Some neighbouring sentences."""
        low, high = int(self.starts[first]), int(self.starts[after])
        return ScoredSentences(self.ids[low:high], self.log_probs[low:high], self.starts[first : after + 1] - low)


def score_sentences(model: LanguageModel, sentences: Sequence[str]) -> ScoredSentences:
    """Every sentence on its own, in one pass."""
    corpus = Corpus.from_text(sentences, model.vocabulary, workers=1)
    return ScoredSentences(corpus.ids, model.sentence_log_probs(corpus.ids), corpus.starts)


def perplexity_of(log_prob: float, predictions: int) -> float | None:
    """exp of the mean; nothing where it is infinite or there are no predictions."""
    if not predictions:
        return None
    mean = -log_prob / predictions
    return math.exp(mean) if mean < 700 else None


def score_answer(name: str, sentences: Sequence[str], scored: ScoredSentences, *, words: bool) -> dict[str, Any]:
    """The answer to a request for these sentences."""
    log_probs, unknown_T = scored.log_probs, scored.ids == UNKNOWN
    begins = scored.starts[:-1]
    sums = np.add.reduceat(log_probs, begins).tolist()
    unknown_S = np.add.reduceat(unknown_T, begins, dtype=np.int64).tolist()
    impossible_S = np.add.reduceat(np.isneginf(log_probs), begins, dtype=np.int64).tolist()
    lengths = (np.diff(scored.starts) - 1).tolist()
    records: list[dict[str, Any]] = [
        {
            "log_prob": total if impossible == 0 else None,
            "perplexity": perplexity_of(total, length),
            "words": length - 1,
            "unknown": unknown,
            "impossible": impossible,
        }
        for total, length, unknown, impossible in zip(sums, lengths, unknown_S, impossible_S, strict=True)
    ]
    if words:
        for record, sentence, begin, length in zip(records, sentences, begins.tolist(), lengths, strict=True):
            place = slice(begin + 1, begin + 1 + length)
            record["scores"] = word_scores(sentence, log_probs[place], unknown_T[place])
    return {"model": name, "sentences": records, **totals(scored)}


def word_scores(sentence: str, log_probs: Floats, unknown: np.ndarray) -> list[dict[str, Any]]:
    """A record for each word and the end of a sentence."""
    names = [*split_words(sentence), END_NAME]
    return [
        {"word": word, "log_prob": value if value > -math.inf else None, "known": not missing}
        for word, value, missing in zip(names, log_probs.tolist(), unknown.tolist(), strict=True)
    ]


def totals(scored: ScoredSentences) -> dict[str, Any]:
    """Sums over all sentences."""
    unknown_T = scored.ids == UNKNOWN
    total, predictions = float(scored.log_probs.sum()), len(scored.ids) - len(scored)
    unknown = int(unknown_T.sum())
    known_total = float(scored.log_probs[~unknown_T].sum()) if unknown else total
    return {
        "log_prob": total if total > -math.inf else None,
        "perplexity": perplexity_of(total, predictions),
        "perplexity_without_unknown": perplexity_of(known_total, predictions - unknown),
        "predictions": predictions,
        "unknown": unknown,
        "impossible": int(np.isneginf(scored.log_probs).sum()),
    }
