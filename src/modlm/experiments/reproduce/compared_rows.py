"""The rows of a table or figure with both numbers, the paper's and ours, and whether they show what they must."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from modlm.errors import ConfigError
from modlm.experiments.reproduce.recipe import Claim, Recipe, Row
from modlm.experiments.reproduce.results import Results
from modlm.experiments.reproduce.runs import Found, Runs


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """A row with its numbers; None where there is none."""

    row: Row
    paper: float | None
    ours: float | None  # the mean over seeds, if the run was done from several
    stand_ins: dict[str, str]
    """What stood for which of the paper's corpora, by titles; ours and the paper's are not comparable if any did."""
    corpus: str  # the title of the corpus that was tested on
    digits: int
    sd: float | None = None  # the standard deviation over seeds, of a sample; None for one seed, and for a quotient
    seeds: int = 0  # how many results the mean is over
    shipped: float | None = None  # where ours was made here by a rerun: the number that came with the recipes
    found: tuple[Found, ...] = ()  # the results that ours comes from

    @property
    def difference(self) -> float | None:
        """Ours over the paper's, minus 1; None if they are not numbers of the same thing."""
        if self.paper is None or self.ours is None or self.stand_ins:
            return None
        return self.ours / self.paper - 1

    @property
    def data(self) -> str:
        if not self.stand_ins:
            return self.corpus
        told = ", ".join(f"{stand_in} for {title}" for title, stand_in in self.stand_ins.items())
        return told if self.corpus in self.stand_ins.values() else f"{self.corpus}; {told}"

    def as_dict(self) -> dict[str, Any]:
        """For `--json`; made here only if every result that ours comes from was, on the last of their days."""
        places, notes = [each.made for each in self.found], [each.result.made for each in self.found]
        return {
            "label": f"{self.row.label}, {self.corpus}",
            "row": self.row.row,
            "corpus": self.corpus,
            "paper": self.paper,
            "ours": self.ours,
            "sd": self.sd,
            "seeds": self.seeds,
            "shipped": self.shipped,
            "difference": self.difference,
            "stand_ins": self.stand_ins,
            "run": self.row.run,
            "measure": self.row.measure,
            "source": self.row.source,
            "made": max(places, default=None),  # "shipped" comes after "here"
            "date": max((str(note.get("date", "")) for note in notes), default="") or None,
            "machine": "; ".join(dict.fromkeys(str(note.get("machine", "")) for note in notes)) or None,
        }


def compared_rows(recipe: Recipe, runs: Runs) -> list[ComparedRow]:
    return [_compared(recipe, row, runs) for row in recipe.rows]


def _compared(recipe: Recipe, row: Row, runs: Runs) -> ComparedRow:
    below = [other for other in recipe.rows if (other.row, other.corpus) == (row.over, row.corpus)]
    taken, titles = runs.corpora.taken(row.run), {name: entry.title for name, entry in runs.recipes.corpora.items()}
    values = _measured(row, runs.results, runs)
    return ComparedRow(
        row=row,
        paper=_quotient([each.published for each in (row, *below)]),
        ours=_quotient([_mean(each, runs.results, runs) for each in (row, *below)]),
        stand_ins={titles[role]: entry.title for role, entry in taken.items() if entry.name != role},
        corpus=runs.corpora.used(row.corpus).title,
        digits=recipe.digits if row.digits < 0 else row.digits,
        sd=statistics.stdev(values) if len(values) > 1 and not below else None,
        seeds=len(values),
        shipped=_quotient([_mean(each, runs.beside, runs) for each in (row, *below)]) if runs.rerun else None,
        found=tuple(each for run in dict.fromkeys(one.run for one in (row, *below)) for each in runs.found(run)),
    )


def _measured(row: Row, results: Results, runs: Runs) -> list[float]:
    """The number from every seed that there is a result of."""
    found = (result.measure(row.measure) for result in results.of_seeds(runs.recipes.runs[row.run]).values())
    return [value for value in found if value is not None]


def _mean(row: Row, results: Results, runs: Runs) -> float | None:
    values = _measured(row, results, runs)
    return statistics.fmean(values) if values else None


def _quotient(values: Sequence[float | None]) -> float | None:
    """The only number, or the first of two by the second."""
    over, under = (*values, 1.0)[:2]
    return None if over is None or not under else over / under


def chosen(rows: Sequence[ComparedRow], wanted: Sequence[str]) -> list[ComparedRow]:
    """The rows that were asked for: by name or number, by label, by corpus, or by a part of the label."""
    picked: list[ComparedRow] = []
    for name in wanted:
        plain = name.strip().strip("()").casefold()
        exact = [one for one in rows if plain in (one.row.row.casefold(), one.row.label.casefold())]
        own = [one for one in rows if plain in (one.corpus.casefold(), one.row.corpus)]
        found = exact or own or [one for one in rows if plain in one.row.label.casefold()]
        if not found:
            known = ", ".join(dict.fromkeys(one.row.label for one in rows))
            raise ConfigError(f"--row: there is no row {name!r}. Rows: {known}.")
        picked += found
    return [one for one in rows if one in picked or not wanted]


# ---- what the numbers must show --------------------------------------------------------------------------------------


def holds(claim: Claim, rows: Sequence[ComparedRow]) -> bool | None:
    """Whether a claim is true; None as long as a number is missing."""
    own = {one.row.row: one for one in rows if one.row.corpus == claim.corpus}
    ours = {name: one.ours for name, one in own.items() if one.ours is not None}
    if any(name not in ours for name in (*claim.rows, *claim.lower, *claim.than) or own):
        return None
    if claim.lower:
        pairs = [(ours[low], ours[high]) for low in claim.lower for high in claim.than]
        return all(low < high and low <= (1 - claim.by) * high for low, high in pairs)
    picked = claim.rows or tuple(own)
    if claim.at_most:
        return all(ours[name] <= claim.at_most for name in picked)
    both = [(paper, ours[name]) for name in picked if (paper := own[name].paper) is not None]
    if claim.order:
        return in_the_same_order(both)
    if any(own[name].stand_ins for name in picked if own[name].paper is not None):
        return None  # a stand-in's number is not to be held against the original's
    if claim.within:
        return all(found <= (1 + claim.within) * paper for paper, found in both)
    if claim.significant:
        return all(significant(found, claim.significant) == paper for paper, found in both)
    return all(round(found, claim.decimals) == round(paper, claim.decimals) for paper, found in both)


def in_the_same_order(pairs: Iterable[tuple[float, float]]) -> bool:
    """Whether the second numbers grow wherever the first ones do."""
    return all(ours <= next_ours for (_, ours), (_, next_ours) in pairwise(sorted(pairs)))


def significant(value: float, digits: int) -> float:
    return 0.0 if value == 0 else round(value, digits - 1 - math.floor(math.log10(abs(value))))
