"""A report as one HTML file that needs nothing else: no scripts, no fonts, no network; light and dark.

In: a `Report` of plain values. Out: HTML text, or a file written aside and renamed. The plots come from
`experiments/charts.py`, the colours from `report.css` beside this file.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path

from modlm.experiments.charts import Bar, Point, bar_chart, scatter_chart
from modlm.files import new_file

BEST_ROW = '<tr class="best">'
EXPLANATION = "The length of a bar is the probability; its colours show which columns gave it."
COLOURS = 8  # as many as the style sheet has; columns beyond share the last


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells already formatted as text; columns whose cells are all numbers are aligned to the right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = "Results"
    note: str = ""
    best: int | None = None
    """Index of the row to emphasise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarPlot:
    """One horizontal bar a model; the shortest bar is marked as best when lower is better."""

    title: str
    bars: tuple[Bar, ...]
    unit: str = "perplexity"
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterPlot:
    """One labelled point a model, for instance size against perplexity."""

    title: str
    points: tuple[Point, ...]
    x_label: str
    y_label: str
    log_x: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class NextWord:
    """A word that may follow, its probability, and how much of that each column gave (shares sum to one)."""

    word: str
    probability: float
    shares: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """The words most likely to follow a context, with the labels of the columns that the shares are about."""

    context: str
    words: tuple[NextWord, ...]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything on the page, in the order in which it stands there."""

    title: str
    paragraphs: tuple[str, ...] = ()
    table: Table | None = None
    bars: BarPlot | None = None
    scatter: ScatterPlot | None = None
    predictions: tuple[Predictions, ...] = ()
    explanation: Table | None = None
    """How a sentence gets its probabilities, word by word."""
    closing: tuple[str, ...] = ()
    """Paragraphs after everything else: the command, the machine, versions."""


def write_report(report: Report, target: str | Path) -> Path:
    """Write the page, replacing an older one; the path written to."""
    with new_file(target) as place:
        place.write_text(render(report), encoding="utf-8")
    return Path(target)


def render(report: Report) -> str:
    """The page as HTML text. Every value is escaped; nothing in it can refer to the outside."""
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    sections = [
        _table(report.table) if report.table else "",
        _bars(report.bars) if report.bars else "",
        _scatter(report.scatter) if report.scatter else "",
        _predictions(report.predictions) if report.predictions else "",
        _table(report.explanation) if report.explanation else "",
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{_text(report.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f"<header>\n<h1>{_text(report.title)}</h1>\n{_paragraphs(report.paragraphs)}</header>\n"
        + "".join(section for section in sections if section)
        + (f"<footer>\n{_paragraphs(report.closing)}</footer>\n" if report.closing else "")
        + "</main>\n</body>\n</html>\n"
    )


def _text(value: str) -> str:
    return html.escape(value, quote=True)


def _paragraphs(paragraphs: tuple[str, ...]) -> str:
    return "".join(f"<p>{_text(paragraph)}</p>\n" for paragraph in paragraphs)


def _is_number(cell: str) -> bool:
    return not cell or cell in ("–", "-", "∞") or cell[0].isdigit() or (cell[0] in "+-−<" and cell[1:2].isdigit())


def _table(table: Table) -> str:
    numeric = [all(_is_number(row[index]) for row in table.rows) for index in range(len(table.columns))]
    kinds = [' class="number"' if flag else "" for flag in numeric]
    head = "".join(f'<th scope="col"{kind}>{_text(name)}</th>' for name, kind in zip(table.columns, kinds, strict=True))
    body = "".join(
        f"{BEST_ROW if index == table.best else '<tr>'}{_cells(row, kinds)}</tr>\n"
        for index, row in enumerate(table.rows)
    )
    return (
        f"<section>\n<h2>{_text(table.title)}</h2>\n"
        f'<div class="wide" role="region" aria-label="{_text(table.title)}" tabindex="0">\n'
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n</div>\n{_note(table.note)}</section>\n"
    )


def _cells(row: tuple[str, ...], kinds: list[str]) -> str:
    first, rest = row[0], row[1:]
    cells = "".join(f"<td{kind}>{_text(cell)}</td>" for cell, kind in zip(rest, kinds[1:], strict=True))
    return f'<th scope="row"{kinds[0]}>{_text(first)}</th>{cells}'


def _note(note: str) -> str:
    return f'<p class="note">{_text(note)}</p>\n' if note else ""


def _bars(plot: BarPlot) -> str:
    picture = bar_chart(plot.bars, unit=plot.unit)
    return f"<section>\n<h2>{_text(plot.title)}</h2>\n{picture}{_note(plot.note)}</section>\n"


def _scatter(plot: ScatterPlot) -> str:
    picture = scatter_chart(plot.points, title=plot.title, x_label=plot.x_label, y_label=plot.y_label, log_x=plot.log_x)
    return (
        f'<section>\n<h2>{_text(plot.title)}</h2>\n<div class="wide" role="region" aria-label="{_text(plot.title)}" '
        f'tabindex="0">\n{picture}</div>\n{_note(plot.note)}</section>\n'
    )


def _colour(index: int) -> str:
    return f"c{min(index, COLOURS - 1)}"


def _predictions(panels: tuple[Predictions, ...]) -> str:
    columns = next((panel.columns for panel in panels if panel.columns), ())
    legend = "".join(f'<li><span class="key {_colour(k)}"></span>{_text(name)}</li>' for k, name in enumerate(columns))
    key = f'<ul class="legend" aria-label="Columns">{legend}</ul>\n' if legend else ""
    return (
        "<section>\n<h2>What comes next</h2>\n"
        + (_note(EXPLANATION) if key else "")
        + f'{key}<div class="panels">\n'
        + "".join(_panel(panel) for panel in panels)
        + "</div>\n</section>\n"
    )


def _panel(panel: Predictions) -> str:
    longest = max((word.probability for word in panel.words), default=0.0) or 1.0
    rows = "".join(_next_word(word, panel.columns, longest) for word in panel.words)
    heading = f'<h3>{_text(panel.context)} <span class="blank">…</span></h3>'
    return f'<article class="panel">\n{heading}\n<ol>\n{rows}</ol>\n</article>\n'


def _next_word(word: NextWord, columns: tuple[str, ...], longest: float) -> str:
    shares = word.shares or (1.0,)
    labels = columns if word.shares else ("",)
    named = [(name, share) for name, share in zip(labels, shares, strict=True) if name and share >= 0.005]
    described = ", ".join(f"{name} {share:.0%}" for name, share in named)
    parts = "".join(
        f'<span class="{_colour(index)}" style="width:{100 * share * word.probability / longest:.2f}%"></span>'
        for index, share in enumerate(shares)
        if share > 0
    )
    title = f' title="{_text(described)}"' if described else ""
    spoken = f'<span class="spoken">({_text(described)})</span>' if described else ""
    return (
        f'<li{title}><span class="word">{_text(word.word)}</span><span class="track" aria-hidden="true">{parts}</span>'
        f'<span class="number">{percent(word.probability)}</span>{spoken}</li>\n'
    )


def percent(probability: float) -> str:
    """A probability for people: 12.3%, 0.45%, <0.01%."""
    if probability <= 0:
        return "0%"
    if probability < 0.0001:
        return "<0.01%"
    return f"{probability:.1%}" if probability >= 0.01 else f"{probability:.2%}"
