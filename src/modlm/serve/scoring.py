"""`/score`: sentences to log-probabilities, many requests in one pass of the model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modlm.arrays import Bools, Floats, Ids
from modlm.model.language_model import LanguageModel
from modlm.serve.library import Served
from modlm.text.encoding import encode_sentences
from modlm.text.tokens import TokenVocabulary
from modlm.text.vocabulary import END_NAME, UNKNOWN, Vocabulary


@dataclass(frozen=True, slots=True)
class ScoredSentences:
    """Sentences as ids, the log P of each of their words, and sums for each sentence as plain Python numbers."""

    ids: Ids
    log_probs: Floats
    starts: list[int]
    """Where each sentence begins, and behind them the end of the last."""
    sums: list[float]
    """log P of each sentence."""
    known_sums: list[float]
    """The same without unknown words."""
    unknown: list[int]
    impossible: list[int]
    """Words (or ends) of each sentence that have probability 0."""

    def __len__(self) -> int:
        return len(self.sums)

    @classmethod
    def of(cls, ids: Ids, log_probs: Floats, start: int) -> ScoredSentences:
        """From the ids and log-probabilities of whole sentences."""
        begins = np.flatnonzero(ids == start)
        unknown_T: Bools = ids == UNKNOWN
        sums = np.add.reduceat(log_probs, begins).tolist()
        if unknown_T.any():
            unknown = np.add.reduceat(unknown_T, begins, dtype=np.int64).tolist()
            known_sums = np.add.reduceat(np.where(unknown_T, 0.0, log_probs), begins).tolist()
        else:
            unknown, known_sums = [0] * len(sums), sums
        impossible = [0] * len(sums)
        if not math.isfinite(sum(sums)):
            impossible = np.add.reduceat(np.isneginf(log_probs), begins, dtype=np.int64).tolist()
        return cls(ids, log_probs, [*begins.tolist(), len(ids)], sums, known_sums, unknown, impossible)

    def part(self, first: int, after: int) -> ScoredSentences:
        """Some neighbouring sentences."""
        low, high, own = self.starts[first], self.starts[after], slice(first, after)
        return ScoredSentences(
            self.ids[low:high],
            self.log_probs[low:high],
            [start - low for start in self.starts[first : after + 1]],
            self.sums[own],
            self.known_sums[own],
            self.unknown[own],
            self.impossible[own],
        )

    def words(self, number: int) -> tuple[list[float | None], list[bool]]:
        """For each word of a sentence and its end: log P, nothing where P is 0; and whether the word is known."""
        place = slice(self.starts[number] + 1, self.starts[number + 1])
        logs: list[float] = self.log_probs[place].tolist()
        known: list[bool] = (self.ids[place] != UNKNOWN).tolist()
        return ([finite(value) for value in logs] if self.impossible[number] else list(logs)), known


def score_sentences(model: LanguageModel, sentences: Sequence[str]) -> ScoredSentences:
    """Every sentence on its own, in one pass."""
    ids = encode_sentences(sentences, model.vocabulary)
    return ScoredSentences.of(ids, model.sentence_log_probs(ids), model.vocabulary.start)


def finite(value: float) -> float | None:
    """Nothing for the logarithm of 0, which JSON cannot hold."""
    return value if value > -math.inf else None


def perplexity_of(log_prob: float, predictions: int) -> float | None:
    """exp of the mean; nothing where it is infinite, or where there are no predictions."""
    if not predictions:
        return None
    mean = -log_prob / predictions
    return math.exp(mean) if mean < 700 else None


def score_answer(served: Served, sentences: Sequence[str], scored: ScoredSentences, *, words: bool) -> dict[str, Any]:
    """The answer to a request for these sentences."""
    records: list[dict[str, Any]] = []
    for number, total in enumerate(scored.sums):
        length = scored.starts[number + 1] - scored.starts[number] - 1
        record: dict[str, Any] = {
            "log_prob": finite(total),
            "perplexity": perplexity_of(total, length),
            "words": length - 1,
            "unknown": scored.unknown[number],
            "impossible": scored.impossible[number],
        }
        if words:
            record["scores"] = word_scores(served.model.vocabulary, sentences[number], *scored.words(number))
        records.append(record)
    return {"model": served.name, "sentences": records, **totals(scored)}


def word_scores(
    vocabulary: Vocabulary, sentence: str, values: Sequence[float | None], known: Sequence[bool]
) -> list[dict[str, Any]]:
    """A record for each word and the end; tokens of a tokenizer also say which characters they are."""
    names = [*vocabulary.split(sentence), END_NAME]
    records: list[dict[str, Any]] = [
        {"word": word, "log_prob": value, "known": is_known}
        for word, value, is_known in zip(names, values, known, strict=True)
    ]
    if isinstance(vocabulary, TokenVocabulary):
        for record, (start, end) in zip(records, [*vocabulary.places(sentence), (len(sentence),) * 2], strict=True):
            record |= {"start": start, "end": end}
    return records


def totals(scored: ScoredSentences) -> dict[str, Any]:
    """Sums over all sentences."""
    total, unknown = sum(scored.sums), sum(scored.unknown)
    predictions = len(scored.ids) - len(scored)
    return {
        "log_prob": finite(total),
        "perplexity": perplexity_of(total, predictions),
        "perplexity_without_unknown": perplexity_of(sum(scored.known_sums), predictions - unknown),
        "predictions": predictions,
        "unknown": unknown,
        "impossible": sum(scored.impossible),
    }
