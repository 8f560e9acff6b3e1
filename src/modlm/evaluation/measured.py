"""What rescoring changed: error rates of the first pass, of the new order and of the best possible choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modlm.arrays import Bools, Floats, Ints
from modlm.errors import InputError
from modlm.evaluation.error_rate import DRAWS, UNITS, Errors, Rate, drawn_errors, interval, probability_better
from modlm.evaluation.rescoring import Lists, best_of

SYSTEMS = ("first pass", "best score", "rescored", "oracle")
FIRST, SCORED, RESCORED, ORACLE = range(len(SYSTEMS))


@dataclass(frozen=True, slots=True)
class Change:
    """Rescored minus first pass, as a difference of rates, and the probability that rescoring is better."""

    difference: float
    low: float
    high: float
    better: float

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        interval = [self.low, self.high]
        return {"difference": self.difference, "interval": interval, "probability_better": self.better}


@dataclass(frozen=True, slots=True)
class Measured:
    """Rates of all systems in each unit, on some utterances."""

    utterances: int
    sessions: int
    rates: dict[str, dict[str, Rate]]
    """By unit, then by system."""
    changes: dict[str, Change]
    """By unit."""
    changed: int
    """Utterances whose best hypothesis is not the first one any more."""

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        rates = {
            UNITS[unit].lower(): {
                **{system.replace(" ", "_"): rate.as_dict() for system, rate in own.items()},
                "change": self.changes[unit].as_dict(),
            }
            for unit, own in self.rates.items()
        }
        return {"utterances": self.utterances, "sessions": self.sessions, "changed": self.changed, **rates}


def choices(lists: Lists, weights_F: Floats, distances_H: Ints) -> Ints:
    """(U, M): the hypothesis that each of SYSTEMS takes; the oracle has the fewest word errors."""
    return np.stack(
        (
            lists.starts[:-1],
            best_of(lists.starts, lists.first_H),
            lists.best(weights_F),
            best_of(lists.starts, -distances_H.astype(np.float64)),
        ),
        axis=1,
    )


def measure(
    chosen_UM: Ints,
    errors: dict[str, Errors],
    sessions_U: Ints,
    part_U: Bools,
    *,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> Measured:
    """Rates on the utterances of a part; sessions are drawn again for the intervals."""
    chosen_UM, own_U = chosen_UM[part_U], sessions_U[part_U]
    names, group_U = np.unique(own_U, return_inverse=True)
    seed = int(rng.integers(2**63))
    rates: dict[str, dict[str, Rate]] = {}
    changes: dict[str, Change] = {}
    for unit, counted in errors.items():
        lengths_U, errors_UM = counted.lengths[part_U], counted.distances[chosen_UM]
        if lengths_U.sum() == 0:
            raise InputError("The references have no words, so there is no error rate. Give references with words.")
        drawn_DM = drawn_errors(
            _summed(errors_UM, group_U, len(names)),
            _summed(lengths_U[:, None], group_U, len(names))[:, 0],
            rng=np.random.default_rng(seed),  # the same draws for each unit
            draws=draws,
        )
        rates[unit] = {
            system: Rate(int(errors_UM[:, m].sum()), int(lengths_U.sum()), *interval(drawn_DM[:, m]))
            for m, system in enumerate(SYSTEMS)
        }
        before, after = drawn_DM[:, FIRST], drawn_DM[:, RESCORED]
        gap = rates[unit][SYSTEMS[RESCORED]].rate - rates[unit][SYSTEMS[FIRST]].rate
        changes[unit] = Change(gap, *interval(after - before), probability_better(after, before))
    changed = int(np.count_nonzero(chosen_UM[:, RESCORED] != chosen_UM[:, FIRST]))
    return Measured(len(chosen_UM), len(names), rates, changes, changed)


def _summed(values_UM: Ints, group_U: Ints, groups: int) -> Ints:
    out_GM = np.zeros((groups, values_UM.shape[1]), dtype=np.int64)
    np.add.at(out_GM, group_U, values_UM)
    return out_GM


def systems_that_differ(measured: Sequence[Measured]) -> list[str]:
    """SYSTEMS without the best score where that is always the first hypothesis, as in sorted lists."""
    same = all(
        own[SYSTEMS[SCORED]].errors == own[SYSTEMS[FIRST]].errors for part in measured for own in part.rates.values()
    )
    return [system for system in SYSTEMS if not (same and system == SYSTEMS[SCORED])]
