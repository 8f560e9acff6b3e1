"""The answers of `/explain` and `/next`: the columns of a model, their weights, and what each gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from modlm.ground.arrays import Ids
from modlm.model.language_model import ExplainedRow, LanguageModel
from modlm.model.sampling import most_probable
from modlm.model.scored_text import ScoredText
from modlm.serve.library import Served
from modlm.serve.scoring import SUMS, totals
from modlm.text.encoding import encode_sentences
from modlm.text.tokens import TokenVocabulary

OF_COLUMN = 3  # of its own best words each column gives so many rows of D
OF_WORD = ("word", "known", "probability", "columns", "weights", "shares")


def explain_answer(
    served: Served, sentences: Sequence[str], explained: Sequence[Sequence[ExplainedRow]]
) -> dict[str, Any]:
    model = served.model
    ids = encode_sentences(sentences, model.vocabulary)
    with np.errstate(divide="ignore"):
        log_probs = np.log([row[2] for rows in explained for row in rows])
    scored = ScoredText.of(ids[ids != model.vocabulary.start], log_probs)
    records = [
        {"words": [dict(zip(OF_WORD, row, strict=True)) for row in rows], **{name: sums[name] for name in SUMS}}
        for rows, sums in zip(explained, scored.sentence_records(), strict=True)
    ]
    return {"columns": list(model.column_names), "sentences": records, **totals(served, scored)}


def next_answer(served: Served, context: str, k: int, *, by_column: bool, start: bool) -> dict[str, Any]:
    """The answer; each column's own words only when asked for."""
    model = served.model
    before = model.vocabulary.encode(context)
    words = [asdict(prediction) for prediction in model.next_words(context, k, start=start)]
    answer: dict[str, Any] = {"model": served.name, "words": [written(model, before, word) for word in words]}
    if by_column:
        columns_JK, weights_K = model.columns_after(model.window(context, start=start))
        answer["columns"] = {
            name: {
                "weight": weight,
                "words": [
                    written(model, before, {"word": model.vocabulary.word(word), "probability": float(probs_J[word])})
                    for word in most_probable(probs_J, k).tolist()
                    if probs_J[word] > 0
                ],
            }
            for name, weight, probs_J in zip(model.column_names, weights_K.tolist(), columns_JK.T, strict=True)
        }
        mixed_J = columns_JK @ weights_K
        best = [most_probable(mixed_J, k), *(most_probable(probs_J, min(k, OF_COLUMN)) for probs_J in columns_JK.T)]
        answer["rows"] = [
            written(model, before, {"word": model.vocabulary.word(word), "columns": columns_JK[word].tolist()})
            for word in sorted(np.unique(np.concatenate(best)).tolist(), key=lambda word: -mixed_J[word])
        ]
    return answer


def written(model: LanguageModel, before: Ids, record: dict[str, Any]) -> dict[str, Any]:
    """The record of a word; with what it adds to the text, if it is a token."""
    if isinstance(model.vocabulary, TokenVocabulary):
        record["text"] = model.vocabulary.continuation(before, model.vocabulary.id(record["word"]))
    return record
