"""Figures as SVG, drawn from results: curves while training, perplexity by frequency, bars.

The same results give the same bytes. Colours are chosen to be told apart by everybody and in grey.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from typing import Any

from modlm.errors import ConfigError, require
from modlm.experiments.reproduce.answers import Answer
from modlm.experiments.reproduce.entries import Recipe
from modlm.experiments.reproduce.workshop import Workshop

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#555555")
MARKS = ("o", "s", "^", "D", "v")
STYLES = ("-", "--", "-.", ":", "-")
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "modlm",
    "svg.fonttype": "none",
    "font.size": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
}
WIDTH = 6.4  # inches
HIGHEST = 2.0  # perplexities more than so many times the lowest are above the frame
FOOT = 4.0  # points from a bar's foot to its number, which at the top could lie on the paper's line


def draw(recipe: Recipe, rows: Sequence[Answer], shop: Workshop) -> str:
    """The figure of a recipe; an error if no number of it is there yet."""
    if all(answer.ours is None for answer in rows):
        raise ConfigError(f"There is nothing to draw for {recipe.name} yet: none of its runs has a result.")
    require("matplotlib", extra="figures", purpose="Drawing figures")
    import matplotlib

    with matplotlib.rc_context(STYLE):
        figure = DRAWINGS[recipe.figure](recipe, rows, shop)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Title": recipe.title}, bbox_inches="tight")
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def _figure(panels: int, height: float) -> tuple[Any, list[Any]]:
    """A figure of panels one below the other, without a window."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(WIDTH, height), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.subplots(panels, 1, sharex=True, squeeze=False)
    return figure, [row[0] for row in axes]


def _looks(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """How each series is drawn."""
    return {
        name: {"color": COLOURS[place % 5], "linestyle": STYLES[place % 5], "marker": MARKS[place % 5]}
        for place, name in enumerate(dict.fromkeys(names))
    }


def convergence(recipe: Recipe, rows: Sequence[Answer], shop: Workshop) -> Any:
    """Test perplexity, and below it the weight on the dense columns, against the words trained on."""
    figure, (above, below) = _figure(2, 6.0)
    looks = _looks([answer.row.series for answer in rows])
    lowest = min(answer.ours for answer in rows if answer.ours is not None and answer.row.measure == "test")
    for answer in rows:
        result = shop.results.find(shop.book.runs[answer.row.run])
        if result is None:
            continue
        dense = answer.row.measure.startswith("dense_mass")
        key = "test_dense_mass" if dense else "test_perplexity"
        places = [(line["words"] / 1e6, line[key]) for line in result.journal if line.get(key) is not None]
        look = looks[answer.row.series] | {"marker": "." if len(places) > 1 else "o"}
        (below if dense else above).plot(*zip(*places, strict=True), label=answer.row.series, **look)
    above.set(ylabel="test perplexity", ylim=(0.95 * lowest, HIGHEST * lowest))
    below.set(ylabel="weight on dense columns", xlabel="million words trained on", ylim=(0, 1.02))
    above.legend(frameon=False)
    return figure


def frequency(recipe: Recipe, rows: Sequence[Answer], shop: Workshop) -> Any:
    """Perplexity of words seen at most so often, a curve for each model."""
    figure, (axes,) = _figure(1, 4.0)
    places = list(dict.fromkeys(answer.row.at for answer in rows))
    for name, look in _looks([answer.row.series for answer in rows]).items():
        own = [answer for answer in rows if answer.row.series == name and answer.ours is not None]
        axes.plot([places.index(answer.row.at) for answer in own], [answer.ours for answer in own], label=name, **look)
    axes.set(xlabel="seen at most so often in training", ylabel="test perplexity", yscale="log")
    axes.set_xticks(range(len(places)), places)
    axes.legend(frameon=False)
    return figure


def bars(recipe: Recipe, rows: Sequence[Answer], shop: Workshop) -> Any:
    """A bar for each row, in groups; the paper's number, where it is printed, as a mark."""
    figure, (axes,) = _figure(1, 4.0)
    looks = _looks([answer.row.series.partition(",")[0] for answer in rows])
    added = [answer.row.series.endswith("distributions") for answer in rows]
    for place, answer in enumerate(rows):
        colour = looks[answer.row.series.partition(",")[0]]["color"]
        hatch = "//" if added[place] else ""
        axes.bar(place, answer.ours or math.nan, color=colour, hatch=hatch, edgecolor="white")
        if answer.ours is not None:
            plate = {"facecolor": colour, "edgecolor": "none", "pad": 1.5}
            where: dict[str, Any] = {"xytext": (0, FOOT), "textcoords": "offset points", "ha": "center"}
            axes.annotate(f"{answer.ours:.1f}", (place, 0), color="white", fontsize=9, bbox=plate, **where)
        if answer.paper is not None:
            axes.plot([place - 0.4, place + 0.4], [answer.paper] * 2, color="black", linewidth=1.5)
    axes.set_xticks(range(len(rows)), [_bar_name(answer) for answer in rows], fontsize=8)
    axes.set(ylabel="test perplexity")
    axes.set_title("line: the paper's number, on the paper's corpora", fontsize=9, loc="right")
    return figure


def _bar_name(answer: Answer) -> str:
    """The number of the bar, its data as they are here, and its model."""
    data = answer.row.at
    for title, stand_in in answer.stand_ins.items():
        data = data.replace(title, stand_in)
    kind, _, way = answer.row.series.partition(", ")
    return "\n".join(filter(None, (f"({answer.row.row})", data.replace("+", "\n+").strip(), kind, way.split(" ")[0])))


DRAWINGS: dict[str, Callable[[Recipe, Sequence[Answer], Workshop], Any]] = {
    "convergence": convergence,
    "frequency": frequency,
    "bars": bars,
}
