"""`/score`: sentences to log-probabilities, many requests in one pass of the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from modlm.model.scored_text import ScoredText
from modlm.serve.library import Served
from modlm.text.tokens import TokenVocabulary
from modlm.text.vocabulary import END_NAME, Vocabulary


def score_answer(served: Served, texts: Sequence[str], scored: Sequence[ScoredText], *, words: bool) -> dict[str, Any]:
    """The answer to a request for these sentences."""
    records: list[dict[str, Any]] = [
        {
            "log_prob": own.log_likelihood,
            "perplexity": own.perplexity,
            "words": own.words,
            "unknown": own.unknown,
            "impossible": own.impossible,
        }
        for own in scored
    ]
    if words:
        for record, text, own in zip(records, texts, scored, strict=True):
            record["scores"] = word_scores(served.model.vocabulary, text, own)
    return {"model": served.name, "sentences": records, **totals(scored)}


def word_scores(vocabulary: Vocabulary, sentence: str, scored: ScoredText) -> list[dict[str, Any]]:
    """A record for each word and the end; tokens of a tokenizer also say which characters they are."""
    records = scored.word_records([*vocabulary.split(sentence), END_NAME])
    if isinstance(vocabulary, TokenVocabulary):
        for record, (start, end) in zip(records, [*vocabulary.places(sentence), (len(sentence),) * 2], strict=True):
            record |= {"start": start, "end": end}
    return records


def totals(scored: Sequence[ScoredText]) -> dict[str, Any]:
    """Sums over all sentences."""
    total = ScoredText.total(scored)
    return {
        "log_prob": total.log_likelihood,
        "perplexity": total.perplexity,
        "perplexity_without_unknown": total.perplexity_without_unknown,
        "predictions": total.predictions,
        "unknown": total.unknown,
        "impossible": total.impossible,
    }
