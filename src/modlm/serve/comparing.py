"""`/compare`: the same text under several models, word by word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np

from modlm.evaluation.compare import word_changes
from modlm.model.scored_text import ScoredText
from modlm.serve.library import Served
from modlm.serve.refusals import bad
from modlm.serve.scoring import names_of, totals
from modlm.text.vocabulary import UNKNOWN

SUMS = ("log_prob", "perplexity", "unknown")  # of each sentence under each model


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


def compare_answer(models: Sequence[Served], sentences: Sequence[str], scored: Sequence[ScoredText]) -> dict[str, Any]:
    """The answer, from the scores of each model."""
    names = names_of(models[0].model.vocabulary, sentences)
    logs = zip(*(own.log_probs.tolist() for own in scored), strict=True)
    known = zip(*((own.ids != UNKNOWN).tolist() for own in scored), strict=True)
    words = [
        {"word": name, "log_probs": values, "known": flags}
        for name, values, flags in zip(names, logs, known, strict=True)
    ]
    sums = zip(*(own.sentence_records() for own in scored), strict=True)
    gained, lost = changes(names, *scored[:2]) if len(scored) > 1 else ([], [])
    return {
        "models": [{"model": served.name, **totals(own)} for served, own in zip(models, scored, strict=True)],
        "sentences": [
            {"words": words[begin:end], "models": [{name: one[name] for name in SUMS} for one in own]}
            for own, (begin, end) in zip(sums, pairwise(scored[0].bounds()), strict=True)
        ],
        "gained": gained,
        "lost": lost,
    }


def changes(names: Sequence[str], first: ScoredText, second: ScoredText) -> tuple[list[Any], list[Any]]:
    """Words that gained and lost most under the second model against the first, in bits over the whole text."""
    words, word_of = np.unique(np.array(names, dtype=object), return_inverse=True)
    gained, lost = word_changes(words.tolist(), word_of, first.log_probs, second.log_probs)
    return [asdict(change) for change in gained], [asdict(change) for change in lost]
