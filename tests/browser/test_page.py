"""The page as a whole: links, keys, phone and dark, contrast, and what a strict content policy allows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import modlm
from browser.exploring import Explorer, Served

pytestmark = pytest.mark.xdist_group("browser page")  # one browser and one server for all of them

PAGE = Path(modlm.__file__).parent / "serve" / "page"


@pytest.fixture
def phone(browser: Any, served: Served) -> Iterator[Explorer]:
    explorer = Explorer(browser, served, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    yield explorer
    explorer.close()
    assert explorer.complaints == []


def test_a_link_reproduces_the_view(browser: Any, explorer: Explorer) -> None:
    explorer.open().type("the cat sat\nä bird & 100% #1")
    explorer.page.get_by_label("Model").select_option("absolute")
    explorer.button("Why").click()
    explorer.page.get_by_label("Numbers").check()
    explorer.scored("bird")
    explorer.click("bird")
    heading = explorer.page.get_by_label("In plain words").get_by_role("heading")
    heading.get_by_text("bird").wait_for()
    explorer.context.grant_permissions(["clipboard-read", "clipboard-write"])
    explorer.button("Copy a link to this view").click()
    explorer.page.get_by_text("Link copied.").wait_for()
    link = explorer.page.evaluate("() => navigator.clipboard.readText()")
    again = Explorer(browser, explorer.served)
    again.page.goto(link)
    again.scored("bird")
    again.page.get_by_label("In plain words").get_by_role("heading", name="bird").wait_for()
    assert again.text() == explorer.text()
    assert again.page.get_by_label("Model").input_value() == "absolute"
    assert again.page.get_by_label("Numbers").is_checked()
    again.close()
    assert again.complaints == []


def test_long_texts_are_packed_into_links(explorer: Explorer) -> None:
    text = "\n".join(["the cat sat on the mat"] * 200)
    explorer.open()
    explorer.page.evaluate("(text) => { document.getElementById('text-input').value = text; }", text + " ")
    explorer.page.locator("#text-input").press("Control+End")
    explorer.page.locator("#text-input").type("ä")  # one key, so that no link is without it
    explorer.page.wait_for_function("() => location.hash.includes('packed=')")
    link = explorer.page.url
    assert len(link) < 1000
    explorer.open(link.partition("#")[2])
    assert explorer.text().startswith(text[:100]) and explorer.text().count("ä") == 1


def test_a_link_with_nonsense_in_it_opens_all_the_same(explorer: Explorer) -> None:
    explorer.open("view=nothing&model=gone&at=many&text=the+cat&packed=%25%25&models=x,%E0%A4%A&temperature=hot")
    explorer.page.get_by_text("This server has no model “gone”").wait_for()
    assert explorer.page.locator("main").get_attribute("data-view") == "score"


def test_another_link_in_the_same_tab_is_followed(explorer: Explorer) -> None:
    explorer.open("text=the+cat")
    explorer.page.evaluate("() => { location.hash = 'view=next&text=the+dog&at=7'; }")
    explorer.page.get_by_text("after “the dog”", exact=True).wait_for()
    assert explorer.text() == "the dog"


def test_everything_can_be_done_with_keys_alone(explorer: Explorer) -> None:
    explorer.open()
    page = explorer.page
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the skip link
    page.keyboard.type("the cat sat")
    explorer.scored("sat")
    page.keyboard.press("Control+ArrowLeft")
    page.locator(".word-card").get_by_role("heading", name="sat").wait_for()
    page.keyboard.press("Alt+4")
    page.get_by_label("In plain words").get_by_role("heading", name="sat").wait_for()
    page.keyboard.press("End")
    page.keyboard.press("Control+Enter")
    page.wait_for_function("() => document.getElementById('text-input').value.split(' ').length > 3")
    assert page.locator("main").get_attribute("data-view") == "next"
    page.keyboard.press("Escape")
    assert page.evaluate("() => document.activeElement.dataset.goto") == "next"
    page.keyboard.press("n")
    assert page.get_by_label("Numbers").is_checked()
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Reading the explorer").wait_for()
    page.keyboard.press("Escape")
    words = page.get_by_role("list", name="Next words of the mixture").get_by_role("button")
    words.first.focus()
    page.keyboard.press("ArrowDown")
    before, chosen = explorer.text(), words.nth(1).locator(".next-word").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_function("(before) => document.getElementById('text-input').value !== before", arg=before)
    assert explorer.text().strip().endswith("" if chosen == "end of sentence" else chosen)


def test_every_stop_of_the_tab_key_has_a_name_and_a_visible_frame(explorer: Explorer) -> None:
    explorer.open("view=next&text=the+cat&at=7")
    explorer.page.locator(".next-column button").first.wait_for()
    seen = []
    for _ in range(30):
        explorer.page.keyboard.press("Tab")
        stop = explorer.page.evaluate(
            """() => {
                const own = document.activeElement;
                const field = own.matches("input, select, textarea");
                const name = own.ariaLabel || own.labels?.[0]?.textContent || (field ? "" : own.textContent);
                const frame = getComputedStyle(own).outlineStyle !== "none" || own.id === "text-input";
                return [own.tagName, name.trim(), frame];
            }"""
        )
        seen.append(stop)
    assert [stop for stop in seen if stop[0] != "BODY" and not (stop[1] and stop[2])] == []
    assert len({name for _, name, _ in seen}) > 20


def test_letters_stand_out_from_every_colour_behind_them(explorer: Explorer) -> None:
    explorer.open()
    steps = [f"s{step}" for step in range(9)] + [f"{side}{step}" for side in "gl" for step in range(1, 5)]
    grounds = ("surface", "paper", "sunk")
    pairs = [("ink", step) for step in steps]
    pairs += [(text, ground) for text in ("ink", "soft", "accent", "bad", "good") for ground in grounds]
    pairs += [("accent-ink", "accent"), ("bad", "bad-wash"), ("accent", "accent-wash")]
    for scheme in ("light", "dark"):
        explorer.page.emulate_media(color_scheme=scheme)
        light = luminances(explorer, sorted({name for pair in pairs for name in pair}))
        contrast = {pair: ratio(light[pair[0]], light[pair[1]]) for pair in pairs}
        assert {pair: value for pair, value in contrast.items() if value < 4.5} == {}, scheme
        ramp = [light[f"s{step}"] for step in range(9)]
        assert ramp == sorted(ramp, reverse=scheme == "light")  # the scale reads without its hues


def luminances(explorer: Explorer, names: list[str]) -> dict[str, float]:
    """How light the page's colours are."""
    colours = explorer.page.evaluate(
        """(names) => {
            const probe = document.body.appendChild(document.createElement("i"));
            const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
            return Object.fromEntries(names.map((name) => {
                probe.style.setProperty("color", `var(--${name})`);
                canvas.fillStyle = getComputedStyle(probe).color;
                canvas.fillRect(0, 0, 1, 1);
                return [name, [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)];
            }));
        }""",
        names,
    )
    return {name: luminance(colour) for name, colour in colours.items()}


def luminance(colour: list[int]) -> float:
    """Relative luminance as WCAG defines it."""
    parts = [part / 255 for part in colour]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def ratio(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def test_dark_follows_the_system_and_the_switch_overrides_it_for_good(browser: Any, served: Served) -> None:
    explorer = Explorer(browser, served, color_scheme="dark").open()
    ground = "() => getComputedStyle(document.documentElement).backgroundColor"
    dark = explorer.page.evaluate(ground)
    explorer.button("Theme: as the system").click()
    assert explorer.page.evaluate(ground) != dark
    explorer.open()
    assert explorer.page.evaluate(ground) != dark
    explorer.button("Theme: light").click()
    assert explorer.page.evaluate(ground) == dark
    explorer.close()


def test_nothing_is_wider_than_a_phone(phone: Explorer) -> None:
    phone.open(f"text=the+cat+sat+on+the+mat+{'verylongword' * 9}%0Athe+dog&at=5&numbers=1")
    for view in ("Next words", "Compare", "Why", "Runs", "Text"):
        phone.button(view).click()
        phone.page.wait_for_timeout(300)
        assert phone.page.evaluate("() => document.documentElement.scrollWidth") == 390, view
    bar = phone.page.locator("nav.views").bounding_box()
    assert bar["y"] + bar["height"] == pytest.approx(844, abs=1)


def test_a_tap_shows_the_card_of_a_word_on_a_phone(phone: Explorer) -> None:
    phone.open("text=the+cat+sat+on+the+mat")
    phone.scored("mat")
    box = phone.word("sat").bounding_box()
    phone.page.touchscreen.tap(box["x"] + 8, box["y"] + 8)
    card = phone.page.locator(".word-card")
    card.get_by_role("heading", name="sat").wait_for()
    card.locator("tbody tr").first.wait_for()
    assert card.bounding_box()["y"] < 600


def test_letters_and_colours_lie_exactly_over_each_other(explorer: Explorer) -> None:
    explorer.open("text=" + "+".join(["the+cat+sat+on+a+very-long-rug"] * 12) + "%0A%0Athe++dog%0A")
    explorer.scored()
    heights = explorer.page.evaluate(
        """() => {
            const [text, copy] = [document.getElementById("text-input"), document.getElementById("backdrop")];
            return [text.scrollHeight, copy.offsetHeight, text.clientWidth, copy.clientWidth];
        }"""
    )
    assert heights[0] == heights[1]
    assert heights[2] == heights[3]


def test_the_page_has_no_inline_code_and_names_no_other_host() -> None:
    for path in PAGE.iterdir():
        source = path.read_text(encoding="utf-8")
        hosts = [url for url in re.findall(r"https?://[^\s\"'`)]+", source) if "www.w3.org" not in url]
        assert hosts == [], path.name
        if path.suffix == ".html":
            assert re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=", source) is None
        if path.suffix == ".js":
            assert (
                re.search(r"innerHTML|insertAdjacentHTML|\beval\(|new Function|setAttribute\(\"style\"", source) is None
            )


def test_the_server_sends_a_strict_content_policy(explorer: Explorer) -> None:
    answer = explorer.page.goto(explorer.served.address)
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src" in policy
