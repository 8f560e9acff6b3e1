"""`/rescore`: lists of hypotheses in the order of a first score plus a weighted language model score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from modlm.arrays import Floats


def rescore_answer(
    name: str,
    lists: Sequence[Sequence[tuple[str, float]]],
    log_probs: Floats,
    *,
    lm_weight: float,
    word_penalty: float,
) -> dict[str, Any]:
    """The answer; `log_probs` are those of all hypotheses, list by list.

    A hypothesis has score + lm_weight * log_prob - word_penalty * words; ties keep their order.
    """
    records, at = [], 0
    for hyps in lists:
        own = log_probs[at : at + len(hyps)].tolist()
        at += len(hyps)
        scored = [
            {
                "log_prob": lm if lm > -math.inf else None,
                "score": total_score(score, lm, len(text.split()), lm_weight=lm_weight, word_penalty=word_penalty),
            }
            for (text, score), lm in zip(hyps, own, strict=True)
        ]
        key = np.array([-math.inf if entry["score"] is None else entry["score"] for entry in scored])
        order = np.argsort(-key, kind="stable").tolist()
        records.append({"best": order[0], "text": hyps[order[0]][0], "order": order, "hyps": scored})
    return {"model": name, "lists": records}


def total_score(score: float, lm: float, words: int, *, lm_weight: float, word_penalty: float) -> float | None:
    """The score that hypotheses are ordered by; nothing where it is no number."""
    total = score + (lm_weight * lm if lm_weight else 0.0) - word_penalty * words
    return total if math.isfinite(total) else None
