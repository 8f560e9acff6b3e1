"""N-best lists scored by a model, and the errors of the first pass, the new order and the best possible choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from modlm.arrays import Bools, Floats, Ints
from modlm.errors import ConfigError, InputError
from modlm.evaluation.error_rate import (
    DRAWS,
    UNITS,
    Errors,
    Rate,
    count_errors,
    drawn_errors,
    interval,
    probability_better,
)  # fmt: skip
from modlm.evaluation.parts import sessions_of
from modlm.evaluation.rescoring import IMPOSSIBLE, LM, Lists, Weights, best_of, lists_of, log_probs_of, tune
from modlm.formats.lines import quoted
from modlm.formats.nbest import NBest, log_scores
from modlm.formats.references import references_of
from modlm.model.language_model import LanguageModel
from modlm.text.corpus import Corpus

SYSTEMS = ("first pass", "best score", "rescored", "oracle")
FIRST, SCORED, RESCORED, ORACLE = range(len(SYSTEMS))


@dataclass(frozen=True, eq=False, slots=True)
class Prepared:
    """Lists of a file with all that tuning and measuring need; `errors` by unit, none without references."""

    nbest: NBest
    lists: Lists
    errors: dict[str, Errors]
    sessions_U: Ints
    scores: str
    """What the first-pass scores were taken for."""
    floor: float
    """What stood in for a probability of 0; 0 if none did."""
    unknown: float
    """The share of words, over all hypotheses, that the model does not know."""

    @property
    def impossible(self) -> int:
        """Hypotheses to which the model gives probability 0."""
        return int(np.count_nonzero(self.lists.features_HF[:, LM] <= IMPOSSIBLE))


def prepare(
    model: LanguageModel,
    nbest: NBest,
    *,
    references: Path | None = None,
    scores: str = "auto",
    session: str | None = None,
) -> Prepared:
    """Score all hypotheses in one batch, and count the errors of each in words and characters."""
    texts = references_of(nbest, references)
    first_H, kind, floor = log_scores(nbest.scores, scores)
    sessions_U = sessions_of(nbest.utterances, session)
    lists = lists_of(nbest.hypotheses, nbest.starts, first_H, log_probs_of(model, nbest.hypotheses))
    errors = {unit: count_errors(nbest.hypotheses, texts, nbest.list_of, unit=unit) for unit in UNITS} if texts else {}
    corpus = Corpus.from_text(list(nbest.hypotheses), model.vocabulary)
    return Prepared(nbest, lists, errors, sessions_U, kind, floor, corpus.unknown / max(1, corpus.words))


def refuse_shared(one: NBest, other: NBest) -> None:
    """No utterance may be both tuned to and measured on."""
    shared = sorted(set(one.utterances) & set(other.utterances))
    if shared:
        raise InputError(
            f"utterance {quoted(shared[0])} is in {one.path} too. The lists to tune on and those to measure must not "
            f"share utterances.",
            path=other.path,
        )


def tuned(
    prepared: Prepared,
    part_U: Bools,
    weights: Weights,
    free: list[str],
    *,
    unit: str = "words",
    rng: np.random.Generator,
) -> Weights:
    """Weights with few errors on a part."""
    if unit not in UNITS:
        raise ConfigError(f"Weights are tuned to errors in {' or '.join(UNITS)}, but {unit!r} was asked for.")
    if not prepared.errors:
        raise InputError("there are no references to tune to. Give them with --tune.", path=prepared.nbest.path)
    lists, places = prepared.lists.part(part_U)
    found, _ = tune(lists, prepared.errors[unit].distances[places], weights, free, rng=rng)
    return found


def measured(prepared: Prepared, part_U: Bools, weights: Weights, *, rng: np.random.Generator, draws: int) -> Measured:
    """Error rates on a part."""
    chosen_UM = choices(prepared.lists, weights.array(), prepared.errors["words"].distances)
    return measure(chosen_UM, prepared.errors, prepared.sessions_U, part_U, rng=rng, draws=draws)


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
    chosen_UM: Ints, errors: dict[str, Errors], sessions_U: Ints, part_U: Bools, *, rng: np.random.Generator,
    draws: int = DRAWS,
) -> Measured:  # fmt: skip
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
        both_GM = np.zeros((len(names), len(SYSTEMS) + 1), dtype=np.int64)
        np.add.at(both_GM, group_U, np.column_stack((errors_UM, lengths_U)))
        same = np.random.default_rng(seed)  # the same draws for each unit
        drawn_DM = drawn_errors(both_GM[:, :-1], both_GM[:, -1], rng=same, draws=draws)
        rates[unit] = {
            system: Rate(int(errors_UM[:, m].sum()), int(lengths_U.sum()), *interval(drawn_DM[:, m]))
            for m, system in enumerate(SYSTEMS)
        }
        before, after = drawn_DM[:, FIRST], drawn_DM[:, RESCORED]
        gap = rates[unit][SYSTEMS[RESCORED]].rate - rates[unit][SYSTEMS[FIRST]].rate
        changes[unit] = Change(gap, *interval(after - before), probability_better(after, before))
    changed = int(np.count_nonzero(chosen_UM[:, RESCORED] != chosen_UM[:, FIRST]))
    return Measured(len(chosen_UM), len(names), rates, changes, changed)


def systems_that_differ(measured: Sequence[Measured]) -> list[str]:
    """SYSTEMS without the best score where that is always the first hypothesis, as in sorted lists."""
    same = all(
        own[SYSTEMS[SCORED]].errors == own[SYSTEMS[FIRST]].errors for part in measured for own in part.rates.values()
    )
    return [system for system in SYSTEMS if not (same and system == SYSTEMS[SCORED])]
