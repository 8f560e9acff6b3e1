"""The report is one whole, well-formed page that asks the outside for nothing, whatever it is given."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.errors import OutputError
from modlm.experiments.charts import Point, bar_chart, scatter_chart, ticks
from modlm.experiments.report import Report, Table, render, write_report
from modlm.model.language_model import Prediction
from modlm.progress import percent

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
    first = Prediction(word, 0.25, {"1-gram": 0.25, "2-gram": 0.75})
    return Report(
        title=f"Report on {word}",
        paragraphs=(f"About {word}.",),
        table=Table(title=word, columns=("model", word), rows=((word, "12.5"), ("other", "–")), best=0, note=word),
        models=(Point(word, 1.5, 12.5, "12.5"), Point("other", 3, 25, word)),
        predictions=((f"the {word}", [first, Prediction("x", 0.001, {"1-gram": 1.0, "2-gram": 0.0})]),),
        explanation=Table(title=f"How {word} comes", columns=("word", "p"), rows=((word, "0.5"),)),
        closing=f"Made from {word}.",
    )


def test_everything_given_is_on_the_page() -> None:
    text = " ".join(parsed(render(full_report())).text)
    for expected in ("Report on bytes", "About bytes.", "12.5", "2-gram", "the bytes", "25.0%", "0.10%", "Made from"):
        assert expected in text


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
    page = bar_chart([Point("a", 1.0, 10.0, "ten"), Point("b", 1.0, 40.0, "forty")], unit="perplexity")
    assert re.findall(r"--share:([\d.]+)", page) == ["0.2500", "1.0000"]
    assert re.findall(r'class="best"><span class="name">(\w)', page) == ["a"] and "forty" in page


def test_shares_add_up_to_the_length_of_the_longest_word() -> None:
    widths = [float(width) for width in re.findall(r"width:([\d.]+)%", render(full_report()))]
    assert widths == [25.0, 75.0, 0.4]  # the second word has 0.001 / 0.25 of the first


@pytest.mark.parametrize("values", [[(2.0, 2.0)], [(1.0, 3.0), (1.0, 3.0)], [(0.001, 1e6), (7.0, 2.0)]])
def test_points_few_or_alike_are_drawn_inside_the_frame(values: list[tuple[float, float]]) -> None:
    picture = scatter_chart([Point("model", x, y, "") for x, y in values], title="t", x_label="x", y_label="y")
    parsed(picture)
    for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', picture):
        assert 64 <= float(x) <= 696 and 16 <= float(y) <= 308


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


def test_the_page_is_written_and_replaces_an_older_one(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    for word in ("old", "new"):
        write_report(full_report(word), target)
    assert "<title>Report on new</title>" in target.read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="create it first"):
        write_report(full_report(), tmp_path / "missing" / "report.html")
