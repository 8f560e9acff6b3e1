"""`/rescore`: lists of hypotheses in the order of a first score plus a weighted language model score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from modlm.serve.scoring import ScoredSentences, finite
from modlm.text.vocabulary import split_words


def rescore_answer(
    name: str,
    lists: Sequence[Sequence[tuple[str, float]]],
    scored: ScoredSentences,
    *,
    lm_weight: float,
    word_penalty: float,
) -> dict[str, Any]:
    """The answer, from the scores of all hypotheses, list by list.

    A hypothesis has score + lm_weight * log P + word_penalty * words; equal ones keep their order.
    """
    records, at = [], 0
    for hyps in lists:
        entries, sums = [], []
        for text, score in hyps:
            words = len(split_words(text))
            total = score + (lm_weight * scored.sums[at] if lm_weight else 0.0) + word_penalty * words
            sums.append(-math.inf if math.isnan(total) else total)
            entries.append(
                {"log_prob": finite(scored.sums[at]), "score": total if math.isfinite(total) else None, "words": words}
            )
            at += 1
        order = sorted(range(len(hyps)), key=lambda place: -sums[place])
        records.append({"best": order[0], "text": hyps[order[0]][0], "order": order, "hyps": entries})
    return {"model": name, "lists": records}
