"""A report as one HTML file that needs nothing else: no scripts, no fonts, no network; light and dark.

In: a `Report` of plain values. Out: HTML text, or a file written aside and renamed. The plots come from
`experiments/charts.py`, the colours from `report.css` beside this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from modlm.experiments.charts import Point, bar_chart, scatter_chart
from modlm.files import new_file
from modlm.model.language_model import Prediction
from modlm.progress import percent

BEST_ROW = '<tr class="best">'
SHARES = "The length of a bar is the probability; its colours show which columns gave it."
SHOWN = 0.005  # shares below this are not told
COLOURS = 8  # as many as the style sheet has; columns beyond share the last


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells already formatted as text: a name, then numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    best: int | None = None
    """Index of the row to emphasise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything on the page, in the order in which it stands there."""

    title: str
    paragraphs: tuple[str, ...]
    table: Table
    models: tuple[Point, ...]
    """Size in MB and perplexity of each model."""
    predictions: tuple[tuple[str, list[Prediction]], ...]
    """The words most likely to follow some contexts."""
    explanation: Table
    """How a sentence gets its probabilities, word by word."""
    closing: str
    """The command, the machine, versions."""


def write_report(report: Report, target: str | Path) -> None:
    """Write the page, replacing an older one."""
    with new_file(target) as place:
        place.write_text(render(report), encoding="utf-8")


def render(report: Report) -> str:
    """The page as HTML text. Every value is escaped; nothing in it can refer to the outside."""
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    title, size = escape(report.title), "Size and perplexity"
    scatter = scatter_chart(report.models, title=size, x_label="model folder, MB", y_label="test perplexity")
    sections = [
        _table(report.table),
        _section("Test perplexity", bar_chart(report.models, unit="perplexity")),
        _section(size, _wide(size, scatter)),
        _section("What comes next", _predictions(report.predictions)),
        _table(report.explanation),
    ]
    paragraphs = "".join(f"<p>{escape(paragraph)}</p>\n" for paragraph in report.paragraphs)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f"<header>\n<h1>{title}</h1>\n{paragraphs}</header>\n{''.join(sections)}"
        f"<footer>\n<p>{escape(report.closing)}</p>\n</footer>\n</main>\n</body>\n</html>\n"
    )


def _section(title: str, content: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}</section>\n"


def _wide(title: str, content: str) -> str:
    """Something that is scrolled sideways on a small screen."""
    return f'<div class="wide" role="region" aria-label="{escape(title)}" tabindex="0">\n{content}</div>\n'


def _note(note: str) -> str:
    return f'<p class="note">{escape(note)}</p>\n' if note else ""


def _table(table: Table) -> str:
    first, *others = table.columns
    head = f'<th scope="col">{escape(first)}</th>'
    head += "".join(f'<th scope="col" class="number">{escape(name)}</th>' for name in others)
    rows = [
        f'{BEST_ROW if index == table.best else "<tr>"}<th scope="row">{escape(name)}</th>'
        + "".join(f'<td class="number">{escape(cell)}</td>' for cell in cells)
        for index, (name, *cells) in enumerate(table.rows)
    ]
    body = "".join(f"{row}</tr>\n" for row in rows)
    content = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"
    return _section(table.title, _wide(table.title, content) + _note(table.note))


def _colour(index: int) -> str:
    return f"c{min(index, COLOURS - 1)}"


def _predictions(panels: Sequence[tuple[str, list[Prediction]]]) -> str:
    names = panels[0][1][0].shares
    keys = "".join(f'<li><span class="key {_colour(k)}"></span>{escape(name)}</li>' for k, name in enumerate(names))
    legend = f'<ul class="legend" aria-label="Columns">{keys}</ul>\n'
    articles = [
        f'<article class="panel">\n<h3>{escape(context)} <span class="blank">…</span></h3>\n<ol>\n'
        + "".join(_next_word(one, words[0].probability or 1.0) for one in words)
        + "</ol>\n</article>\n"
        for context, words in panels
    ]
    return f'{_note(SHARES)}{legend}<div class="panels">\n{"".join(articles)}</div>\n'


def _next_word(one: Prediction, longest: float) -> str:
    described = escape(", ".join(f"{name} {share:.0%}" for name, share in one.shares.items() if share >= SHOWN))
    parts = "".join(
        f'<span class="{_colour(index)}" style="width:{100 * share * one.probability / longest:.2f}%"></span>'
        for index, share in enumerate(one.shares.values())
        if share > 0
    )
    return (
        f'<li title="{described}"><span class="word">{escape(one.word)}</span>'
        f'<span class="track" aria-hidden="true">{parts}</span>'
        f'<span class="number">{escape(percent(one.probability))}</span>'
        f'<span class="spoken">({described})</span></li>\n'
    )
