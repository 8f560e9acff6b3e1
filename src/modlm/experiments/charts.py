"""Two small charts for a page: horizontal bars as HTML, which fits any width, and numbered points as SVG.

Neither needs a script or a plotting package; colours and fonts come from the page's style sheet.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 720, 360  # of the scatter chart, with its margins
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 16, 52
BEST = ' class="best"'
LETTER = 8.0  # width of a figure of a label
FACTORS = ((1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0,))  # of powers of ten, the finest first


@dataclass(frozen=True, slots=True)
class Point:
    """A name and a place, both numbers above zero, and the second as it is to be printed."""

    label: str
    x: float
    y: float
    shown: str


def bar_chart(points: Sequence[Point], *, unit: str) -> str:
    """Horizontal bars as long as y, in the order given; the shortest is drawn in the accent colour."""
    shortest, longest = min(point.y for point in points), max(point.y for point in points)
    rows = "".join(
        f'<li{BEST if point.y == shortest else ""}><span class="name">{html.escape(point.label)}</span>'
        f'<span class="length"><span class="bar" style="--share:{point.y / longest:.4f}"></span>'
        f'<span class="value">{html.escape(point.shown)}</span></span></li>\n'
        for point in points
    )
    return f'<ul class="bars" aria-label="{html.escape(unit)}">\n{rows}</ul>\n'


def scatter_chart(points: Sequence[Point], *, title: str, x_label: str, y_label: str) -> str:
    """Numbered points between two logarithmic axes that begin near the smallest values, and below them their names."""
    x_ticks, y_ticks = ticks([point.x for point in points]), ticks([point.y for point in points])
    across, down = _scale(x_ticks, LEFT, WIDTH - RIGHT), _scale(y_ticks, HEIGHT - BOTTOM, TOP)
    grid = [
        f'<line class="grid" x1="{across(tick):.1f}" y1="{TOP}" x2="{across(tick):.1f}" y2="{HEIGHT - BOTTOM}"/>\n'
        f'<text class="tick" x="{across(tick):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{tick:g}</text>\n'
        for tick in x_ticks
    ] + [
        f'<line class="grid" x1="{LEFT}" y1="{down(tick):.1f}" x2="{WIDTH - RIGHT}" y2="{down(tick):.1f}"/>\n'
        f'<text class="tick" x="{LEFT - 8}" y="{down(tick):.1f}" dy="0.35em" text-anchor="end">{tick:g}</text>\n'
        for tick in y_ticks
    ]
    axes = (
        f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">'
        f'{html.escape(x_label)}</text>\n<text class="axis" transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2}) '
        f'rotate(-90)" text-anchor="middle">{html.escape(y_label)}</text>\n'
    )
    places = [(across(point.x), down(point.y)) for point in points]
    dots = "".join(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="5"/>\n' for x, y in places)
    described = "; ".join(f"{point.label}: {point.x:g}, {point.y:g}" for point in points)
    names = "".join(f"<li>{html.escape(point.label)}, {html.escape(point.shown)}</li>\n" for point in points)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(title)}">\n'
        f"<desc>{html.escape(f'{x_label}, {y_label}. {described}')}</desc>\n"
        f"{''.join(grid)}{axes}{_labels(places)}{dots}</svg>\n"
        f'<ol class="names">\n{names}</ol>\n'
    )


def _scale(steps: Sequence[float], begin: float, end: float) -> Callable[[float], float]:
    low, high = math.log(steps[0]), math.log(steps[-1])
    return lambda value: begin + (end - begin) * (math.log(value) - low) / (high - low)


def _labels(places: list[tuple[float, float]]) -> str:
    """Numbers near their points, each at the end of a line, where nothing else lies."""
    taken = [(x - 6, x + 6, y) for x, y in places]
    drawn = []
    for number, (x, y) in sorted(enumerate(places, start=1), key=lambda item: item[1][1]):
        width = LETTER * len(str(number))
        spots = [
            (x + far * math.cos(turn * math.pi / 4), y + far * math.sin(turn * math.pi / 4))
            for far in (16, 28, 40, 52)
            for turn in (0, 4, 7, 5, 1, 3, 6, 2)
        ]
        across, down = min(spots, key=lambda spot: _crowd(spot[0] - width / 2, spot[1], width, taken))
        taken.append((across - width / 2, across + width / 2, down))
        drawn.append(
            f'<line class="leader" x1="{x:.1f}" y1="{y:.1f}" x2="{across:.1f}" y2="{down:.1f}"/>\n'
            f'<text class="name" x="{across:.1f}" y="{down:.1f}" dy="0.35em" text-anchor="middle">{number}</text>\n'
        )
    return "".join(drawn)


def _crowd(left: float, line: float, width: float, taken: list[tuple[float, float, float]]) -> int:
    """How many things a label would lie on; outside the frame counts most."""
    outside = left < LEFT or left + width > WIDTH - 4 or line < TOP or line > HEIGHT - BOTTOM - 6
    return 100 * outside + sum(left < end and start < left + width and abs(line - y) < 14 for start, end, y in taken)


def ticks(values: Sequence[float]) -> list[float]:
    """Round numbers around values above zero, the closer to each other the less these differ; at least two."""
    low, high = min(values), max(values)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = FACTORS[0 if high < 4 * low else 1 if high < 1000 * low else 2]
    steps = [factor * 10.0**power for power in range(first - 1, last + 2) for factor in factors]
    start = max(index for index, step in enumerate(steps) if step <= low)
    end = min(index for index, step in enumerate(steps) if step >= high)
    return steps[start : max(end, start + 1) + 1]
