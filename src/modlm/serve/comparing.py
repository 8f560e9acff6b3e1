"""`/compare`: the same text under several models, word by word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from modlm.serve.library import Served
from modlm.serve.refusals import bad
from modlm.serve.scoring import ScoredSentences, totals
from modlm.text.vocabulary import END_NAME

MOST = 10  # words listed that gained or lost


def check_units(models: Sequence[Served]) -> None:
    """Only models that split a text at the same places can be compared word by word."""
    first, *others = (served.model.vocabulary for served in models)
    for served, vocabulary in zip(models[1:], others, strict=True):
        if not first.splits_like(vocabulary):
            raise bad(
                "different_units",
                f"{models[0].name} reads {first.units} and {served.name} {vocabulary.units} of its own, so they cannot "
                f"be compared word by word. Compare their perplexity per word: modlm eval.",
            )


def compare_answer(
    models: Sequence[Served], sentences: Sequence[str], scored: Sequence[ScoredSentences]
) -> dict[str, Any]:
    """The answer, from the scores of each model."""
    words = [[*models[0].model.vocabulary.split(sentence), END_NAME] for sentence in sentences]
    records = [_sentence(number, names, scored) for number, names in enumerate(words)]
    gained, lost = changes([word for names in words for word in names], scored) if len(scored) > 1 else ([], [])
    return {
        "models": [{"model": served.name, **totals(own)} for served, own in zip(models, scored, strict=True)],
        "sentences": records,
        "gained": gained,
        "lost": lost,
    }


def _sentence(number: int, names: Sequence[str], scored: Sequence[ScoredSentences]) -> dict[str, Any]:
    parts = [own.part(number, number + 1) for own in scored]
    logs, known = zip(*(part.words(0) for part in parts), strict=True)
    rows = zip(names, zip(*logs, strict=True), zip(*known, strict=True), strict=True)
    return {
        "words": [{"word": word, "log_probs": values, "known": flags} for word, values, flags in rows],
        "models": [{name: totals(part)[name] for name in ("log_prob", "perplexity", "unknown")} for part in parts],
    }


def changes(words: Sequence[str], scored: Sequence[ScoredSentences]) -> tuple[list[Any], list[Any]]:
    """Words that gained and lost most under the second model against the first, in bits over the whole text.

    Where a model gives a word no probability the difference is no number, and does not count.
    """
    first, second = scored[:2]
    predicted = np.ones(len(first.ids), dtype=bool)
    predicted[first.starts[:-1]] = False
    with np.errstate(invalid="ignore"):
        gains = (second.log_probs - first.log_probs)[predicted] / math.log(2)
    gains[~np.isfinite(gains)] = 0.0
    names, word_of = np.unique(np.array(words, dtype=object), return_inverse=True)
    bits, times = np.bincount(word_of, weights=gains), np.bincount(word_of)
    order = np.argsort(-bits, kind="stable")

    def listed(places: np.ndarray) -> list[dict[str, Any]]:
        return [{"word": names[w], "occurrences": int(times[w]), "bits": float(bits[w])} for w in places.tolist()]

    best, worst = order[:MOST], order[::-1][:MOST]
    return listed(best[bits[best] > 0]), listed(worst[bits[worst] < 0])
