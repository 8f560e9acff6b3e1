"""`/explain`: for every word of a text the columns, their weights, and what each gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from modlm.arrays import Floats, Ids
from modlm.model.language_model import normalised
from modlm.model.scored_text import ScoredText
from modlm.serve.library import Served
from modlm.serve.scoring import names_of, totals
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
        record |= {name: sums[name] for name in ("log_prob", "perplexity", "unknown")}
    return {"model": served.name, "columns": list(model.column_names), "sentences": records, **totals(scored)}
