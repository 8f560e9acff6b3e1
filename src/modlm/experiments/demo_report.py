"""What the demo found, as lines for a terminal and as one HTML file that needs nothing else.

The page has no scripts, no fonts and asks the network for nothing; light and dark. Its plots come from
`experiments/charts.py`, its colours from `demo_report.css` beside this file.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from modlm import __version__
from modlm.experiments.charts import BEST, Point, bar_chart, scatter_chart
from modlm.experiments.machine import processor
from modlm.ground.arrays import threads
from modlm.ground.progress import percent, short
from modlm.model.language_model import Explanation, LanguageModel, Prediction

PRUNING = 1e-7  # relative rise in perplexity for which an n-gram goes
INFINITE = 1e9  # perplexities from here on are shown as such
SHOWN = 0.005  # shares below this are not told
COLOURS = 8  # as many as the style sheet has; columns beyond share the last
TITLE = "modlm: n-grams, nets and hybrids on text that ships with Python"
COLUMNS = ("model", "valid", "test", "words/s", "size", "training")
NOTE = (
    "N-grams have order 5 unless it says otherwise. words/s is scoring the test part from its file; training is "
    "counting, smoothing and compiling, and for nets all of the run with its evaluations. Maximum likelihood gives "
    "unseen words after seen contexts no probability at all, so its perplexity is infinite; with static λ it is a "
    "proper model. Static λ is tuned by EM on the validation part, so its valid column flatters it a little; so do the "
    "nets', whose best evaluation was chosen by it. Pruned: without the n-grams whose loss changes perplexity by less "
    f"than {PRUNING:g}, relatively."
)


@dataclass(frozen=True, slots=True)
class Trained:
    """A model and its row of the table."""

    label: str
    model: LanguageModel
    seconds: float  # training: counting, smoothing and compiling (and tuning, for a static mixture)
    valid: float  # perplexity
    test: float
    words_per_second: float  # scoring the test part, reading and encoding included
    bytes: int  # of the model folder

    @property
    def cells(self) -> tuple[str, ...]:
        size, seconds = f"{self.bytes / 1e6:.1f} MB", f"{self.seconds:.2f} s"
        return self.label, shown(self.valid), shown(self.test), short(self.words_per_second), size, seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """What the demo found; `best` is by validation perplexity, among those that are kept."""

    rows: tuple[Trained, ...]
    best: Trained
    folder: str  # where the demo's folder keeps it
    predictions: tuple[tuple[str, list[Prediction]], ...]
    """The words most likely to follow some contexts, by the best model."""
    explained: Trained  # the hybrid, or the best where nets cannot be trained
    explanation: tuple[Explanation, ...]  # how a sentence gets its probabilities, word by word
    words: tuple[int, int, int]  # in the train, valid and test parts
    vocabulary: int
    seconds: float


def shown(perplexity: float) -> str:
    """A perplexity; a model that gives some word of the text no probability has an infinite one."""
    return f"{perplexity:,.1f}" if perplexity < INFINITE else "∞"


def line(cells: Sequence[str]) -> str:
    return f"{cells[0]:<35}" + "".join(f"{cell:>11}" for cell in cells[1:])


# ---- the page --------------------------------------------------------------------------------------------------------


def page(result: DemoResult) -> str:
    """The page as HTML text. Every value is escaped; nothing in it can refer to the outside."""
    best, python = result.best, f"Python {platform.python_version()}"
    train, valid, test = (f"{count:,}" for count in result.words)
    about = (
        f"The language reference, docstrings and comments of {python}: {train} words to train on, {valid} to choose "
        f"by, {test} to report. The parts come from different documents. {result.vocabulary:,} words are known; words "
        f"seen once in training count as unknown."
    )
    saved = (
        f"Best on the validation part of those that were saved: {best.label}, with a test perplexity of "
        f"{shown(best.test)}. Perplexity counts every word and one end for each sentence; lower is better."
    )
    closing = (
        f"modlm {__version__}, {python}, {processor()}, {threads()} threads. The whole demo took {result.seconds:.0f} "
        f'seconds. In this folder, try: modlm serve . and modlm next {result.folder} "{result.predictions[0][0]}"'
    )
    return document(TITLE, (about, saved), _sections(result), closing)


def document(title: str, lead: Iterable[str], sections: Iterable[tuple[str, str]], closing: str) -> str:
    """A page of sections, each a title and what is in it as HTML; all else is escaped here."""
    style = Path(__file__).with_name("demo_report.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f"<header>\n<h1>{escape(title)}</h1>\n{''.join(f'<p>{escape(one)}</p>' for one in lead)}\n</header>\n"
        f"{''.join(section(*one) for one in sections)}"
        f"<footer>\n<p>{escape(closing)}</p>\n</footer>\n</main>\n</body>\n</html>\n"
    )


def _sections(result: DemoResult) -> Iterable[tuple[str, str]]:
    title = "Perplexity, speed and size"
    rows = table(COLUMNS, [row.cells for row in result.rows], best=result.rows.index(result.best))
    yield title, wide(title, rows) + note(NOTE)
    finite = [row for row in result.rows if row.test < INFINITE]
    points = [Point(row.label, row.bytes / 1e6, row.test, shown(row.test)) for row in finite]
    yield "Test perplexity", bar_chart(points, unit="perplexity")
    title = "Size and perplexity"
    scatter = scatter_chart(points, title=title, x_label="model folder, MB", y_label="test perplexity")
    yield title, wide(title, scatter)
    yield "What comes next", _predictions(result.predictions)
    title = f"Where the probabilities of a sentence come from: {result.explained.label}"
    steps = [
        (step.word, f"{step.probability:.4f}", *(f"{share:.0%}" for share in step.shares.values()))
        for step in result.explanation
    ]
    shares = table(("word", "probability", *result.explanation[0].shares), steps)
    yield title, wide(title, shares) + note("The share of a column is λ_k P_k / p: its part of the word's probability.")


def section(title: str, content: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}</section>\n"


def wide(title: str, content: str) -> str:
    """Something that is scrolled sideways on a small screen."""
    return f'<div class="wide" role="region" aria-label="{escape(title)}" tabindex="0">\n{content}</div>\n'


def note(said: str) -> str:
    return f'<p class="note">{escape(said)}</p>\n'


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, best: int | None = None) -> str:
    kinds = ("", *(' class="number"' for _ in columns[1:]))
    head = "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in zip(columns, kinds, strict=True))
    body = "".join(
        f'<tr{BEST if index == best else ""}><th scope="row">{escape(name)}</th>'
        + "".join(f'<td class="number">{escape(cell)}</td>' for cell in cells)
        + "</tr>\n"
        for index, (name, *cells) in enumerate(rows)
    )
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"


def _predictions(panels: Sequence[tuple[str, list[Prediction]]]) -> str:
    names = panels[0][1][0].shares
    keys = "".join(f'<li><span class="key {_colour(k)}"></span>{escape(name)}</li>' for k, name in enumerate(names))
    articles = [
        f'<article class="panel">\n<h3>{escape(context)} <span class="blank">…</span></h3>\n<ol>\n'
        + "".join(_next_word(one, words[0].probability or 1.0) for one in words)
        + "</ol>\n</article>\n"
        for context, words in panels
    ]
    said = note("The length of a bar is the probability; its colours show which columns gave it.")
    legend = f'<ul class="legend" aria-label="Columns">{keys}</ul>\n'
    return f'{said}{legend}<div class="panels">\n{"".join(articles)}</div>\n'


def _colour(index: int) -> str:
    return f"c{min(index, COLOURS - 1)}"


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
