"""`/compare`: the same text under several models, word by word."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from modlm.serve.library import Served
from modlm.serve.scoring import ScoredSentences, score_sentences, totals
from modlm.text.vocabulary import END_NAME, UNKNOWN, split_words

MOST = 10  # words listed that gained or lost


def compare_answer(models: Sequence[Served], sentences: Sequence[str], check: Callable[[], None]) -> dict[str, Any]:
    """The answer; `check` may raise to give up."""
    scored = []
    for served in models:
        check()
        scored.append(score_sentences(served.model, sentences))
    records = []
    for number, sentence in enumerate(sentences):
        parts = [own.part(number, number + 1) for own in scored]
        logs = [part.log_probs[1:].tolist() for part in parts]
        known = [(part.ids[1:] != UNKNOWN).tolist() for part in parts]
        names = [*split_words(sentence), END_NAME]
        records.append(
            {
                "words": [
                    {"word": word, "log_probs": [finite(v) for v in values], "known": list(flags)}
                    for word, values, flags in zip(
                        names, zip(*logs, strict=True), zip(*known, strict=True), strict=True
                    )
                ],
                "models": [_sums(part) for part in parts],
            }
        )
    gained, lost = changes(sentences, scored[0], scored[1]) if len(scored) > 1 else ([], [])
    return {
        "models": [{"model": served.name, **totals(own)} for served, own in zip(models, scored, strict=True)],
        "sentences": records,
        "gained": gained,
        "lost": lost,
    }


def _sums(part: ScoredSentences) -> dict[str, Any]:
    own = totals(part)
    return {"log_prob": own["log_prob"], "perplexity": own["perplexity"], "unknown": own["unknown"]}


def changes(sentences: Sequence[str], first: ScoredSentences, second: ScoredSentences) -> tuple[list[Any], list[Any]]:
    """Words that gained and lost most under the second model, in bits over the whole text."""
    words = [word for sentence in sentences for word in (*split_words(sentence), END_NAME)]
    begins = np.zeros(len(first.ids), dtype=bool)
    begins[first.starts[:-1]] = True
    with np.errstate(invalid="ignore"):
        gains = np.nan_to_num((second.log_probs - first.log_probs)[~begins]) / math.log(2)
    bits, times = dict[str, float](), dict[str, int]()
    for word, gain in zip(words, gains.tolist(), strict=True):
        bits[word], times[word] = bits.get(word, 0.0) + gain, times.get(word, 0) + 1
    order = sorted(bits, key=lambda word: -bits[word])
    listed = [{"word": word, "occurrences": times[word], "bits": bits[word]} for word in order]
    gained = [entry for entry in listed[:MOST] if entry["bits"] > 0]  # type: ignore[operator]
    return gained, [entry for entry in listed[::-1][:MOST] if entry["bits"] < 0]  # type: ignore[operator]


def finite(value: float) -> float | None:
    """Nothing for a logarithm of 0."""
    return value if value > -math.inf else None
