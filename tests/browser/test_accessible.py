"""axe-core finds nothing to complain about, on any page, light or dark, wide or narrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from browser.exploring import SIZES, Explorer, Served, violations

pytestmark = pytest.mark.xdist_group("browser accessible")  # one browser and one server for all of them

TEXT = "text=the+cat+sat+on+the+xyzzy%0Aa+dog+saw+it&at=12&numbers=1"
PAGES = {  # an address, and what must be there before axe looks
    "empty": ("", ".examples"),
    "text": (TEXT, ".word-card .shares"),
    "next": (f"view=next&{TEXT}", ".product .lambda"),
    "compare": (f"view=compare&{TEXT}", ".movers li"),
    "why": (f"view=why&{TEXT}", ".why-table tbody tr"),
    "runs": ("view=runs", ".chart path.curve"),
}


@pytest.fixture(params=["light", "dark"], scope="module")
def looked_at(request: pytest.FixtureRequest, browser: Any, served: Served) -> Iterator[Explorer]:
    explorer = Explorer(browser, served, color_scheme=request.param)
    yield explorer
    explorer.close()
    assert explorer.complaints == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_no_violation(axe: Any, looked_at: Explorer, page: str, size: str) -> None:
    fragment, ready = PAGES[page]
    looked_at.page.set_viewport_size(SIZES[size])
    looked_at.open(fragment)
    looked_at.page.locator(ready).first.wait_for()
    looked_at.page.wait_for_function("() => !document.querySelector('.stale')")
    assert violations(axe, looked_at) == []


def test_axe_finds_no_violation_in_the_help_and_in_the_documentation(axe: Any, looked_at: Explorer) -> None:
    looked_at.page.set_viewport_size(SIZES["desktop"])
    looked_at.open(TEXT)
    looked_at.button("Help and shortcuts").click()
    assert violations(axe, looked_at) == []
    looked_at.page.goto(f"{looked_at.served.address}docs")
    assert violations(axe, looked_at) == []


def test_axe_would_find_a_violation(axe: Any, looked_at: Explorer) -> None:
    looked_at.open()
    looked_at.page.evaluate("() => document.getElementById('theme').removeAttribute('aria-label')")
    looked_at.page.evaluate("() => document.getElementById('theme').removeAttribute('title')")
    assert any(own.startswith("button-name") for own in violations(axe, looked_at))
