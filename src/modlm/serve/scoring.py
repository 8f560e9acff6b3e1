"""`/score`: sentences to log-probabilities, many requests in one pass of the model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from modlm.model.scored_text import ScoredText
from modlm.serve.library import Served
from modlm.text.tokens import TokenVocabulary
from modlm.text.vocabulary import END_NAME, Vocabulary


def score_answer(served: Served, sentences: Sequence[str], scored: ScoredText, *, words: bool) -> dict[str, Any]:
    """The answer to a request for these sentences."""
    records = scored.sentence_records()
    if words:
        vocabulary = served.model.vocabulary
        of_words = scored.word_records(names_of(vocabulary, sentences))
        if isinstance(vocabulary, TokenVocabulary):
            for word, (start, end) in zip(of_words, places_of(vocabulary, sentences), strict=True):
                word |= {"start": start, "end": end}
        for record, (begin, end) in zip(records, pairwise(scored.bounds()), strict=True):
            record["scores"] = of_words[begin:end]
    return {"model": served.name, "sentences": records, **totals(scored)}


def names_of(vocabulary: Vocabulary, sentences: Sequence[str]) -> list[str]:
    """The words of all sentences, an end behind each."""
    return [name for sentence in sentences for name in (*vocabulary.split(sentence), END_NAME)]


def places_of(vocabulary: TokenVocabulary, sentences: Sequence[str]) -> list[tuple[int, int]]:
    """Which characters of its sentence each token is."""
    return [place for text in sentences for place in (*vocabulary.places(text), (len(text), len(text)))]


def totals(scored: ScoredText) -> dict[str, Any]:
    """Sums over all sentences."""
    return {
        "log_prob": scored.log_likelihood,
        "perplexity": scored.perplexity,
        "perplexity_without_unknown": scored.perplexity_without_unknown,
        "predictions": scored.predictions,
        "unknown": scored.unknown,
        "impossible": scored.impossible,
    }
