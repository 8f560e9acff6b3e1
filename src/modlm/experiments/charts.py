"""Two small charts for a page: horizontal bars as HTML, which fits any width, and labelled points as SVG.

Neither needs a script or a plotting package; colours and fonts come from the page's style sheet.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 720, 360  # of the scatter chart, with its margins
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 16, 52
BEST = ' class="best"'
LETTER = 7.0  # width of an average letter of a label


@dataclass(frozen=True, slots=True)
class Bar:
    """A name, a value of zero or more, and the value as it is to be printed."""

    label: str
    value: float
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Point:
    """A name and a place; a point on a logarithmic axis lies above zero."""

    label: str
    x: float
    y: float


def bar_chart(bars: Sequence[Bar], *, unit: str) -> str:
    """Horizontal bars from zero, in the order given; the shortest is drawn in the accent colour."""
    finite = [bar.value for bar in bars if math.isfinite(bar.value)]
    longest, best = max(finite, default=0.0) or 1.0, min(finite, default=0.0)
    rows = "".join(_bar(bar, longest, best=bar.value == best) for bar in bars)
    return f'<ul class="bars" aria-label="{html.escape(unit)}">\n{rows}</ul>\n'


def _bar(bar: Bar, longest: float, *, best: bool) -> str:
    """One line; a value that is not finite (a model that gives some word no probability) fills it."""
    share = min(1.0, bar.value / longest) if math.isfinite(bar.value) else 1.0
    shown = bar.shown or (f"{bar.value:.1f}" if math.isfinite(bar.value) else "∞")
    return (
        f'<li{BEST if best else ""}><span class="name">{html.escape(bar.label)}</span>'
        f'<span class="length"><span class="bar" style="--share:{share:.4f}"></span>'
        f'<span class="value">{html.escape(shown)}</span></span></li>\n'
    )


def scatter_chart(points: Sequence[Point], *, title: str, x_label: str, y_label: str, log_x: bool = False) -> str:
    """Labelled points with axes that begin near the smallest value; `log_x` makes the horizontal axis logarithmic."""
    usable = [point for point in points if math.isfinite(point.x + point.y) and (point.x > 0 or not log_x)]
    x_ticks = (log_ticks if log_x else ticks)([point.x for point in usable])
    y_ticks = ticks([point.y for point in usable])

    scale = math.log if log_x else float

    def across(value: float) -> float:
        low, high = scale(x_ticks[0]), scale(x_ticks[-1])
        return LEFT + (WIDTH - LEFT - RIGHT) * (scale(value) - low) / (high - low)

    def down(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - y_ticks[0]) / (y_ticks[-1] - y_ticks[0])

    grid = [_x_tick(across(tick), tick) for tick in x_ticks] + [_y_tick(down(tick), tick) for tick in y_ticks]
    places = [(across(point.x), down(point.y)) for point in usable]
    dots = "".join(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="5"/>\n' for x, y in places)
    labels = _labels([point.label for point in usable], places)
    described = "; ".join(f"{point.label}: {point.x:g}, {point.y:g}" for point in usable)
    content = "".join(grid) + _axes(x_label, y_label) + dots + labels
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(title)}">\n'
        f"<desc>{html.escape(f'{x_label}, {y_label}. {described}')}</desc>\n{content}</svg>\n"
    )


def _axes(x_label: str, y_label: str) -> str:
    across, down = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    return (
        f'<text class="axis" x="{across}" y="{HEIGHT - 8}" text-anchor="middle">{html.escape(x_label)}</text>\n'
        f'<text class="axis" transform="translate(16 {down}) rotate(-90)" text-anchor="middle">'
        f"{html.escape(y_label)}</text>\n"
    )


def _labels(names: list[str], places: list[tuple[float, float]]) -> str:
    """Names beside their points, on the side with room, pushed up or down when two would lie on each other."""
    taken = [(x - 6, x + 6, y) for x, y in places]
    drawn = []
    for name, (x, y) in sorted(zip(names, places, strict=True), key=lambda item: item[1][1]):
        width = LETTER * len(name)
        left, line, anchor = min(_candidates(x, y, width), key=lambda spot: _crowd(spot[0], spot[1], width, taken))
        taken.append((left, left + width, line))
        at = left + {"start": 0, "middle": width / 2, "end": width}[anchor]
        place = f'x="{at:.1f}" y="{line:.1f}" dy="0.35em" text-anchor="{anchor}"'
        drawn.append(f'<text class="name" {place}>{html.escape(name)}</text>\n')
    return "".join(drawn)


def _candidates(x: float, y: float, width: float) -> list[tuple[float, float, str]]:
    """Left end, height and anchor of the places a label may take, the preferred ones first."""
    beside = [(x + 10, y + shift, "start") for shift in (0, -14, 14)] + [
        (x - 10 - width, y + shift, "end") for shift in (0, -14, 14)
    ]
    return beside + [(x - width / 2, y + shift, "middle") for shift in (-18, 18, -32, 32)]


def _crowd(left: float, line: float, width: float, taken: list[tuple[float, float, float]]) -> int:
    """How many things a label would lie on; outside the frame counts most."""
    outside = left < LEFT or left + width > WIDTH - 4 or line < TOP or line > HEIGHT - BOTTOM - 6
    return 100 * outside + sum(left < end and start < left + width and abs(line - y) < 14 for start, end, y in taken)


def _x_tick(x: float, value: float) -> str:
    return (
        f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}"/>\n'
        f'<text class="tick" x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{value:g}</text>\n'
    )


def _y_tick(y: float, value: float) -> str:
    return (
        f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>\n'
        f'<text class="tick" x="{LEFT - 8}" y="{y:.1f}" dy="0.35em" text-anchor="end">{value:g}</text>\n'
    )


def ticks(values: Sequence[float]) -> list[float]:
    """Four to eight round numbers around the values; at least two, also for no value or a single one."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if high - low < 1e-9 * max(1.0, abs(high)):
        room = 0.5 * abs(low) if abs(low) > 1e-6 else 0.5
        low, high = low - room, high + room
    rough = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(index * step, 12) for index in range(first, last + 1)]


def log_ticks(values: Sequence[float]) -> list[float]:
    """1, 2 and 5 times powers of ten around values above zero; powers of ten alone when the values span much."""
    low, high = (min(values), max(values)) if values else (1.0, 10.0)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = (1.0, 2.0, 5.0) if last - first <= 3 else (1.0,)
    steps = [factor * 10.0**power for power in range(first - 1, last + 2) for factor in factors]
    start = max(index for index, step in enumerate(steps) if step <= low)
    end = min(index for index, step in enumerate(steps) if step >= high)
    return steps[start : max(end, start + 1) + 1]
