"""Figures as SVG, drawn from results: curves while training, perplexity by frequency and by size, bars.

The same results give the same bytes. Colours can be told apart by everybody and in grey; there is no background, and
lines and letters are of a grey that reads on white as on black.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from modlm.errors import ConfigError, require
from modlm.experiments.reproduce.compared_rows import ComparedRow
from modlm.experiments.reproduce.recipe import Recipe
from modlm.ground.arrays import Floats, Ints

INK = "#737b88"
COLOURS = ("#2f7fd6", "#e0701a", "#1d9e74", "#c774a6", "#8b8f98")
MARKS = ("o", "s", "^", "D", "v")
STYLES = ("-", "--", "-.", ":", "-")
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "modlm",
    "svg.fonttype": "none",
    "font.size": 10.0,
    "savefig.transparent": True,
    "hatch.color": "white",
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "grid.color"), INK
    ),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
}
WIDTH = 6.4  # inches
HIGHEST = 2.0  # perplexities more than so many times the lowest are above the frame
FOOT = 4.0  # points from a bar's foot to its number, which at the top could lie on the paper's line


def draw(recipe: Recipe, rows: Sequence[ComparedRow]) -> str:
    """The figure of a recipe; an error if no number of it is there yet."""
    if all(one.ours is None for one in rows):
        raise ConfigError(f"There is nothing to draw for {recipe.name} yet: none of its runs has a result.")
    require("matplotlib", extra="figures", purpose="Drawing figures")
    import matplotlib

    with matplotlib.rc_context(STYLE):
        return svg(DRAWINGS[recipe.figure](rows), recipe.title)


def svg(figure: Any, title: str) -> str:
    """The figure as text; within STYLE it has no background."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Title": title}, bbox_inches="tight")
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def panels(count: int, height: float, *, sharex: bool = True) -> tuple[Any, list[Any]]:
    """A figure of panels one below the other, without a window."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(WIDTH, height), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.subplots(count, 1, sharex=sharex, squeeze=False)
    return figure, [row[0] for row in axes]


def save_histogram(path: Path, edges: Floats, every: Ints, kept: Ints, title: str, label: str) -> None:
    """Documents that were kept among all, as the ending of the name says; without a label, edges are log perplexity."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        figure, (axes,) = panels(1, 3.4)
        for counts, name, colour in ((every, "dropped", COLOURS[-1]), (kept, "kept", COLOURS[0])):
            axes.stairs(counts, edges if label else np.exp(edges), fill=True, color=colour, label=name)
        axes.set_xscale("linear" if label else "log")
        axes.set(xlabel=label or "perplexity", ylabel="documents", title=title)
        axes.legend(frameon=False)
        figure.savefig(path, format=path.suffix.removeprefix("."))


def _looks(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    return {
        name: {"color": COLOURS[place % 5], "linestyle": STYLES[place % 5], "marker": MARKS[place % 5]}
        for place, name in enumerate(dict.fromkeys(names))
    }


def convergence(rows: Sequence[ComparedRow]) -> Any:
    """Test perplexity, and below it the weight on the dense columns, against the words trained on."""
    figure, (above, below) = panels(2, 6.0)
    looks = _looks([one.row.series for one in rows])
    lowest = min(one.ours for one in rows if one.ours is not None and one.row.measure == "test")
    for one in rows:
        journal = next((each.result.journal for each in one.found if each.run.seed == 1), None)
        if journal is None:
            continue
        dense = one.row.measure.startswith("dense_mass")
        key = "test_dense_mass" if dense else "test_perplexity"
        places = [(line["words"] / 1e6, line[key]) for line in journal if line.get(key) is not None]
        look = looks[one.row.series] | {"marker": "." if len(places) > 1 else "o"}
        (below if dense else above).plot(*zip(*places, strict=True), label=one.row.series, **look)
    above.set(ylabel="test perplexity", ylim=(0.95 * lowest, HIGHEST * lowest))
    below.set(ylabel="weight on dense columns", xlabel="million words trained on", ylim=(0, 1.02))
    above.legend(frameon=False)
    return figure


def sizes(rows: Sequence[ComparedRow]) -> Any:
    """Test perplexity against parameters, a curve for each model, and below it against words trained on."""
    figure, (above, below) = panels(2, 6.0, sharex=False)
    done = [one for one in rows if one.ours is not None]
    looks = _looks([one.row.series for one in rows])
    places = list(dict.fromkeys(one.row.at for one in rows))
    for name, look in looks.items():
        own = [one for one in done if one.row.series == name]
        above.plot([one.found[0].result.training["parameters"] / 1e6 for one in own], [one.ours for one in own], **look)
    for one in done:
        journal = [line for line in one.found[0].result.journal if "test_perplexity" in line]
        look = looks[one.row.series] | {"marker": "", "alpha": 1 - 0.3 * places[::-1].index(one.row.at)}
        words, perplexities = [line["words"] / 1e6 for line in journal], [line["test_perplexity"] for line in journal]
        below.plot(words, perplexities, label=one.row.row, **look)
    lowest = min(one.ours for one in done if one.ours is not None)
    above.set(ylabel="test perplexity", xlabel="million parameters")
    below.set(ylabel="test perplexity", xlabel="million words trained on", ylim=(0.95 * lowest, HIGHEST * lowest))
    below.legend(frameon=False, ncols=2)
    return figure


def frequency(rows: Sequence[ComparedRow]) -> Any:
    """Perplexity of words seen at most so often, a curve for each model."""
    figure, (axes,) = panels(1, 4.0)
    places = list(dict.fromkeys(one.row.at for one in rows))
    for name, look in _looks([one.row.series for one in rows]).items():
        own = [one for one in rows if one.row.series == name and one.ours is not None]
        axes.plot([places.index(one.row.at) for one in own], [one.ours for one in own], label=name, **look)
    axes.set(xlabel="seen at most so often in training", ylabel="test perplexity", yscale="log")
    axes.set_xticks(range(len(places)), places)
    axes.legend(frameon=False)
    return figure


def bars(rows: Sequence[ComparedRow]) -> Any:
    """A bar for each row that has a result; the paper's number, where it is printed, as a mark."""
    rows = [one for one in rows if one.ours is not None]
    figure, (axes,) = panels(1, 4.0)
    looks = _looks([one.row.series.partition(",")[0] for one in rows])
    added = [one.row.series.endswith("distributions") for one in rows]
    for place, one in enumerate(rows):
        colour = looks[one.row.series.partition(",")[0]]["color"]
        hatch = "//" if added[place] else ""
        axes.bar(place, one.ours, color=colour, hatch=hatch, edgecolor="none")
        plate = {"facecolor": colour, "edgecolor": "none", "pad": 1.5}
        where: dict[str, Any] = {"xytext": (0, FOOT), "textcoords": "offset points", "ha": "center"}
        axes.annotate(f"{one.ours:.1f}", (place, 0), color="white", fontsize=9, bbox=plate, **where)
        if one.paper is not None:
            axes.plot([place - 0.4, place + 0.4], [one.paper] * 2, color=INK, linewidth=2)
    axes.set_xticks(range(len(rows)), [_bar_name(one) for one in rows], fontsize=8)
    axes.set(ylabel="test perplexity")
    axes.set_title("line: the paper's number, on the paper's corpora", fontsize=9, loc="right")
    return figure


def _bar_name(one: ComparedRow) -> str:
    """The number of the bar, its data as they are here, and its model."""
    data = one.row.at
    for title, stand_in in one.stand_ins.items():
        data = data.replace(title, stand_in)
    kind, _, way = one.row.series.partition(", ")
    return "\n".join(filter(None, (f"({one.row.row})", data.replace("+", "\n+").strip(), kind, way.split(" ")[0])))


DRAWINGS: dict[str, Callable[[Sequence[ComparedRow]], Any]] = {
    "convergence": convergence,
    "frequency": frequency,
    "sizes": sizes,
    "bars": bars,
}
