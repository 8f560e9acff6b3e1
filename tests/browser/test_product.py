"""p = D · λ: the picture has the server's numbers, a λ can be moved by mouse and keys, and the picture can be saved."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser.exploring import Explorer

pytestmark = pytest.mark.xdist_group("browser product")  # one browser and one server for all of them

CONTEXT = "the cat"


@pytest.fixture
def product(explorer: Explorer) -> Explorer:
    explorer.open("view=next&text=the+cat&at=7")
    explorer.page.locator(".product .lambda").first.wait_for()
    return explorer


def asked(explorer: Explorer) -> tuple[list[str], np.ndarray, dict[str, list[float]]]:
    """Names of the columns, λ, and the rows of D by word."""
    answer = explorer.ask("next", {"model": "wb", "context": CONTEXT, "k": 10, "by_column": True})
    weights = np.array([own["weight"] for own in answer["columns"].values()])
    return list(answer["columns"]), weights, {row["word"]: row["columns"] for row in answer["rows"]}


def shown_weights(explorer: Explorer) -> list[float]:
    """In percent, as screen readers hear them."""
    sliders = explorer.page.get_by_role("slider", name="λ of ").all()
    return [float(slider.get_attribute("aria-valuenow")) for slider in sliders]


def shown_products(explorer: Explorer) -> dict[str, str]:
    words = explorer.page.locator(".product .word:not(.rest)").all_text_contents()
    sums = explorer.page.locator(".product > g:first-child .value:not(.rest)").all_text_contents()
    return dict(zip(words, sums, strict=True))


def share(value: float) -> str:
    return "0%" if value == 0 else "<0.1%" if value < 0.001 else f"{100 * value:.{0 if value >= 0.0995 else 1}f}%"


def test_the_product_has_the_models_weights_and_probabilities(product: Explorer) -> None:
    names, weights, rows = asked(product)
    labels = [own.get_attribute("aria-label") for own in product.page.get_by_role("slider", name="λ of ").all()]
    assert labels == [f"λ of {name}" for name in names]
    assert shown_weights(product) == pytest.approx((100 * weights).tolist(), abs=0.5)
    for word, told in shown_products(product).items():
        assert told == share(float(weights @ rows["</s>" if word == "↵ end" else word])), word


def test_keys_move_a_weight_the_others_make_room_and_p_follows(product: Explorer) -> None:
    names, weights, rows = asked(product)
    last = names.index("3-gram")
    slider = product.page.get_by_role("slider", name="λ of 3-gram")
    slider.focus()
    product.page.keyboard.press("Home")
    product.page.keyboard.press("PageUp")
    product.page.keyboard.press("ArrowRight")
    moved = weights * (1 - 0.11) / (1 - weights[last])
    moved[last] = 0.11
    assert shown_weights(product) == pytest.approx((100 * moved).tolist(), abs=0.5)
    assert sum(shown_weights(product)) == pytest.approx(100, abs=2)
    for word, told in shown_products(product).items():
        assert told == share(float(moved @ rows["</s>" if word == "↵ end" else word])), word
    assert "most probable:" in slider.get_attribute("aria-valuetext")
    product.button("Back to the model's λ").click()
    assert shown_weights(product) == pytest.approx((100 * weights).tolist(), abs=0.5)
    assert product.button("Back to the model's λ").is_disabled()


def test_one_weight_can_have_it_all_and_give_it_back(product: Explorer) -> None:
    _, weights, _ = asked(product)
    slider = product.page.get_by_role("slider", name="λ of 1-gram")
    slider.focus()
    product.page.keyboard.press("End")
    assert shown_weights(product) == [100, *[0] * (len(weights) - 1)]
    for _ in range(10):
        product.page.keyboard.press("PageDown")
    others = np.array([0, *weights[1:]]) / (1 - weights[0])
    assert shown_weights(product) == pytest.approx((100 * others).tolist(), abs=0.5)  # in the model's proportions


def test_the_mouse_drags_a_weight(product: Explorer) -> None:
    track = product.page.locator(".product .lambda .track").nth(1).bounding_box()
    mouse, y = product.page.mouse, track["y"] + track["height"] / 2
    mouse.move(track["x"] + 2, y)
    mouse.down()
    mouse.move(track["x"] + 0.3 * track["width"], y, steps=3)
    mouse.move(track["x"] + 0.75 * track["width"], y, steps=3)
    mouse.up()
    assert shown_weights(product)[1] == pytest.approx(75, abs=2)
    mouse.move(track["x"], y)  # after the button is up nothing moves
    assert shown_weights(product)[1] == pytest.approx(75, abs=2)


def test_the_columns_of_d_and_p_sum_to_one(product: Explorer) -> None:
    _, weights, rows = asked(product)
    words = ["</s>" if word == "↵ end" else word for word in shown_products(product)]
    others = 1 - np.array([rows[word] for word in words]).sum(axis=0)
    told = product.page.locator(".product > g:first-child .value.rest").text_content()
    assert told == share(float(weights @ np.maximum(others, 0)))


def test_the_picture_follows_the_width_of_the_window(product: Explorer) -> None:
    wide = product.page.locator(".product").bounding_box()["width"]
    product.page.set_viewport_size({"width": 1000, "height": 800})
    product.page.wait_for_function(
        "(wide) => document.querySelector('.product').getBoundingClientRect().width < wide - 200", arg=wide
    )
    assert product.page.evaluate("() => document.documentElement.scrollWidth") == 1000


@pytest.mark.parametrize("ending", ["SVG", "PNG"])
def test_the_picture_is_saved_with_its_colours(product: Explorer, tmp_path: Path, ending: str) -> None:
    with product.page.expect_download() as download:
        product.button(f"Save the picture as {ending}").click()
    target = tmp_path / download.value.suggested_filename
    download.value.save_as(target)
    assert target.name == f"modlm.{ending.lower()}"
    if ending == "PNG":
        data = target.read_bytes()
        width = product.page.locator(".product").bounding_box()["width"]
        assert data.startswith(b"\x89PNG") and int.from_bytes(data[16:20]) == pytest.approx(3 * (width + 32), abs=6)
        return
    picture = ET.parse(target).getroot()
    fills = {own.get("fill") for own in picture.iter() if own.tag.endswith("rect")}
    assert len(fills) > 4 and all(fill == "none" or fill.startswith("#") for fill in fills if fill)
    texts = {"".join(own.itertext()) for own in picture.iter() if own.tag.endswith("text")}
    assert {"after “the cat”, wb", "1-gram", "="} <= texts
    assert "class=" not in target.read_text(encoding="utf-8") and target.stat().st_size < 60_000


def test_on_a_phone_the_weights_stand_below_and_nothing_is_wider(browser: Any, explorer: Explorer) -> None:
    phone = Explorer(browser, explorer.served, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    phone.open("view=next&text=the+cat&at=7")
    track = phone.page.locator(".product .lambda .track").first
    track.wait_for()
    picture = phone.page.locator(".product").bounding_box()
    assert picture["x"] + picture["width"] <= 390 - 12
    assert track.bounding_box()["y"] > phone.page.locator(".product .word.rest").bounding_box()["y"]
    phone.close()
    assert phone.complaints == []


DRAWN = """async (width) => {
  const { Product } = await import("/static/product.js");
  const { describe } = await import("/static/columns.js");
  const columns = describe(["1-gram", "2-gram", "3-gram", "4-gram", "5-gram", "uniform", "unknown", "delta"]);
  const drawn = new Product();
  drawn.frame.style.width = width + "px";
  document.body.append(drawn.frame);
  const rows = [{ word: "list", columns: [0.05, 0.1, 0.3, 0.2, 0.2, 0.001, 0, 0.2] }];
  drawn.set({ columns, weights: columns.map(() => 1 / 8), rows, size: 1000, note: "" });
  drawn.draw();
  const selectors = ["g:first-child > .head", "g:first-child > .rest:not(.word, .value)"];
  const found = selectors.map((what) => [...drawn.element.querySelectorAll(what)]);
  const boxes = (row) => row.map((own) => own.getBoundingClientRect().toJSON());
  return [found[0].map((own) => own.firstChild.data), found.map(boxes)];
}"""


@pytest.mark.parametrize("width", [330, 640, 835, 900])
def test_headings_differ_and_numbers_do_not_touch(product: Explorer, width: int) -> None:
    heads, rows = product.page.evaluate(DRAWN, width)
    assert len(set(heads)) == 8 and (width > 330 or heads == ["1", "2", "3", "4", "5", "u", "?", "δ"])
    for boxes in rows:
        assert len(boxes) == 8 and all(one["right"] < other["left"] for one, other in pairwise(boxes))
