"""How cost grows with size: power laws through measurements, a figure of them, and what they say of larger sizes."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

LOOKS = {"memory": ("#0072b2", "o", "-"), "disk": ("#d55e00", "s", "--"), "spark": ("#009e73", "^", "-.")}
PANELS = {"seconds": "seconds", "peak_bytes": "peak memory, bytes", "temporary_bytes": "temporary files, bytes"}


@dataclass(frozen=True, slots=True)
class Power:
    """factor · words ** exponent"""

    factor: float
    exponent: float

    def at(self, words: float) -> float:
        """The value at a size."""
        return self.factor * words**self.exponent


def power(words: Sequence[float], values: Sequence[float]) -> Power | None:
    """The straight line through the logarithms; None for fewer than two sizes."""
    places = [(math.log(x), math.log(y)) for x, y in zip(words, values, strict=True) if x > 0 and y > 0]
    if len({x for x, _ in places}) < 2:
        return None
    slope, height = np.polyfit(*np.array(places).T, 1)
    return Power(float(np.exp(height)), float(slope))


def figure(series: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Each cost of each engine against words, both axes in logarithms, as SVG."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style: Any = {"svg.hashsalt": "modlm", "svg.fonttype": "none", "axes.grid": True, "grid.alpha": 0.3}
    with matplotlib.rc_context(style):
        drawing: Any = Figure(figsize=(9.6, 3.4), layout="constrained")
        FigureCanvasSVG(drawing)
        for axes, (name, label) in zip(drawing.subplots(1, len(PANELS)), PANELS.items(), strict=True):
            for engine, runs in series.items():
                colour, mark, line = LOOKS.get(engine, ("#555555", "D", ":"))
                places = [(run["words"], run[name]) for run in runs if run[name]]
                if places:
                    axes.plot(*zip(*places, strict=True), color=colour, marker=mark, linestyle=line, label=engine)
            axes.set(xlabel="words", ylabel=label, xscale="log", yscale="log")
        lines, names = drawing.axes[0].get_legend_handles_labels()
        drawing.legend(lines, names, loc="outside upper center", ncols=max(1, len(names)), frameon=False)
        text = io.StringIO()
        drawing.savefig(text, format="svg", metadata={"Date": None, "Title": "Cost of counting against size"})
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"
