"""Next words, generation, comparison, reasons and runs, each as a person would use it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from browser.exploring import SENTENCES, Explorer, Served, add_line, write_run
from modlm.model.ngram_lm import NgramLM

pytestmark = pytest.mark.xdist_group("browser views")  # one browser and one server for all of them


def next_words(explorer: Explorer) -> Any:
    return explorer.page.get_by_role("list", name="Next words of the mixture").get_by_role("button")


def test_next_words_stand_in_order_and_beside_them_those_of_each_column(explorer: Explorer) -> None:
    explorer.open("view=next&text=the+cat&at=7")
    next_words(explorer).first.wait_for()
    answer = explorer.ask("next", {"model": "wb", "context": "the cat", "k": 10, "by_column": True})
    shown = next_words(explorer).locator(".next-word").all_inner_texts()
    assert shown == [word["word"].replace("</s>", "end of sentence") for word in answer["words"]]
    columns = explorer.page.locator(".next-column")
    assert [own.get_attribute("aria-label") for own in columns.all()] == list(answer["columns"])
    first = columns.filter(has=explorer.page.locator("h3", has_text="3-gram")).locator(".next-word").first
    assert first.inner_text() == answer["columns"]["3-gram"]["words"][0]["word"]


def test_a_click_takes_a_next_word_and_the_next_ones_follow(explorer: Explorer) -> None:
    explorer.open("view=next&text=the+cat&at=7")
    next_words(explorer).first.wait_for()
    word = next_words(explorer).locator(".next-word").nth(1).inner_text()
    next_words(explorer).nth(1).click()
    explorer.page.get_by_text(f"after “the cat {word}”", exact=True).wait_for()
    assert explorer.text() == f"the cat {word} "
    explorer.page.locator("#text-input").press("Control+z")
    assert explorer.text() == "the cat"


def test_words_can_be_taken_in_the_middle_of_a_text(explorer: Explorer) -> None:
    explorer.open("view=next&text=the+cat%0Athe+dog&at=2")  # inside the first word
    explorer.page.get_by_text("after “the”", exact=True).wait_for()
    explorer.page.locator(".next-column", has_text="2-gram").locator("button", has_text="bird").click()
    assert explorer.text() == "the bird cat\nthe dog"


def test_generated_words_stream_into_the_text_the_same_for_the_same_seed(explorer: Explorer) -> None:
    explorer.open("view=next&seed=7&temperature=0.9&max_words=12")
    explorer.button("Generate").click()
    status = explorer.page.get_by_role("status").filter(has_text=": the ")
    status.wait_for()
    drawn = explorer.ask("generate", {"model": "wb", "seed": 7, "temperature": 0.9, "max_words": 12, "stream": False})
    assert explorer.text().split() == [drawn_word["word"] for drawn_word in drawn["words"]]
    explorer.button("Undo").click()
    assert explorer.text() == ""


def test_generation_can_be_stopped_and_what_came_stays(explorer: Explorer) -> None:
    explorer.open("view=next")
    explorer.page.evaluate(
        """() => {
            const whole = window.fetch;
            window.fetch = (path, options) => path !== "generate" ? whole(path, options) : Promise.resolve(new Response(
                new ReadableStream({
                    start(stream) {
                        const bytes = new TextEncoder();
                        stream.enqueue(bytes.encode('data: {"word": "the", "probability": 0.5}\\n\\ndata: {"wo'));
                        setTimeout(() => stream.enqueue(bytes.encode('rd": "cat", "probability": 0.25}\\n\\n')), 50);
                        options.signal.addEventListener("abort", () => stream.error(options.signal.reason));
                    },
                }),
            ));
        }"""
    )
    explorer.button("Generate").click()
    explorer.page.get_by_text("2 words · the last had 25.0%").wait_for()
    explorer.page.keyboard.press("Escape")
    explorer.page.get_by_text("2 words: stopped.").wait_for()
    assert explorer.text() == "the cat"
    assert explorer.button("Generate").is_visible()


def test_settings_that_the_server_refuses_are_said_beside_them(browser: Any, served: Served) -> None:
    explorer = Explorer(browser, served)
    explorer.open("view=next&max_words=0")
    explorer.button("Generate").click()
    explorer.page.locator(".problem", has_text="max_words").wait_for()
    explorer.close()


def test_two_models_are_compared_word_by_word(explorer: Explorer) -> None:
    text = "the cat sat on the rug\na bird sang"
    explorer.open("view=compare").type(text)
    explorer.scored("sang")
    answer = explorer.ask("compare", {"models": ["wb", "absolute"], "text": text})
    explorer.page.get_by_text("absolute against wb").wait_for()
    perplexities = explorer.page.locator("section", has_text="Models on this text").locator("td:nth-child(2)")
    shown = [float(own) for own in perplexities.all_inner_texts()]
    assert shown == pytest.approx([model["perplexity"] for model in answer["models"]], abs=0.051)
    words = [word for sentence in answer["sentences"] for word in sentence["words"]]
    gained = [(word["log_probs"][1] - word["log_probs"][0]) / math.log(2) for word in words]
    bits = explorer.page.locator(".w, .end").evaluate_all("(all) => all.map((own) => own.dataset.bits)")
    assert [float(own.replace("−", "-")) for own in bits] == pytest.approx(gained, abs=0.051)
    most = explorer.page.locator("section", has_text="Gained most").locator(".movers b").first.inner_text()
    assert most == words[gained.index(max(gained))]["word"].replace("</s>", "end of sentence")
    explorer.page.locator(".movers button").first.click()
    assert explorer.page.locator(".active").count() == 1


def test_one_model_alone_says_how_to_load_a_second(browser: Any, tmp_path: Path) -> None:
    NgramLM.fit(["a b", "a c"], order=2, smoothing="witten-bell").save(tmp_path / "only")
    served = Served(tmp_path, ["only"], [], "--token", "secret")
    explorer = Explorer(browser, served)
    explorer.page.goto(f"{served.address}#view=compare&text=a+b")
    explorer.page.get_by_role("textbox", name="Token").fill("secret")  # without it the page asks for it
    explorer.button("Open").click()
    explorer.page.get_by_role("heading", name="Only one model is loaded").wait_for()
    explorer.button("Runs").click()
    explorer.page.get_by_role("heading", name="No training run is being watched").wait_for()
    explorer.open("token=secret&text=a+b")  # as the server prints it
    explorer.scored("b")
    assert "secret" not in explorer.page.url
    explorer.close()
    served.stop()


def test_why_tells_contexts_and_counts_in_words_and_as_a_table(explorer: Explorer) -> None:
    explorer.open("view=why").type("the cat sat on the mat")
    explorer.scored("mat")
    explorer.click("sat")
    card = explorer.page.get_by_label("In plain words")
    # "the cat" occurs four times in the text: before sat, saw, sang and an end.
    card.get_by_text("“the cat” occurs 4 times in the training text, followed by 4 different words").wait_for()
    row = explorer.page.locator(".why-table tbody tr", has_text="3-gram")
    cells = row.locator("td").all_inner_texts()
    assert cells[0].strip() == "the cat"
    assert cells[1:5] == ["4", "4", "1", "0.50"]  # Witten-Bell: 4 / (4 + 4)
    assert explorer.page.locator(".why-table tfoot td").last.inner_text() == "100%"


def test_the_card_of_a_word_leads_to_its_reasons(explorer: Explorer) -> None:
    explorer.open().type("the bird sang")
    explorer.scored("sang")
    explorer.click("bird")
    explorer.button("Why? Contexts and counts").click()
    explorer.page.locator(".why-table tbody tr").first.wait_for()
    assert explorer.page.get_by_label("In plain words").get_by_role("heading").inner_text() == "bird"


def test_runs_are_drawn_and_grow_by_themselves(browser: Any, explorer: Explorer, tmp_path: Path) -> None:
    explorer.open("view=runs&series=valid,test")
    page = explorer.page
    row = page.locator(".run-list tbody tr", has_text="going")
    row.get_by_text("not finished").wait_for()
    cells = row.locator("td").all_inner_texts()
    assert cells[1:4] == ["100.0", "100.0", "66.7"]  # 300/3 twice, 200/3
    assert cells[5:7] == ["1.50", "3"]  # epochs, evaluations
    chart = page.get_by_label("Perplexity", exact=True).locator("figure")
    assert chart.locator("path.curve").count() == 4  # two runs, two parts
    add_line(explorer.served.folder / "going")
    row.get_by_text("growing").wait_for()
    assert row.locator("td").nth(6).inner_text() == "4"
    page.get_by_label("done", exact=True).uncheck()
    assert chart.locator("svg:not(.key) path.curve").count() == 2
    explorer.button("Linear").click()
    assert "y=linear" in page.evaluate(
        "async () => { await new Promise((go) => setTimeout(go, 500)); return location.hash; }"
    )


def test_values_of_a_curve_stand_at_the_mouse_and_at_the_arrow_keys(explorer: Explorer) -> None:
    explorer.open("view=runs&runs=done")
    chart = explorer.page.get_by_label("Perplexity", exact=True).locator("figure")
    chart.locator("path.curve").first.wait_for()
    chart.focus()
    explorer.page.keyboard.press("Home")
    assert "300.0" in chart.locator(".chart-tip").inner_text()
    explorer.page.keyboard.press("ArrowRight")
    assert "150.0" in chart.locator(".chart-tip").inner_text()
    box = chart.bounding_box()
    explorer.page.mouse.move(box["x"] + box["width"] - 20, box["y"] + 80)
    assert "50.0" in chart.locator(".chart-tip").inner_text()
    explorer.page.mouse.move(2, 2)
    assert chart.locator(".chart-tip").is_hidden()


def test_on_a_phone_every_number_of_why_is_seen_with_its_name(browser: Any, explorer: Explorer) -> None:
    phone = Explorer(browser, explorer.served, viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    phone.open("view=why&text=the+cat+sat&at=9")
    rows = phone.page.locator(".why-table tbody tr")
    rows.first.wait_for()
    for cell in rows.locator("td.number").all():
        box = cell.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    names = rows.first.locator("td.number").evaluate_all("(all) => all.map((own) => own.dataset.label)")
    assert names == ["Seen", "Followers", "With the word", "Fallback α", "P", "λ", "λ·P", "Share"]
    table = phone.page.get_by_role("table")  # it is one for screen readers, too, though it is no grid any more
    assert table.get_by_role("row").count() == rows.count() + 2
    phone.close()


def test_neighbouring_ticks_never_read_the_same(explorer: Explorer) -> None:
    explorer.open()
    texts = "async (values) => (await import('./static/chart.js')).tickTexts(values)"
    assert explorer.page.evaluate(texts, [207.4, 207.6, 207.8, 208.0]) == ["207.4", "207.6", "207.8", "208.0"]
    assert explorer.page.evaluate(texts, [1204, 1206, 1208]) == ["1,204", "1,206", "1,208"]
    assert explorer.page.evaluate(texts, [100, 150, 200]) == ["100", "150", "200"]
    assert explorer.page.evaluate(texts, [1e6, 1.5e6]) == ["1M", "1.5M"]


def test_a_folder_as_the_demo_leaves_it_has_every_page_alive(browser: Any, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    NgramLM.fit(SENTENCES, order=3, smoothing="witten-bell").save(folder / "ngram")
    write_run(folder / "hybrid", lines=3, finished=True)
    NgramLM.fit(SENTENCES, order=2, smoothing="absolute").save(folder / "hybrid" / "model")
    served = Served(tmp_path, ["demo"], [])
    explorer = Explorer(browser, served).open("text=the+cat+sat&at=5")
    explorer.every_page_is_alive()
    assert explorer.page.get_by_label("Model").locator("option").all_inner_texts() == ["hybrid", "ngram"]
    explorer.close()
    served.stop()
    assert explorer.complaints == []
