"""Rescoring as a whole: which weights are tuned, on which lists, and what they change there and on the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from modlm.evaluation.parts import development_part
from modlm.evaluation.rescored_lists import Measured, Prepared, measured, tuned
from modlm.evaluation.rescoring import FEATURES, RANK, Weights

DEVELOPMENT, TEST = "development", "test"
UNSORTED = 0.01  # the share of lists that may be out of order by rounding or accident


@dataclass(frozen=True, slots=True)
class Rescored:
    """The weights, and what they change."""

    weights: Weights
    tuned: list[str]
    """Names of the weights that were tuned."""
    measured: dict[str, Measured]
    """Error rates on what was tuned on (`development`), if anything was, and on the rest (`test`)."""


def rescore(
    lists: Prepared,
    development: Prepared | float = 0.5,
    *,
    given: Mapping[str, float] | None = None,
    tune_others: bool = False,
    use_rank: bool | None = None,
    unit: str = "words",
    draws: int = 1000,
    seed: int = 1,
) -> Rescored:
    """Weights with few errors on a development part, and error rates on the rest; `given` are weights by name.

    The development part is lists of its own, or this share of the sessions. Without references nothing is tuned or
    measured; if weights are given, others are tuned only if asked for with `tune_others`. The place in the list is a
    feature as `use_rank` says, or where more than a few lists do not begin with their best score.
    """
    own = development if isinstance(development, Prepared) else None
    ranked = is_unsorted(lists) if use_rank is None else use_rank
    names = [name for name in FEATURES if name not in (given or {}) and (ranked or name != FEATURES[RANK])]
    if not (own or lists).errors or (given and not tune_others):
        names = []
    weights = replace(Weights(), **(given or {}))
    chosen_U = np.zeros(len(lists.lists), dtype=bool)
    parts = {TEST: (lists, ~chosen_U)}
    if names:
        if not isinstance(development, Prepared):
            chosen_U = development_part(lists.sessions_U, development, rng=np.random.default_rng(seed))
        tuned_on = (lists, chosen_U) if own is None else (own, np.ones(len(own.lists), dtype=bool))
        weights = tuned(*tuned_on, weights, names, unit=unit, rng=np.random.default_rng(seed))
        parts = {DEVELOPMENT: tuned_on, TEST: (lists, ~chosen_U)}
    rng = np.random.default_rng(seed)
    found = {
        name: measured(part, part_U, weights, rng=rng, draws=draws)
        for name, (part, part_U) in parts.items()
        if part.errors
    }
    return Rescored(weights, names, found)


def is_unsorted(prepared: Prepared) -> bool:
    """Whether more than a few lists do not begin with their best first-pass score."""
    lists = prepared.lists
    first_U = lists.first_H[lists.starts[:-1]]
    return bool((first_U < np.maximum.reduceat(lists.first_H, lists.starts[:-1])).mean() > UNSORTED)
