"""`/next`: the most probable next words of the mixture, and of each of its columns."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from modlm.arrays import AnyFloats, Ids
from modlm.model.language_model import LanguageModel
from modlm.serve.library import Served
from modlm.text.tokens import TokenVocabulary


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
                "words": [written(model, before, word) for word in top_words(model, columns_JK[:, column], k)],
            }
            for column, (name, weight) in enumerate(zip(model.column_names, weights_K.tolist(), strict=True))
        }
    return answer


def written(model: LanguageModel, before: Ids, record: dict[str, Any]) -> dict[str, Any]:
    """The record of a word; with what it adds to the text, if it is a token."""
    if isinstance(model.vocabulary, TokenVocabulary):
        record["text"] = model.vocabulary.continuation(before, model.vocabulary.id(record["word"]))
    return record


def top_words(model: LanguageModel, row_J: AnyFloats, k: int) -> list[dict[str, Any]]:
    """The most probable words of one column, ties by id; without those that it gives no probability."""
    return [
        {"word": model.vocabulary.word(word), "probability": float(row_J[word])}
        for word in best(row_J, k).tolist()
        if row_J[word] > 0
    ]


def best(row_J: AnyFloats, k: int) -> Ids:
    """The ids of the k largest, largest first."""
    k = min(k, len(row_J))
    among = np.argpartition(-row_J, k - 1)[:k] if k < len(row_J) else np.arange(len(row_J))
    found: Ids = among[np.lexsort((among, -row_J[among]))].astype(np.uint32)
    return found
