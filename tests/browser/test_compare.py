"""Models with unlike vocabularies and long names, side by side: what is fair, and what fits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from browser.exploring import SENTENCES, Explorer, Served
from modlm.model.ngram_lm import NgramLM

pytestmark = pytest.mark.xdist_group("browser compare")  # one browser and one server for all of them

LONG = "a-model-whose-name-says-everything-about-how-and-when-it-was-trained-2026"
TEXT = "the bird sang to the xyzzy\na dog sang"


@pytest.fixture(scope="module")
def served(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    for package in ("fastapi", "uvicorn"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    folder = tmp_path_factory.mktemp("unlike")
    NgramLM.fit(SENTENCES, order=2, smoothing="witten-bell").save(folder / "models" / LONG)
    few = ["the a a the", "the the a", "a the"]  # knows two words, and takes the rest for <unk>
    NgramLM.fit([*few, *["xa the", "the xb a", "xc xd xe xf xg"]], order=2, min_count=2, smoothing="witten-bell").save(
        folder / "models" / "z"
    )
    served = Served(folder, ["models"], [])
    yield served
    served.stop()


@pytest.fixture
def compared(explorer: Explorer) -> Explorer:
    explorer.open("view=compare").type(TEXT)
    explorer.scored("xyzzy")
    explorer.page.locator(".compare-table .good, .compare-table .bad").first.wait_for()
    return explorer


def cells(explorer: Explorer) -> list[list[str]]:
    rows = explorer.page.locator("section", has_text="Models on this text").locator("tbody tr").all()
    return [row.locator("td").all_inner_texts() for row in rows]


def test_the_model_that_knows_fewer_words_does_not_win_by_it(compared: Explorer) -> None:
    answer = compared.ask("compare", {"models": [LONG, "z"], "text": TEXT})
    whole, few = answer["models"]
    assert few["perplexity"] < whole["perplexity"] and (whole["unknown"], few["unknown"]) == (1, 6)
    spelled = dict.fromkeys((LONG, "z"), 0)
    for sentence in answer["sentences"]:
        for word in sentence["words"]:
            for name, known in zip(spelled, word["known"], strict=True):
                spelled[name] += 0 if known else len(word["word"])
    size = len(TEXT) + 1
    bits = [
        (8 * spelled[name] - own["log_prob"] / math.log(2)) / size
        for name, own in zip(spelled, (whole, few), strict=True)
    ]
    assert bits[1] > bits[0]  # with their letters, unknown words are dear
    (_, *first), (_, *second) = cells(compared)
    assert first == ["1", f"{bits[0]:.3f}", "–"]
    assert second == ["6", f"{bits[1]:.3f}", f"−{bits[1] - bits[0]:.3f}"]
    assert compared.page.locator(".compare-table .good").count() == 0
    warning = compared.page.locator(".warning").inner_text()
    assert warning.startswith("5 words are known to some of these models only")


def test_words_that_only_one_model_knows_have_no_colour_and_move_nothing(compared: Explorer) -> None:
    unlike = compared.page.locator(".w.unlike").all_inner_texts()
    assert unlike == ["bird", "sang", "to", "dog", "sang"]
    moved = set(compared.page.locator(".movers b").all_inner_texts())
    assert moved and not moved & set(unlike)


def test_models_that_know_the_same_words_are_compared_without_a_warning(explorer: Explorer) -> None:
    explorer.open("view=compare&text=the+a")
    explorer.scored("a")
    explorer.page.locator(".compare-table td", has_text=".").first.wait_for()
    assert explorer.page.locator(".warning").count() == 0


@pytest.mark.parametrize("width", [1280, 390])
def test_a_long_name_leaves_the_numbers_in_their_card(compared: Explorer, width: int) -> None:
    compared.page.set_viewport_size({"width": width, "height": 800})
    room = compared.page.locator(".compare-table").evaluate_all(
        """(all) => all.map((own) =>
            own.closest(".card").getBoundingClientRect().right - own.getBoundingClientRect().right)"""
    )
    assert len(room) == 2 and min(room) >= 0
    assert compared.page.evaluate("() => document.documentElement.scrollWidth") == width
