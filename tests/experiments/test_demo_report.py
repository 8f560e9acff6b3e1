"""The report is one whole, well-formed page that asks the outside for nothing, whatever it is given."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.experiments.charts import Point, bar_chart, scatter_chart, ticks
from modlm.experiments.demo_report import DemoResult, Trained, page
from modlm.ground.progress import percent
from modlm.model.language_model import Explanation, Prediction

MODEL: Any = None  # the page asks it for nothing
VOID = {"meta", "line", "circle"}


class Balanced(HTMLParser):
    """Fails when a tag is closed that is not open; keeps the text and the attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> without a start"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def parsed(page: str) -> Balanced:
    parser = Balanced()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


def full_report(word: str = "bytes") -> str:
    tests = {word: (12.5, 1_500_000), "an other": (25.0, 3_000_000), "none at all": (math.inf, 4_000_000)}
    rows = tuple(Trained(name, MODEL, 1.0, 9.0, test, 1e6, size) for name, (test, size) in tests.items())
    shares = {"1-gram": 0.25, f"2-gram of {word}": 0.75}
    words = [Prediction(word, 0.25, shares), Prediction("x", 0.001, dict(zip(shares, (1.0, 0.0), strict=True)))]
    result = DemoResult(
        rows=rows, best=rows[0], folder="ngram", predictions=((f"the {word}", words),), explained=rows[1],
        explanation=(Explanation(word, True, 0.5, {}, {}, shares),), words=(70, 20, 10), vocabulary=5, seconds=3.0,
    )  # fmt: skip
    return page(result)


def test_everything_given_is_on_the_page() -> None:
    text = " ".join(parsed(full_report()).text)
    for expected in (
        "were saved: bytes",
        "modlm serve .",
        "70 words",
        "12.5",
        "∞",
        "2-gram",
        "the bytes",
        "25.0%",
        "0.10%",
        "0.5000",
    ):
        assert expected in text


def test_the_page_asks_the_outside_for_nothing() -> None:
    shown = full_report()
    assert not re.search(r"https?:|//|@import|url\(|<script|<link|<img|<iframe", shown)
    assert not [name for name, _ in parsed(shown).attributes if name in ("src", "href") or name.startswith("on")]


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20))
def test_any_word_is_shown_as_it_is_and_never_becomes_markup(word: str) -> None:
    plain, given_word = parsed(full_report()), parsed(full_report(word))
    assert word in "".join(given_word.text)
    assert [name for name, _ in given_word.attributes] == [name for name, _ in plain.attributes]


def test_markup_in_words_is_escaped() -> None:
    shown = full_report("<script>alert(1)</script>")
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown


def test_the_bars_have_lengths_in_proportion_and_the_shortest_is_marked() -> None:
    page = bar_chart([Point("a", 1.0, 10.0, "ten"), Point("b", 1.0, 40.0, "forty")], unit="perplexity")
    assert re.findall(r"--share:([\d.]+)", page) == ["0.2500", "1.0000"]
    assert re.findall(r'class="best"><span class="name">(\w)', page) == ["a"] and "forty" in page


def test_shares_add_up_to_the_length_of_the_longest_word() -> None:
    widths = [float(width) for width in re.findall(r"width:([\d.]+)%", full_report())]
    assert widths == [25.0, 75.0, 0.4]  # the second word has 0.001 / 0.25 of the first


@pytest.mark.parametrize("values", [[(2.0, 2.0)], [(1.0, 3.0), (1.0, 3.0)], [(0.001, 1e6), (7.0, 2.0)]])
def test_points_few_or_alike_are_drawn_inside_the_frame(values: list[tuple[float, float]]) -> None:
    picture = scatter_chart([Point("model", x, y, "") for x, y in values], title="t", x_label="x", y_label="y")
    parsed(picture)
    for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', picture):
        assert 64 <= float(x) <= 696 and 16 <= float(y) <= 308


def test_every_point_has_its_number_at_the_end_of_a_line_and_its_name_below() -> None:
    sizes = [16.9] * 8 + [5.7, 5.6, 11.6, 11.6]
    perplexities = [179.2, 137.4, 102.4, 112.5, 114.5, 105.5, 97.5, 95.2, 98.3, 99.3, 114.2, 109.6]
    points = [Point(f"model {x} {y}", x, y, f"{y}") for x, y in zip(sizes, perplexities, strict=True)]
    picture = scatter_chart(points, title="t", x_label="x", y_label="y")
    dots = re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', picture)
    leaders = re.findall(r'leader" x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)"', picture)
    numbers = re.findall(r'<text class="name" x="([\d.]+)" y="([\d.]+)"[^>]*>(\d+)<', picture)
    assert sorted(int(number) for *_, number in numbers) == list(range(1, 13))
    for (x1, y1, x2, y2), (x, y, number) in zip(leaders, numbers, strict=True):
        assert (x1, y1) == dots[int(number) - 1] and (x2, y2) == (x, y)
        assert math.dist((float(x1), float(y1)), (float(x2), float(y2))) < 60
    places = [(float(x), float(y)) for x, y, _ in numbers]
    assert all(abs(a[0] - b[0]) > 12 or abs(a[1] - b[1]) > 12 for i, a in enumerate(places) for b in places[:i])
    assert re.findall(r"<li>([^<]+)</li>", picture) == [f"{point.label}, {point.shown}" for point in points]


@given(st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=5))
def test_ticks_enclose_the_values(values: list[float]) -> None:
    found = ticks(values)
    assert 2 <= len(found) <= 20 and found == sorted(set(found))
    assert found[0] <= min(values) * (1 + 1e-9) and found[-1] >= max(values) * (1 - 1e-9)


@pytest.mark.parametrize(
    ("probability", "expected"), [(0.5, "50.0%"), (0.0123, "1.2%"), (0.00456, "0.46%"), (1e-9, "<0.01%"), (0.0, "0.0%")]
)
def test_probabilities_are_short(probability: float, expected: str) -> None:
    assert percent(probability) == expected
