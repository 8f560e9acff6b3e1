"""A real browser and a real server with tiny models, for the tests of the explorer.

All of it ends with each file of tests: Playwright keeps an event loop, beside which no other test could run one.

Needs Playwright for Python and a Chromium (of the system, or the one that MODLM_CHROMIUM names); skips without either.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from browser.exploring import SENTENCES, Explorer, Served, new_context, write_run
from modlm.model.ngram_lm import NgramLM

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright for Python is not installed")
    path = os.environ.get("MODLM_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if path is None:
        pytest.skip("there is no Chromium on this machine, and MODLM_CHROMIUM names none")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with two n-gram models and two runs, one of them not finished."""
    for package in ("fastapi", "uvicorn"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    folder = tmp_path_factory.mktemp("served")
    NgramLM.fit(SENTENCES, order=3, smoothing="witten-bell").save(folder / "wb")
    NgramLM.fit([*SENTENCES, *SENTENCES[:2]], order=2, smoothing="absolute").save(folder / "absolute")
    write_run(folder / "done", lines=6, finished=True)
    write_run(folder / "going", lines=3, finished=False)
    served = Served(folder, ["wb=wb", "absolute=absolute"], ["done", "going"])
    yield served
    served.stop()


@pytest.fixture(scope="module")
def axe() -> Any:
    return pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe for Playwright is missing").Axe()


@pytest.fixture(scope="module")
def context(browser: Any) -> Iterator[Any]:
    """What tabs share: a cache, so that the page loads faster from the second time on."""
    context = new_context(browser)
    yield context
    context.close()


@pytest.fixture
def explorer(browser: Any, served: Served, context: Any) -> Iterator[Explorer]:
    """A fresh tab; after the test nothing may have been complained about, and nothing asked of other hosts."""
    explorer = Explorer(browser, served, context=context)
    yield explorer
    explorer.close()
    assert explorer.complaints == [], explorer.refusals
    assert [url for url in explorer.requests if not url.startswith((served.address, "about:", "blob:"))] == []
