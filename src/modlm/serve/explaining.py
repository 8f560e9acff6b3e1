"""`/explain`: for every word of a text the columns, their weights, and what each gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from modlm.model.language_model import normalised
from modlm.serve.library import Served
from modlm.serve.scoring import finite, perplexity_of
from modlm.text.vocabulary import END_NAME, UNKNOWN


def explain_answer(served: Served, sentences: Sequence[str], check: Callable[[], None]) -> dict[str, Any]:
    """The answer; `check` is called between sentences and may raise to give up."""
    model = served.model
    records, total, known_total, predictions, unknown, impossible = [], 0.0, 0.0, 0, 0, 0
    for sentence in sentences:
        check()
        words = model.vocabulary.split(sentence)
        ids = model.sentence_ids(sentence)
        _, probs_TK, weights_TK = model.shares_along(ids)
        parts_TK = probs_TK * weights_TK
        probs_T = parts_TK.sum(axis=1)
        unknown_T = ids[1:] == UNKNOWN
        with np.errstate(divide="ignore"):
            logs_T = np.log(probs_T)
        log_prob = float(logs_T.sum())
        rows = zip(
            [*words, END_NAME], unknown_T.tolist(), probs_T.tolist(), probs_TK.tolist(), weights_TK.tolist(),
            normalised(parts_TK).tolist(), strict=True,
        )  # fmt: skip
        records.append(
            {
                "words": [
                    {
                        "word": word, "known": not missing, "probability": probability, "columns": columns,
                        "weights": weights, "shares": shares,
                    }
                    for word, missing, probability, columns, weights, shares in rows
                ],
                "log_prob": finite(log_prob),
                "perplexity": perplexity_of(log_prob, len(logs_T)),
                "unknown": int(unknown_T.sum()),
            }
        )  # fmt: skip
        total, predictions = total + log_prob, predictions + len(logs_T)
        known_total, unknown = known_total + float(logs_T[~unknown_T].sum()), unknown + int(unknown_T.sum())
        impossible += int(np.count_nonzero(probs_T == 0))
    return {
        "model": served.name,
        "columns": list(model.column_names),
        "sentences": records,
        "log_prob": finite(total),
        "perplexity": perplexity_of(total, predictions),
        "perplexity_without_unknown": perplexity_of(known_total, predictions - unknown),
        "predictions": predictions,
        "unknown": unknown,
        "impossible": impossible,
    }
