"""The answers of `/explain` and `/next`: the columns of a model, their weights, and what each gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from modlm.arrays import Floats, Ids
from modlm.model.language_model import LanguageModel, most_probable, normalised
from modlm.model.scored_text import ScoredText, names_of
from modlm.serve.library import Served
from modlm.serve.scoring import SUMS, totals
from modlm.text.tokens import TokenVocabulary
from modlm.text.vocabulary import UNKNOWN


def explain_answer(served: Served, sentences: Sequence[str], check: Callable[[], None]) -> dict[str, Any]:
    """The answer; `check` is called between sentences and may raise to give up."""
    model = served.model
    records, ids, probs = list[dict[str, Any]](), list[Ids](), list[Floats]()
    for sentence in sentences:
        check()
        own = model.sentence_ids(sentence)
        _, probs_TK, weights_TK = model.shares_along(own)
        parts_TK = probs_TK * weights_TK
        ids.append(own[1:])
        probs.append(parts_TK.sum(axis=1))
        rows = zip(
            names_of(model.vocabulary, [sentence]), (ids[-1] != UNKNOWN).tolist(), probs[-1].tolist(),
            probs_TK.tolist(), weights_TK.tolist(), normalised(parts_TK).tolist(), strict=True,
        )  # fmt: skip
        words = [
            {"word": w, "known": known, "probability": p, "columns": columns, "weights": weights, "shares": shares}
            for w, known, p, columns, weights, shares in rows
        ]
        records.append({"words": words})
    with np.errstate(divide="ignore"):
        scored = ScoredText.of(np.concatenate(ids), np.log(np.concatenate(probs)))
    for record, sums in zip(records, scored.sentence_records(), strict=True):
        record |= {name: sums[name] for name in SUMS}
    return {"model": served.name, "columns": list(model.column_names), "sentences": records, **totals(scored)}


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
    return answer


def written(model: LanguageModel, before: Ids, record: dict[str, Any]) -> dict[str, Any]:
    """The record of a word; with what it adds to the text, if it is a token."""
    if isinstance(model.vocabulary, TokenVocabulary):
        record["text"] = model.vocabulary.continuation(before, model.vocabulary.id(record["word"]))
    return record
