"""The rows of a table or figure with both numbers, the paper's and ours, and whether they show what they must."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from modlm.errors import ConfigError
from modlm.experiments.reproduce.entries import Claim, Recipe, Row
from modlm.experiments.reproduce.results import Results
from modlm.experiments.reproduce.workshop import Found, Workshop


@dataclass(frozen=True, slots=True)
class Answer:
    """A row with its numbers; None where there is none."""

    row: Row
    paper: float | None
    ours: float | None
    """The mean over seeds, if the run was done from several."""
    source: str
    why_not: str
    """Why the paper has no number."""
    stand_ins: dict[str, str]
    """What stood for which of the paper's corpora, by titles; ours and the paper's are not comparable if any did."""
    corpus: str
    """The title of the corpus that was tested on."""
    digits: int
    sd: float | None = None
    """The standard deviation over seeds, of a sample; None for one seed, and for a quotient."""
    seeds: int = 0
    """How many results the mean is over."""
    shipped: float | None = None
    """Where ours was made here by a rerun: the number that came with the recipes."""
    found: tuple[Found, ...] = ()
    """The results that ours comes from."""

    @property
    def made(self) -> str | None:
        """here, if every result that it comes from was made here, or shipped."""
        places = {each.made for each in self.found}
        return ("shipped" if "shipped" in places else "here") if places else None

    @property
    def date(self) -> str | None:
        """The last day on which one of its results was made; None if none was recorded."""
        return max((str(each.result.made.get("date", "")) for each in self.found), default="") or None

    @property
    def machine(self) -> str | None:
        """What its results were made on."""
        return "; ".join(dict.fromkeys(str(each.result.made.get("machine", "")) for each in self.found)) or None

    @property
    def difference(self) -> float | None:
        """Ours over the paper's, minus 1; None if they are not numbers of the same thing."""
        if self.paper is None or self.ours is None or self.stand_ins:
            return None
        return self.ours / self.paper - 1

    @property
    def data(self) -> str:
        """The corpus, and what stands for what."""
        if not self.stand_ins:
            return self.corpus
        told = ", ".join(f"{stand_in} for {title}" for title, stand_in in self.stand_ins.items())
        return told if self.corpus in self.stand_ins.values() else f"{self.corpus}; {told}"

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
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
            "source": self.source,
            "made": self.made,
            "date": self.date,
            "machine": self.machine,
        }


def answers(recipe: Recipe, shop: Workshop) -> list[Answer]:
    """All rows of a recipe with the numbers that are there."""
    return [_answer(recipe, row, shop) for row in recipe.rows]


def _answer(recipe: Recipe, row: Row, shop: Workshop) -> Answer:
    number = shop.book.numbers[recipe.name, row.corpus, row.row]
    paper, values = number.value, _measured(row, shop.results, shop)
    below = _below(recipe, row)
    if below is not None:
        paper = _quotient(paper, shop.book.numbers[recipe.name, below.corpus, below.row].value)
    runs = dict.fromkeys((row.run, *([below.run] if below else [])))
    corpora, stand_ins = shop.book.corpora, shop.corpora.stand_ins(row.run)
    return Answer(
        row=row,
        paper=paper,
        ours=_mean(row, below, shop.results, shop),
        source=number.source,
        why_not=number.why_not,
        stand_ins={corpora[role].title: corpora[name].title for role, name in stand_ins.items()},
        corpus=shop.corpora.used(row.corpus).title,
        digits=recipe.digits if row.digits < 0 else row.digits,
        sd=statistics.stdev(values) if len(values) > 1 and below is None else None,
        seeds=len(values),
        shipped=_mean(row, below, shop.beside, shop) if shop.rerun else None,
        found=tuple(each for run in runs for each in shop.found(run)),
    )


def _below(recipe: Recipe, row: Row) -> Row | None:
    """The row by whose number this one's is divided."""
    return next((other for other in recipe.rows if (other.row, other.corpus) == (row.over, row.corpus)), None)


def _mean(row: Row, below: Row | None, results: Results, shop: Workshop) -> float | None:
    """The number of a row: the mean over seeds, or the quotient of two."""
    values = _measured(row, results, shop)
    mean = statistics.fmean(values) if values else None
    return mean if below is None else _quotient(mean, _mean(below, None, results, shop))


def _measured(row: Row, results: Results, shop: Workshop) -> list[float]:
    """The number from every seed that there is a result of."""
    found = (result.measure(row.measure) for result in results.of_seeds(shop.book.runs[row.run]).values())
    return [value for value in found if value is not None]


def _quotient(over: float | None, under: float | None) -> float | None:
    return None if over is None or not under else over / under


def chosen(rows: Sequence[Answer], wanted: Sequence[str]) -> list[Answer]:
    """The rows that were asked for: by name or number, by label, by corpus, or by a part of the label."""
    if not wanted:
        return list(rows)
    picked: list[Answer] = []
    for name in wanted:
        found = _matching(rows, name)
        if not found:
            known = ", ".join(dict.fromkeys(answer.row.label for answer in rows))
            raise ConfigError(f"--row: there is no row {name!r}. Rows: {known}.")
        picked += found
    return [answer for answer in rows if answer in picked]


def _matching(rows: Iterable[Answer], name: str) -> list[Answer]:
    plain = name.strip().strip("()").casefold()
    rows = list(rows)
    exact = [answer for answer in rows if plain in (answer.row.row.casefold(), answer.row.label.casefold())]
    own = [answer for answer in rows if plain in (answer.corpus.casefold(), answer.row.corpus)]
    return exact or own or [answer for answer in rows if plain in answer.row.label.casefold()]


# ---- what the numbers must show --------------------------------------------------------------------------------------


def holds(claim: Claim, rows: Sequence[Answer]) -> bool | None:
    """Whether a claim is true; None as long as a number is missing."""
    own = {answer.row.row: answer for answer in rows if answer.row.corpus == claim.corpus}
    named = (*claim.rows, *claim.lower, *claim.than) or tuple(own)
    if any(name not in own or own[name].ours is None for name in named):
        return None
    picked = [own[name] for name in claim.rows or own]
    if claim.lower:
        return all(under(own[low], own[high], claim.by) for low in claim.lower for high in claim.than)
    if claim.at_most:
        return all(_ours(answer) <= claim.at_most for answer in picked)
    published = [answer for answer in picked if answer.paper is not None]
    if claim.order:
        return in_the_same_order([(_paper(answer), _ours(answer)) for answer in published])
    if any(answer.stand_ins for answer in published):
        return None  # a stand-in's number is not to be held against the original's
    if claim.within:
        return all(_ours(answer) <= (1 + claim.within) * _paper(answer) for answer in published)
    if claim.significant:
        return all(significant(_ours(answer), claim.significant) == _paper(answer) for answer in published)
    return all(round(_ours(answer), claim.decimals) == round(_paper(answer), claim.decimals) for answer in published)


def under(low: Answer, high: Answer, share: float) -> bool:
    """Whether one number is lower than another, by at least a share of it."""
    return _ours(low) < _ours(high) and _ours(low) <= (1 - share) * _ours(high)


def in_the_same_order(pairs: Iterable[tuple[float, float]]) -> bool:
    """Whether the second numbers grow wherever the first ones do."""
    return all(ours <= next_ours for (_, ours), (_, next_ours) in pairwise(sorted(pairs)))


def significant(value: float, digits: int) -> float:
    """A number rounded to so many significant digits."""
    if value == 0:
        return 0.0
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))


def _ours(answer: Answer) -> float:
    assert answer.ours is not None
    return answer.ours


def _paper(answer: Answer) -> float:
    assert answer.paper is not None
    return answer.paper
