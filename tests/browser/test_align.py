"""Translations and the picture of where their words come from, as a person would use them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from browser.exploring import SENTENCES, SIZES, Explorer, Served, violations
from modlm.model.ngram_lm import NgramLM

pytest.importorskip("torch", reason="PyTorch, which a model with a source needs, is not installed")

from small_pairs import conditional

pytestmark = pytest.mark.xdist_group("browser align")  # one browser and one server for all of them

SOURCE = "f1 7 f2"
VIEW = f"view=align&model=reads&source={SOURCE.replace(' ', '+')}"


@pytest.fixture(scope="module")
def served(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A model that reads no source, one that does, and one without columns over it."""
    folder = tmp_path_factory.mktemp("served")
    NgramLM.fit(SENTENCES, order=2, smoothing="witten-bell").save(folder / "wb")
    conditional(seed=3)[0].save(folder / "reads")
    conditional(blocks=False)[0].save(folder / "net")
    served = Served(folder, ["wb=wb", "reads=reads", "net=net"], [])
    yield served
    served.stop()


def answer(explorer: Explorer, source: str, **more: Any) -> Any:
    return explorer.ask("translate", {"model": "reads", "source": source, "n_best": 5, **more})["sentences"][0]


def test_a_sentence_is_translated_and_the_picture_has_lambda_between_the_words(explorer: Explorer) -> None:
    explorer.open("view=align&model=reads")
    page = explorer.page
    page.locator("#source-input").fill(f" {SOURCE}  ")
    page.locator("#source-input").press("Enter")
    page.locator(".heat").first.wait_for()
    told = answer(explorer, SOURCE)
    buttons = page.get_by_role("list", name="Translations").get_by_role("button")
    assert [own.split("\n")[0] for own in buttons.all_inner_texts()] == [own["text"] for own in told["translations"]]
    best = told["translations"][0]["words"]
    assert page.locator(".align-grid thead th:not(.made-of)").all_inner_texts() == SOURCE.split()
    names = page.locator(".align-grid tbody th").all_inner_texts()
    assert names == [own["word"].replace("</s>", "↵ end") for own in best]
    shown = page.locator(".heat").evaluate_all("cells => cells.map((own) => own.style.getPropertyValue('--weight'))")
    assert [float(own) for own in shown] == pytest.approx([weight for own in best for weight in own["weights"]])


def test_another_translation_is_looked_at_and_opened_as_a_text_beside_the_source(explorer: Explorer) -> None:
    explorer.open(VIEW)
    buttons = explorer.page.get_by_role("list", name="Translations").get_by_role("button")
    second = answer(explorer, SOURCE)["translations"][1]
    buttons.nth(1).click()
    assert buttons.nth(1).get_attribute("aria-pressed") == "true"
    assert explorer.page.locator(".align-grid tbody tr").count() == len(second["words"])
    explorer.button("Open in Text").click()
    explorer.scored()
    assert explorer.text() == second["text"]
    explorer.page.get_by_text(f"Given “{SOURCE}”").wait_for()
    scored = explorer.ask("score", {"model": "reads", "text": second["text"], "source": SOURCE})
    assert explorer.page.locator(".figure").first.inner_text() == f"{scored['perplexity']:.2f}"[:4]


def test_numbers_are_told_under_the_mouse_and_at_the_arrow_keys(explorer: Explorer) -> None:
    explorer.open(VIEW)
    page, tip = explorer.page, explorer.page.locator("#tip")
    page.locator(".heat").nth(1).hover()
    word = answer(explorer, SOURCE)["translations"][0]["words"][0]
    weight = word["weights"][1]
    assert tip.inner_text().startswith(
        f"“7” → “{word['word']}”: λ {100 * weight:.{0 if weight >= 0.0995 else 1}f}%, gave "
    )
    assert page.locator(".align-grid th.on").all_inner_texts() == ["7", word["word"]]
    page.mouse.move(0, 0)
    assert tip.is_hidden()
    page.locator(".align-grid [tabindex='0']").focus()
    assert tip.inner_text().startswith(f"{word['word']} ") and "delta" in tip.inner_text()
    for key in ("ArrowRight", "ArrowDown", "End", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    assert tip.inner_text().startswith("“f2” → ")
    assert page.locator(".align-grid [tabindex='0']").count() == 1


def test_the_other_views_ask_beside_the_source_and_fold_its_columns(explorer: Explorer) -> None:
    explorer.open(f"view=next&model=reads&source={SOURCE.replace(' ', '+')}&text=e1&at=2")
    explorer.page.locator(".next-column").first.wait_for()
    columns = explorer.page.locator(".next-column").all()
    assert [own.get_attribute("aria-label") for own in columns] == ["uniform", "lexicon", "copy", "delta"]
    told = explorer.ask("next", {"model": "reads", "source": SOURCE, "context": "e1", "by_column": True})["columns"]
    weight = sum(own["weight"] for name, own in told.items() if name.startswith("lexicon"))
    assert f"λ {100 * weight:.3g}"[:5] in columns[1].inner_text()
    explorer.button("Why").click()
    explorer.page.locator(".why-table tbody tr", has_text="delta").wait_for()


def test_a_model_without_columns_over_the_source_says_so(explorer: Explorer) -> None:
    explorer.open(VIEW.replace("reads", "net"))
    explorer.page.get_by_text("This model has no columns over the source").wait_for()
    assert explorer.page.locator(".made-of .bar").count() and explorer.page.locator(".heat").count() == 0


def test_a_model_that_reads_no_source_names_those_that_do(explorer: Explorer) -> None:
    explorer.open("view=align&model=wb&source=f1")
    explorer.page.get_by_text("wb reads no source").wait_for()
    explorer.button("reads").click()
    explorer.page.locator(".heat").first.wait_for()


def test_a_refusal_is_said_beside_the_translations(browser: Any, served: Served) -> None:
    explorer = Explorer(browser, served).open("view=align&model=reads")
    explorer.page.locator("#source-input").fill("f1 </s>")
    explorer.button("Translate").last.click()
    explorer.page.get_by_role("alert").filter(has_text="</s>").wait_for()
    assert explorer.page.locator(".heat").count() == 0
    explorer.page.locator("#source-input").fill("f1")
    explorer.button("Translate").last.click()
    explorer.page.locator(".heat").first.wait_for()
    explorer.close()


def test_without_such_a_model_the_page_is_not_offered_and_says_how_to_get_one(browser: Any, tmp_path: Any) -> None:
    NgramLM.fit(SENTENCES, order=2).save(tmp_path / "kn")
    plain = Served(tmp_path, ["kn"], [])
    explorer = Explorer(browser, plain).open()
    assert explorer.button("Translate").is_hidden()
    explorer.page.keyboard.press("Alt+6")
    explorer.page.get_by_text("modlm train --text").wait_for()
    explorer.close()
    plain.stop()
    assert explorer.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_and_a_phone_does_not_scroll_sideways(
    axe: Any, browser: Any, served: Served, scheme: str
) -> None:
    explorer = Explorer(browser, served, color_scheme=scheme)
    for size in SIZES.values():
        explorer.page.set_viewport_size(size)
        for fragment, ready in ((VIEW, ".heat"), ("view=align", ".chip")):
            explorer.open(fragment)
            explorer.page.locator(ready).first.wait_for()
            assert violations(axe, explorer) == []
            wide = explorer.page.evaluate("() => document.documentElement.scrollWidth")
            assert wide <= size["width"]
    explorer.close()
    assert explorer.complaints == []
