"""`/compare`: the same text under several models, word by word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from modlm.evaluation.compare import word_changes
from modlm.model.scored_text import ScoredText
from modlm.serve.library import Served
from modlm.serve.refusals import bad
from modlm.serve.scoring import totals
from modlm.text.vocabulary import END_NAME, UNKNOWN


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
    models: Sequence[Served], sentences: Sequence[str], scored: Sequence[Sequence[ScoredText]]
) -> dict[str, Any]:
    """The answer, from the sentences of the text under each model."""
    names = [[*models[0].model.vocabulary.split(sentence), END_NAME] for sentence in sentences]
    gained, lost = changes([word for own in names for word in own], *scored[:2]) if len(scored) > 1 else ([], [])
    return {
        "models": [{"model": served.name, **totals(own)} for served, own in zip(models, scored, strict=True)],
        "sentences": [_sentence(*row) for row in zip(names, *scored, strict=True)],
        "gained": gained,
        "lost": lost,
    }


def _sentence(names: Sequence[str], *scored: ScoredText) -> dict[str, Any]:
    logs = zip(*(own.log_probs.tolist() for own in scored), strict=True)
    known = zip(*((own.ids != UNKNOWN).tolist() for own in scored), strict=True)
    return {
        "words": [
            {"word": word, "log_probs": values, "known": flags}
            for word, values, flags in zip(names, logs, known, strict=True)
        ],
        "models": [
            {"log_prob": own.log_likelihood, "perplexity": own.perplexity, "unknown": own.unknown} for own in scored
        ],
    }


def changes(
    words: Sequence[str], first: Sequence[ScoredText], second: Sequence[ScoredText]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Words that gained and lost most under the second model against the first, in bits over the whole text."""
    names, word_of = np.unique(np.array(words, dtype=object), return_inverse=True)
    logs = [np.concatenate([sentence.log_probs for sentence in own]) for own in (first, second)]
    gained, lost = word_changes(names.tolist(), word_of, *logs)
    return [asdict(change) for change in gained], [asdict(change) for change in lost]
