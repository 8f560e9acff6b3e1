"""The explorer with a model of tokens: a word has the probability of its tokens, and text is written by tokens."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("tokenizers", reason="the extra hf is not installed")

from browser.exploring import Explorer, Served
from modlm.model.ngram_lm import NgramLM
from modlm.text.tokens import TokenVocabulary
from small_tokenizers import SENTENCES, byte_level

pytestmark = pytest.mark.xdist_group("browser tokens")  # one browser and one server for all of them

TOKENS = 262  # most are single letters
LINE = "the  company said naïve 😀 shares"


@pytest.fixture(scope="module")
def tokens(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    for package in ("fastapi", "uvicorn"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    folder = tmp_path_factory.mktemp("tokens")
    vocabulary = TokenVocabulary.from_tokenizer(byte_level(tokens=TOKENS))
    NgramLM.fit(list(SENTENCES), order=6, vocabulary=vocabulary, smoothing="witten-bell").save(folder / "tokens")
    NgramLM.fit(list(SENTENCES), order=3, smoothing="witten-bell").save(folder / "words")
    served = Served(folder, ["tokens=tokens", "words=words"], [])
    yield served
    served.stop()


@pytest.fixture
def explorer(browser: Any, tokens: Served, context: Any) -> Iterator[Explorer]:
    explorer = Explorer(browser, tokens, context=context)
    yield explorer
    explorer.close()
    assert explorer.complaints == [], explorer.refusals


def test_a_word_has_the_bits_of_its_tokens(explorer: Explorer) -> None:
    explorer.open().type(LINE)
    explorer.scored("shares")
    scores = explorer.ask("score", {"model": "tokens", "sentences": [LINE], "words": True})["sentences"][0]["scores"]
    words, starts = LINE.split(), []
    for word in words:
        starts.append(LINE.index(word, starts[-1] + 1 if starts else 0))
    sums = [0.0] * (len(words) + 1)
    for score in scores[:-1]:
        own = next(at for at, start in enumerate(starts) if score["start"] < start + len(words[at]))
        sums[own] -= score["log_prob"] / math.log(2)
    sums[-1] = -scores[-1]["log_prob"] / math.log(2)
    shown = explorer.page.locator(".w, .end").evaluate_all("(all) => all.map((own) => Number(own.dataset.bits))")
    assert shown == pytest.approx(sums, abs=0.51)
    assert f"{TOKENS} tokens" in explorer.page.locator(".summary").inner_text()


def test_the_card_of_a_word_tells_of_each_token(explorer: Explorer) -> None:
    explorer.open().type(LINE)
    explorer.scored("shares")
    explorer.click("naïve")
    explorer.page.wait_for_selector(".word-card h3.token")
    answer = explorer.ask("score", {"model": "tokens", "sentences": [LINE], "words": True})
    pieces = [
        score for score in answer["sentences"][0]["scores"] if 17 <= score["start"] < 23
    ]  # the space before it, too
    assert explorer.page.locator(".word-card h3.token").count() == len(pieces) > 1
    assert explorer.page.locator(".word-card .bar").count() == len(pieces)


def test_why_lets_choose_among_the_tokens_of_a_word(explorer: Explorer) -> None:
    explorer.open("view=why").type(LINE)
    explorer.scored("shares")
    explorer.click("naïve")
    choice = explorer.page.get_by_role("group", name="Tokens of the word")
    choice.get_by_role("button", name="v", exact=True).wait_for()  # no longer the word that the cursor was in
    first = explorer.page.locator(".word-name").inner_text()
    choice.get_by_role("button").last.click()
    explorer.page.wait_for_function("(old) => document.querySelector('.word-name').textContent !== old", arg=first)
    assert choice.get_by_role("button").last.get_attribute("aria-pressed") == "true"
    assert f" of {TOKENS}" in explorer.page.locator(".facts").first.inner_text()


def test_a_token_that_is_accepted_goes_on_with_the_text(explorer: Explorer) -> None:
    explorer.open("view=next").type("the company said it wou")
    for written in ("the company said it woul", "the company said it would", "the company said it would b"):
        explorer.page.locator(".next-list button", has_text=written[-1]).first.click()
        assert explorer.text().rstrip() == written


def test_a_cursor_that_the_browser_forgets_is_remembered(explorer: Explorer) -> None:
    """Browsers may move the cursor of a text that is changed while focus is elsewhere; here a script does."""
    explorer.open("view=next").type("the company said it wou")
    accepted = explorer.page.locator(".next-list button", has_text="l").first
    accepted.click()
    explorer.page.evaluate("document.querySelector('#text-input').setSelectionRange(0, 0)")
    explorer.page.locator(".next-list button", has_text="d").first.click()
    assert explorer.text().rstrip() == "the company said it would"
    explorer.page.evaluate("document.querySelector('#text-input').setSelectionRange(0, 0)")
    explorer.page.locator("#text-input").focus()
    explorer.page.keyboard.type("!")
    assert explorer.text().rstrip() == "the company said it would!"


def test_generated_tokens_make_words(explorer: Explorer) -> None:
    explorer.open("view=next").type("the comp")
    explorer.page.get_by_label("Temperature").fill("0")
    explorer.button("Generate").click()
    explorer.page.wait_for_function("() => document.querySelector('#text-input').value.length > 30")
    explorer.button("Generate").wait_for()
    assert explorer.text().split()[:2] == ["the", "company"]
    assert {*explorer.text().split()[:-1]} <= {word for sentence in SENTENCES for word in sentence.split()}


def test_models_of_words_and_of_tokens_are_compared_by_word(explorer: Explorer) -> None:
    explorer.open("view=compare").type("the company said")
    explorer.scored("said")
    shown = explorer.page.locator("table tbody tr td:nth-child(2)").all_inner_texts()
    body = {"sentences": ["the company said"]}
    sums = [explorer.ask("score", {"model": name, **body})["log_prob"] for name in ("tokens", "words")]
    assert [float(value) for value in shown[:2]] == pytest.approx([math.exp(-own / 4) for own in sums], rel=0.01)
