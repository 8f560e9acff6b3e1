"""N-best lists scored by a model, weights tuned on some of them, and the errors before, after, and at best."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

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
from modlm.evaluation.rescoring import (
    FEATURES,
    IMPOSSIBLE,
    LM,
    RANK,
    Lists,
    Weights,
    best_of,
    lists_of,
    log_probs_of,
    tune,
)  # fmt: skip
from modlm.formats.lines import quoted
from modlm.formats.nbest import NBest, log_scores
from modlm.formats.references import references_of
from modlm.ground.arrays import Bools, Floats, Ints
from modlm.model.language_model import LanguageModel
from modlm.text.corpus import Corpus

SYSTEMS = ("first pass", "best score", "rescored", "oracle")
FIRST, SCORED, RESCORED, ORACLE = range(len(SYSTEMS))
DEVELOPMENT, TEST = "development", "test"
UNSORTED = 0.01  # the share of lists that may be out of order by rounding or accident
NUMBERED = r"(.+)[-_#/:.][0-9]+"
"""An utterance called after its session, with its number behind."""


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


@dataclass(frozen=True, slots=True)
class Change:
    """Rescored minus first pass, as a difference of rates, and the probability that rescoring is better."""

    difference: float
    low: float
    high: float
    better: float

    def as_dict(self) -> dict[str, Any]:
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
        rates = {
            UNITS[unit].lower(): {
                **{system.replace(" ", "_"): rate.as_dict() for system, rate in own.items()},
                "change": self.changes[unit].as_dict(),
            }
            for unit, own in self.rates.items()
        }
        return {"utterances": self.utterances, "sessions": self.sessions, "changed": self.changed, **rates}


def measured(prepared: Prepared, part_U: Bools, weights: Weights, *, rng: np.random.Generator, draws: int) -> Measured:
    chosen_UM = choices(prepared.lists, weights.array(), prepared.errors["words"].distances)
    return measure(chosen_UM, prepared.errors, prepared.sessions_U, part_U, rng=rng, draws=draws)


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
    if unit not in UNITS:
        raise ConfigError(f"Weights are tuned to errors in {' or '.join(UNITS)}, but {unit!r} was asked for.")
    own = development if isinstance(development, Prepared) else lists
    first_H, begins = lists.lists.first_H, lists.lists.starts[:-1]
    unsorted = (first_H[begins] < np.maximum.reduceat(first_H, begins)).mean() > UNSORTED
    ranked = unsorted if use_rank is None else use_rank
    names = [name for name in FEATURES if name not in (given or {}) and (ranked or name != FEATURES[RANK])]
    if not own.errors or (given and not tune_others):
        names = []
    weights, rng = replace(Weights(), **(given or {})), np.random.default_rng(seed)
    parts = {TEST: (lists, np.ones(len(lists.lists), dtype=bool))}
    if names:
        part_U = np.ones(len(own.lists), dtype=bool)
        if not isinstance(development, Prepared):
            part_U = development_part(lists.sessions_U, development, rng=np.random.default_rng(seed))
            parts[TEST] = lists, ~part_U
        some, places = own.lists.part(part_U)
        distances = own.errors[unit].distances[places]
        weights, _ = tune(some, distances, weights, names, rng=np.random.default_rng(seed))
        parts = {DEVELOPMENT: (own, part_U), **parts}
    measures = {name: measured(*part, weights, rng=rng, draws=draws) for name, part in parts.items() if part[0].errors}
    return Rescored(weights, names, measures)


# ---- a development part and a test part, cut between sessions, so that no dialogue or speaker is in both -------------


def sessions_of(utterances: Sequence[str], pattern: str | None = None) -> Ints:
    """The session (by number) of each utterance: what a regular expression finds at the beginning of its name.

    The first group of the expression is the session's name, or all of it where it has no group; an utterance that does
    not match is a session of its own. Without a pattern it is the name without its last number (`dialogue-7#12`,
    `speaker_004`), unless that makes all utterances one session.
    """
    try:
        compiled = re.compile(pattern if pattern is not None else f"{NUMBERED}$")
    except re.error as error:
        raise ConfigError(f"The session pattern {pattern!r} is not a regular expression: {error}.") from None
    names = [_name(compiled, utterance) for utterance in utterances]
    if pattern is None and len(set(names)) == 1:
        names = [(utterance, "") for utterance in utterances]
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return np.array([places[name] for name in names], dtype=np.int64)


def _name(pattern: re.Pattern[str], utterance: str) -> tuple[str, str]:
    found = pattern.match(utterance)
    if found is None:
        return utterance, "alone"
    return (found[1] if pattern.groups and found[1] is not None else found[0]), "session"


def development_part(sessions_U: Ints, share: float, *, rng: np.random.Generator) -> Bools:
    """Which utterances are for development: whole sessions, drawn until they hold the share or pass it."""
    if not 0 < share < 1:
        raise ConfigError(f"The share for development must be between 0 and 1, but is {share}.")
    counts = np.bincount(sessions_U)
    if len(counts) < 2:
        raise ConfigError(
            "All utterances are one session, which cannot be cut in two. Give another pattern for sessions, "
            "more utterances, or the weights."
        )
    order = rng.permutation(len(counts))
    wanted = int(np.searchsorted(np.cumsum(counts[order]), share * len(sessions_U))) + 1
    chosen = np.zeros(len(counts), dtype=bool)
    chosen[order[: min(wanted, len(counts) - 1)]] = True
    part: Bools = chosen[sessions_U]
    return part
