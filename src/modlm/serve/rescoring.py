"""`/rescore`: lists of hypotheses in the order in which `modlm rescore` puts them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from modlm.evaluation.rescoring import IMPOSSIBLE, WORDS, Weights, lists_of
from modlm.model.scored_text import ScoredText


def rescore_answer(
    name: str, lists: Sequence[Sequence[tuple[str, float]]], scored: ScoredText, weights: Weights
) -> dict[str, Any]:
    """The answer, from the scores of all hypotheses, list by list; equal totals keep their order."""
    hyps = [hyp for own in lists for hyp in own]
    starts, log_probs_H = np.cumsum([0, *map(len, lists)]), scored.sentence_sums()
    given = lists_of(
        [text for text, _ in hyps], starts,
        np.array([score for _, score in hyps]), np.maximum(log_probs_H, IMPOSSIBLE),
    )  # fmt: skip
    with np.errstate(over="ignore", invalid="ignore"):  # scores and weights are of any size
        totals_H = given.totals(weights.array())
    log_probs, totals = log_probs_H.tolist(), totals_H.tolist()
    words_H = given.features_HF[:, WORDS].astype(int).tolist()
    records = []
    for own, begin, end in zip(lists, starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        order = np.argsort(-totals_H[begin:end], kind="stable").tolist()
        entries = [{"log_prob": log_probs[at], "score": totals[at], "words": words_H[at]} for at in range(begin, end)]
        records.append({"best": order[0], "text": own[order[0]][0], "order": order, "hyps": entries})
    return {"model": name, "lists": records}
