"""The explorer's text: colours, perplexities, the card of a word, unknown words, and what goes wrong."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import pytest

from browser.exploring import Explorer, Served, long_text

pytestmark = pytest.mark.xdist_group("browser text")  # one browser and one server for all of them

TEXT = "the cat sat on the mat\nthe dog quacked"


def test_an_empty_page_teaches_and_offers_examples(explorer: Explorer) -> None:
    explorer.open()
    assert explorer.page.get_by_role("heading", name="Begin with a text").is_visible()
    explorer.button("One odd word").click()
    explorer.scored()
    explorer.button("Undo").click()
    assert explorer.text() == ""


@pytest.mark.parametrize(("view", "shown"), [("compare", ".movers li"), ("why", ".why-table tbody tr")])
def test_other_views_without_a_text_offer_examples_too(explorer: Explorer, view: str, shown: str) -> None:
    explorer.open(f"view={view}")
    explorer.button("One odd word").click()
    explorer.page.locator(shown).first.wait_for()
    assert not explorer.page.get_by_role("heading", name="Begin with a text").is_visible()


def test_words_are_coloured_by_their_bits_as_the_server_gives_them(explorer: Explorer) -> None:
    explorer.open().type(TEXT)
    explorer.scored("quacked")
    answer = explorer.ask("score", {"model": "wb", "sentences": TEXT.split("\n"), "words": True})
    bits = [-score["log_prob"] / math.log(2) for line in answer["sentences"] for score in line["scores"]]
    shown = explorer.page.locator(".w, .end").evaluate_all("(all) => all.map((own) => Number(own.dataset.bits))")
    assert shown == pytest.approx(bits, abs=0.51)  # whole bits from ten on
    steps = explorer.page.locator(".w, .end").evaluate_all("(all) => all.map((own) => /s(\\d)/.exec(own.className)[1])")
    assert [int(step) for step in steps] == [min(8, int(own // 2)) for own in bits]
    assert explorer.page.locator(".figure").first.inner_text() == f"{answer['perplexity']:.2f}"[:4].rstrip(".")
    beside = explorer.page.locator(".line").evaluate_all("(all) => all.map((own) => own.dataset.perplexity)")
    assert [float(own) for own in beside] == pytest.approx(
        [line["perplexity"] for line in answer["sentences"]], rel=0.01
    )


def test_typing_scores_only_the_sentence_that_changed(explorer: Explorer) -> None:
    explorer.open().type(TEXT)
    explorer.scored("quacked")
    asked: list[Any] = []
    explorer.page.on("request", lambda request: request.url.endswith("/score") and asked.append(request.post_data_json))
    explorer.page.locator("#text-input").press("End")
    explorer.page.keyboard.type(" on", delay=20)
    explorer.scored("quacked", "on")
    explorer.page.wait_for_timeout(200)
    assert [body["sentences"] for body in asked][-1] == ["the dog quacked on"]
    assert all("the cat sat on the mat" not in body["sentences"] for body in asked)


def test_an_answer_that_comes_late_does_not_colour_another_text(explorer: Explorer) -> None:
    explorer.open()
    held: list[Any] = []
    explorer.page.route("**/score", lambda route: route.continue_() if held else held.append(route))
    explorer.type("the cat sat")
    explorer.page.wait_for_timeout(400)
    explorer.type("a dog")
    held[0].continue_()
    explorer.scored("dog")
    assert explorer.page.locator(".w").all_inner_texts() == ["a", "dog"]
    wanted = explorer.ask("score", {"model": "wb", "sentences": ["a dog"], "words": True})["sentences"][0]["scores"]
    assert explorer.word("dog").get_attribute("data-bits") == f"{-wanted[1]['log_prob'] / math.log(2):.1f}"


def test_a_word_under_the_mouse_shows_what_each_column_gave(explorer: Explorer) -> None:
    explorer.open().type(TEXT)
    explorer.scored("quacked")
    explorer.hover("sat")
    card = explorer.page.locator(".word-card")
    card.get_by_role("heading", name="sat").wait_for()
    card.locator(".parts:not(.stale) tbody tr").first.wait_for()
    assert explorer.page.locator("#tip").is_visible()
    explained = explorer.ask("explain", {"model": "wb", "text": "the cat sat on the mat"})
    word = explained["sentences"][0]["words"][2]
    assert card.locator("tbody th").all_inner_texts() == explained["columns"]
    shares = [float(own.rstrip("%").lstrip("<")) / 100 for own in card.locator("tbody td:last-child").all_inner_texts()]
    assert shares == pytest.approx(word["shares"], abs=0.0051)
    widths = card.locator(".bar i").evaluate_all("(all) => all.map((own) => own.getBoundingClientRect().width)")
    assert len(widths) == sum(share > 0.0005 for share in word["shares"])


def test_unknown_words_are_marked_and_said_to_be_so(explorer: Explorer) -> None:
    explorer.open().type(TEXT)
    explorer.scored("quacked")
    assert "unknown-word" in (explorer.word("quacked").get_attribute("class") or "")
    assert explorer.page.locator(".unknown-word").count() == 1
    explorer.click("quacked")
    explorer.page.get_by_text("Not in the vocabulary").wait_for()
    assert "1 unknown" in explorer.page.locator("#editor-status").inner_text()


def test_the_end_of_a_sentence_can_be_looked_at(explorer: Explorer) -> None:
    explorer.open().type("the bird sang")
    explorer.scored("sang")
    box = explorer.page.locator(".end").bounding_box()
    assert box is not None
    explorer.page.mouse.click(box["x"] + 6, box["y"] + 8)
    explorer.page.locator(".word-card").get_by_role("heading", name="end of sentence").wait_for()


def test_boundaries_typed_as_words_are_refused_at_the_line_and_the_rest_is_scored(explorer: Explorer) -> None:
    explorer.open().type("the cat <s> sat\nthe bird sang")
    explorer.page.wait_for_selector(".line[data-perplexity]")
    assert explorer.page.locator(".line[data-error]").count() == 1
    assert "Leave it out" in explorer.page.locator("#editor-error").inner_text()
    explorer.type("the bird sang")
    explorer.scored()
    assert explorer.page.locator("#editor-error").is_hidden()


def test_what_the_server_refuses_is_said_beside_the_text(browser: Any, served: Served) -> None:
    explorer = Explorer(browser, served)  # its console tells of the 422, as it should
    refusal = json.dumps({"error": {"code": "too_long", "message": "The text has 9 words, but at most 5 are taken."}})
    explorer.page.route("**/score", lambda route: route.fulfill(status=422, body=refusal))
    explorer.open().type("the cat sat")
    explorer.page.get_by_text("at most 5 are taken").wait_for()
    explorer.page.unroute("**/score")
    explorer.type("the cat sat on")
    explorer.scored("on")
    assert explorer.page.locator("#editor-error").is_hidden()
    explorer.close()


def test_a_server_that_is_gone_gives_a_banner_that_goes_when_it_is_back(browser: Any, served: Served) -> None:
    explorer = Explorer(browser, served)
    explorer.open().type("the cat sat")
    explorer.scored("sat")
    for path in ("score", "health", "explain", "why"):
        explorer.page.route(f"**/{path}", lambda route: route.abort())
    explorer.type("the cat sat on the mat")
    explorer.page.get_by_text("The server does not answer. Trying again").wait_for()
    explorer.page.unroute_all()
    explorer.scored("mat")
    assert explorer.page.locator("#banner").is_hidden()
    explorer.close()


def test_five_thousand_words_are_scored_and_explained_where_they_are_looked_at(explorer: Explorer) -> None:
    explorer.open()
    text = long_text(5000)
    explorer.page.evaluate(
        """(text) => {
            const data = new DataTransfer();
            data.setData("text/plain", text);
            const input = document.getElementById("text-input");
            input.focus();
            input.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, cancelable: true }));
        }""",
        text,
    )
    explorer.scored()
    assert explorer.page.locator(".w").count() == 5000
    assert "5,000 words" in explorer.page.locator("#editor-status").inner_text()
    explained = [url for url in explorer.requests if url.endswith("/explain")]
    assert len(explained) <= 2  # that of the word at the cursor, and not of all sentences
    explorer.page.locator("#text-input").press("Control+Home")
    explorer.page.keyboard.type("bird ")
    explorer.scored()
    assert explorer.page.locator(".w").count() == 5001


def test_one_sentence_of_five_thousand_words_keeps_up_with_typing(explorer: Explorer) -> None:
    explorer.open()
    explorer.type(long_text(5000).replace("\n", " "))
    explorer.scored()
    explorer.page.locator("#text-input").press("End")
    explorer.page.keyboard.type(" the bird")
    explorer.page.wait_for_function("() => document.querySelectorAll('.w[data-bits]').length === 5002")
    explorer.page.locator(".word-card tbody tr").first.wait_for()


def test_tidy_sets_prose_apart_as_the_model_knows_it(explorer: Explorer) -> None:
    explorer.open().type("The cat sat on the mat. The dog (a bird) sang!")
    explorer.scored()
    explorer.button("Tidy").click()
    explorer.page.wait_for_function("() => document.getElementById('text-input').value.includes('\\n')")
    assert explorer.text() == "the cat sat on the mat .\nthe dog ( a bird ) sang !"
    explorer.button("Undo").click()
    assert explorer.text().startswith("The cat")


def test_marks_and_numbers_of_short_words_stay_apart(explorer: Explorer) -> None:
    explorer.open("numbers=1").type("zq q a the a a cat a . q")
    explorer.scored("cat")
    marks = explorer.page.locator(".unknown-word").evaluate_all(
        """(all) => all.map((own) => {
            const mark = getComputedStyle(own, "::before");
            return [own.textContent, mark.content, parseFloat(mark.height)];
        })"""
    )
    assert {(word, mark) for word, mark, _ in marks} == {("zq", '"?"'), ("q", '"?"'), (".", '"?"')}
    assert all(height < 12 for *_, height in marks)  # one line
    ends = explorer.page.locator(".w").evaluate_all(
        """(all) => all.map((own) => {
            const { left, width } = own.getBoundingClientRect();
            const half = parseFloat(getComputedStyle(own, "::after").width) / 2;
            return [left + width / 2 - half, left + width / 2 + half];
        })"""
    )
    assert all(end < start for (_, end), (start, _) in pairwise(ends))


@pytest.mark.parametrize("name", ["Sentences that it could write", "One odd word", "The same words backwards"])
def test_examples_are_in_words_that_the_model_knows(explorer: Explorer, name: str) -> None:
    explorer.open()
    explorer.button(name).click()
    explorer.scored()
    first, *others = explorer.text().split("\n")
    scored = explorer.ask("score", {"model": "wb", "sentences": [first, *others]})
    assert scored["unknown"] == 0 and others
    log_probs = [sentence["log_prob"] for sentence in scored["sentences"]]
    if name == "One odd word":
        assert [a == b for a, b in zip(first.split(), others[0].split(), strict=True)].count(False) == 1
        assert log_probs[1] < log_probs[0] - 1  # the two lines do not read alike
    elif name == "The same words backwards":
        assert others == [" ".join(reversed(first.split()))] and log_probs[1] < log_probs[0]
