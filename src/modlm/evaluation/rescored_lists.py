"""N-best lists ready for rescoring: scored by a model, with references, errors and sessions as far as there are any."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from modlm.arrays import Bools, Ints
from modlm.errors import ConfigError, InputError
from modlm.evaluation.error_rate import UNITS, Errors, count_errors
from modlm.evaluation.measured import Measured, choices, measure
from modlm.evaluation.parts import sessions_of
from modlm.evaluation.rescoring import IMPOSSIBLE, LM, Lists, Weights, lists_of, log_probs_of, tune
from modlm.formats.nbest import NBest, log_scores, quoted
from modlm.formats.references import references_of
from modlm.model.language_model import LanguageModel
from modlm.text.corpus import Corpus


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
