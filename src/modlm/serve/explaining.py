"""`/explain`: for every word of a text the columns, their weights, and what each gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from modlm.model.language_model import normalised
from modlm.model.scored_text import ScoredText
from modlm.serve.library import Served
from modlm.serve.scoring import totals
from modlm.text.vocabulary import END_NAME, UNKNOWN

FIELDS = ("word", "known", "probability", "columns", "weights", "shares")


def explain_answer(served: Served, sentences: Sequence[str], check: Callable[[], None]) -> dict[str, Any]:
    """The answer; `check` is called between sentences and may raise to give up."""
    model = served.model
    records, scored = list[dict[str, Any]](), list[ScoredText]()
    for sentence in sentences:
        check()
        ids = model.sentence_ids(sentence)
        _, probs_TK, weights_TK = model.shares_along(ids)
        parts_TK = probs_TK * weights_TK
        probs_T = parts_TK.sum(axis=1)
        with np.errstate(divide="ignore"):
            own = ScoredText.of(ids[1:], np.log(probs_T))
        rows = zip(
            [*model.vocabulary.split(sentence), END_NAME], (own.ids != UNKNOWN).tolist(), probs_T.tolist(),
            probs_TK.tolist(), weights_TK.tolist(), normalised(parts_TK).tolist(), strict=True,
        )  # fmt: skip
        records.append(
            {
                "words": [dict(zip(FIELDS, row, strict=True)) for row in rows],
                "log_prob": own.log_likelihood,
                "perplexity": own.perplexity,
                "unknown": own.unknown,
            }
        )
        scored.append(own)
    return {"model": served.name, "columns": list(model.column_names), "sentences": records, **totals(scored)}
