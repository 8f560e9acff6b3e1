"""What `modlm rescore` tunes, on which part, and what it reports."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from modlm.cli.printing import percent, print_json, print_table
from modlm.errors import ConfigError
from modlm.evaluation.error_rate import UNITS
from modlm.evaluation.parts import development_part
from modlm.evaluation.rescored_lists import Measured, Prepared, measured, systems_that_differ, tuned
from modlm.evaluation.rescoring import FEATURES, Weights

if TYPE_CHECKING:
    from modlm.arrays import Bools

DEVELOPMENT, TEST = "development", "test"
UNSORTED = 0.01  # the share of lists that may be out of order by rounding or accident


@dataclass(slots=True)
class Parts:
    """The lists, cut into what is tuned on and what is measured; `held` are lists of their own to tune on."""

    main: Prepared
    held: Prepared | None
    share: float | None
    seed: int
    tuning: bool
    chosen_U: Bools = field(init=False)
    """The development part of `main`."""

    def __post_init__(self) -> None:
        none = np.zeros(len(self.main.lists), dtype=bool)
        cut = self.tuning and self.held is None
        self.chosen_U = (
            development_part(self.main.sessions_U, self.share or 0.0, rng=np.random.default_rng(self.seed))
            if cut
            else none
        )

    def development(self) -> tuple[Prepared, Bools]:
        """What is tuned on."""
        if self.held is not None:
            return self.held, np.ones(len(self.held.lists), dtype=bool)
        return self.main, self.chosen_U

    def all(self) -> dict[str, tuple[Prepared, Bools]]:
        """The parts to measure."""
        own = {DEVELOPMENT: self.development()} if self.tuning else {}
        return {**own, TEST: (self.main, ~self.chosen_U)}


def ranked(prepared: Prepared, asked: bool | None) -> bool:
    """Whether places are a feature: as asked, or where more than a few lists do not begin with their best score."""
    if asked is not None:
        return asked
    lists = prepared.lists
    first_U = lists.first_H[lists.starts[:-1]]
    return bool((first_U < np.maximum.reduceat(lists.first_H, lists.starts[:-1])).mean() > UNSORTED)


def weights_given(
    lm: float | None, words: float | None, rank: float | None, *, use_rank: bool, tuning: bool, asked: bool
) -> tuple[Weights, list[str]]:
    """The weights before tuning, and the names of those to tune: the ones not given, if there are references.

    If some are given and tuning was not asked for, none is tuned.
    """
    given = {name: value for name, value in zip(FEATURES, (lm, words, rank), strict=True) if value is not None}
    for name, value in given.items():
        if not math.isfinite(value):
            raise ConfigError(f"--{name.replace('_', '-')} must be a finite number, but is {value}.")
    free = [name for name in FEATURES if name not in given and (name != FEATURES[2] or use_rank)]
    if not tuning or (given and not asked):
        free = []
    return replace(Weights(), **given), free


def tuned_weights(parts: Parts, weights: Weights, free: list[str], *, unit: str) -> Weights:
    """The weights after tuning."""
    if not free:
        return weights
    prepared, part_U = parts.development()
    return tuned(prepared, part_U, weights, free, unit=unit, rng=np.random.default_rng(parts.seed))


def as_report(parts: Parts, weights: Weights, free: list[str], *, unit: str, draws: int) -> dict[str, Any]:
    """All numbers; `development` and `test` hold a `Measured` each."""
    main = parts.main
    report: dict[str, Any] = {
        "utterances": len(main.lists),
        "sessions": int(main.sessions_U.max()) + 1,
        "hypotheses": len(main.nbest.hypotheses),
        "format": main.nbest.format,
        "scores": main.scores,
        "floor": main.floor or None,
        "unknown": main.unknown,
        "impossible": main.impossible,
        "weights": asdict(weights),
        "tuned": free,
        "unit": unit,
        "seed": parts.seed,
    }
    rng = np.random.default_rng(parts.seed)
    for name, (prepared, part_U) in parts.all().items():
        if prepared.errors:
            report[name] = measured(prepared, part_U, weights, rng=rng, draws=draws)
    return report


def print_report(report: dict[str, Any], main: Prepared, weights: Weights, *, json: bool) -> None:
    """For people or programs; without references, the best hypotheses if they were not written."""
    from modlm.formats.nbest_writer import best_lines

    best_U = main.lists.best(weights.array())
    silent = TEST not in report and not report["output"]
    if json:
        own = {key: value.as_dict() if isinstance(value, Measured) else value for key, value in report.items()}
        if silent:
            own["best"] = [
                {"utt": utterance, "hyp": main.nbest.hypotheses[place]}
                for utterance, place in zip(main.nbest.utterances, best_U.tolist(), strict=True)
            ]
        print_json(own)
        return
    if silent:
        for line in best_lines(main.nbest, best_U):
            print(line)
        return
    _print_lists(report, main)
    _print_measured(report)
    for path in report["output"]:
        print(f"wrote {path}")


def _print_lists(report: dict[str, Any], main: Prepared) -> None:
    kinds = {"log": "logarithms", "probability": "probabilities", "cost": "costs", "none": "not looked at"}
    floor = f", 0 taken as {report['floor']:.3g}" if report["floor"] else ""
    print(
        f"{main.nbest.path}: {report['utterances']:,} utterances of {report['sessions']:,} sessions, "
        f"{report['hypotheses']:,} hypotheses; scores are {kinds[report['scores']]}{floor}"
    )
    print(f"words that the model does not know: {percent(report['unknown'])}")
    if report["impossible"]:
        print(f"hypotheses to which the model gives probability 0: {report['impossible']:,}")
    shown = ", ".join(f"{name.replace('_', '-')} {value:.4g}" for name, value in report["weights"].items() if value)
    how = ""
    if report["tuned"]:
        part: Measured = report[DEVELOPMENT]
        how = f" (tuned on {part.utterances:,} utterances of {part.sessions:,} sessions to {UNITS[report['unit']]})"
    print(f"weights: {shown or 'none'}{how}")


def _print_measured(report: dict[str, Any]) -> None:
    found = {name: report[name] for name in (DEVELOPMENT, TEST) if name in report}
    systems = systems_that_differ(list(found.values()))
    for name, part in found.items():
        title = name if len(found) > 1 else "errors"
        print(f"\n{title}: {part.utterances:,} utterances of {part.sessions:,} sessions, {part.changed:,} changed")
        rows = []
        for system in systems:
            cells = [system]
            for unit in UNITS:
                rate = part.rates[unit][system]
                cells += [f"{100 * rate.rate:.2f}", _interval(rate.low, rate.high)]
            rows.append(cells)
        print_table(["", *(cell for unit in UNITS.values() for cell in (f"{unit} %", "95% interval"))], rows)
        for unit, label in UNITS.items():
            change = part.changes[unit]
            drawn = f" ({_interval(change.low, change.high, '+')}), better with probability {change.better:.3f}"
            print(f"{label} {100 * change.difference:+.2f}{drawn if change.better == change.better else ''}")


def _interval(low: float, high: float, sign: str = "") -> str:
    return f"{100 * low:{sign}.2f} – {100 * high:{sign}.2f}" if low == low else "–"
