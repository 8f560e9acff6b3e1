"""How cost grows with size: power laws through measurements, a figure of them, and what they say of larger sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modlm.experiments.reproduce import figures

PANELS = {
    "seconds": ("seconds", 1), "peak_bytes": ("peak memory, GB", 1e9), "temporary_bytes": ("temporary files, GB", 1e9),
}  # fmt: skip


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
    from matplotlib.ticker import LogLocator

    with matplotlib.rc_context(figures.STYLE):
        drawing, panels = figures.panels(len(PANELS), 7.5)
        for axes, (name, (label, unit)) in zip(panels, PANELS.items(), strict=True):
            for place, (engine, runs) in enumerate(series.items()):
                look = {
                    "color": figures.COLOURS[place],
                    "linestyle": figures.STYLES[place],
                    "marker": figures.MARKS[place],
                }
                places = [(run["words"], run[name] / unit) for run in runs if run[name]]
                if places:
                    look = {"color": figures.COLOURS[place], "linestyle": figures.STYLES[place]}
                    axes.plot(*zip(*places, strict=True), label=engine, marker=figures.MARKS[place], **look)
            axes.set(ylabel=label, xscale="log", yscale="log")
            axes.yaxis.set(major_locator=LogLocator(subs=(1, 2, 5)), major_formatter="{x:g}", minor_formatter="")
        panels[-1].set(xlabel="words")
        panels[-1].xaxis.set_major_formatter("{x:,.0f}")
        panels[0].legend(frameon=False)
        return figures.svg(drawing, "Cost of counting against size")
