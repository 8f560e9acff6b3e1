"""The report is one whole, well-formed page that asks the outside for nothing, whatever it is given."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.errors import OutputError
from modlm.experiments.charts import Bar, Point, bar_chart, log_ticks, scatter_chart, ticks
from modlm.experiments.report import (
    BarPlot,
    NextWord,
    Predictions,
    Report,
    ScatterPlot,
    Table,
    percent,
    render,
    write_report,
)

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


def full_report(word: str = "bytes") -> Report:
    return Report(
        title=f"Report on {word}",
        paragraphs=(f"About {word}.",),
        table=Table(columns=("model", "perplexity"), rows=((word, "12.5"), ("other", "–")), best=0, note=word),
        bars=BarPlot(title="Perplexity", bars=(Bar(word, 12.5), Bar("other", 25.0), Bar("none", math.inf))),
        scatter=ScatterPlot(
            title="Size", points=(Point(word, 1.5, 12.5), Point("other", 3, 25)), x_label="MB", y_label=word, log_x=True
        ),
        predictions=(
            Predictions(
                context=f"the {word}",
                columns=("1-gram", "2-gram"),
                words=(NextWord(word, 0.25, (0.25, 0.75)), NextWord("x", 0.001, (1.0, 0.0))),
            ),
        ),
        closing=(f"Made from {word}.",),
    )


def test_everything_given_is_on_the_page() -> None:
    text = " ".join(parsed(render(full_report())).text)
    for expected in ("Report on bytes", "About bytes.", "12.5", "2-gram", "the bytes", "25.0%", "0.10%", "Made from"):
        assert expected in text


def test_a_report_of_nothing_but_a_title_is_a_page() -> None:
    assert "Only a title" in "".join(parsed(render(Report(title="Only a title"))).text)


def test_the_page_asks_the_outside_for_nothing() -> None:
    page = render(full_report())
    assert not re.search(r"https?:|//|@import|url\(|<script|<link|<img|<iframe", page)
    assert not [name for name, _ in parsed(page).attributes if name in ("src", "href") or name.startswith("on")]


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20))
def test_any_word_is_shown_as_it_is_and_never_becomes_markup(word: str) -> None:
    plain, given_word = parsed(render(full_report())), parsed(render(full_report(word)))
    assert word in "".join(given_word.text)
    assert [name for name, _ in given_word.attributes] == [name for name, _ in plain.attributes]


def test_markup_in_words_is_escaped() -> None:
    page = render(full_report("<script>alert(1)</script>"))
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_the_bars_have_lengths_in_proportion_and_the_shortest_is_marked() -> None:
    page = bar_chart([Bar("a", 10.0), Bar("b", 40.0), Bar("c", math.inf)], unit="perplexity")
    assert re.findall(r"--share:([\d.]+)", page) == ["0.2500", "1.0000", "1.0000"]
    assert page.count('class="best"') == 1
    assert "∞" in page


def test_shares_add_up_to_the_length_of_the_longest_word() -> None:
    widths = [float(width) for width in re.findall(r"width:([\d.]+)%", render(full_report()))]
    assert widths == [25.0, 75.0, 0.4]  # the second word has 0.001 / 0.25 of the first


@pytest.mark.parametrize("log_x", [False, True])
@pytest.mark.parametrize("values", [[], [(2.0, 2.0)], [(1.0, 0.0), (1.0, 0.0)], [(0.0, 1.0)], [(math.nan, 1.0)]])
def test_a_scatter_chart_of_few_or_odd_points_is_drawn(values: list[tuple[float, float]], log_x: bool) -> None:
    points = [Point("model", x, y) for x, y in values]
    picture = scatter_chart(points, title="t", x_label="x", y_label="y", log_x=log_x)
    parsed(picture)
    assert "nan" not in picture


@given(st.lists(st.floats(-1e6, 1e6), max_size=5))
def test_ticks_enclose_the_values(values: list[float]) -> None:
    found = ticks(values)
    assert 2 <= len(found) <= 12
    assert found == sorted(set(found))
    if values:
        slack = 1e-6 * max(1.0, *(abs(value) for value in values))
        assert found[0] <= min(values) + slack
        assert found[-1] >= max(values) - slack


@given(st.lists(st.floats(1e-6, 1e9), max_size=5))
def test_logarithmic_ticks_enclose_the_values(values: list[float]) -> None:
    found = log_ticks(values)
    assert 2 <= len(found) <= 20
    if values:
        assert found[0] <= min(values) * (1 + 1e-9)
        assert found[-1] >= max(values) * (1 - 1e-9)


@pytest.mark.parametrize(
    ("probability", "expected"), [(0.5, "50.0%"), (0.0123, "1.2%"), (0.00456, "0.46%"), (1e-9, "<0.01%"), (0.0, "0%")]
)
def test_probabilities_are_short(probability: float, expected: str) -> None:
    assert percent(probability) == expected


def test_the_page_is_written_and_replaces_an_older_one(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    write_report(Report(title="old"), target)
    assert write_report(Report(title="new"), target) == target
    assert "<title>new</title>" in target.read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="create it first"):
        write_report(Report(title="t"), tmp_path / "missing" / "report.html")
