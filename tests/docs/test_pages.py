"""Every block of the pages that say so runs, in order, and prints what the page shows."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.blocks import blocks_of
from tests.docs.running import Runner

from modlm.experiments import demo_text

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md") if blocks_of(path))
MUST_RUN = "counts-without-text domain export filter python rescore serve".split()


@pytest.fixture(scope="session", autouse=True)
def texts_are_collected_once() -> Iterator[None]:
    """Pages begin with the same text of Python; finding it takes longer than all that most of them do with it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo_text, "demo_sources", functools.cache(demo_text.demo_sources))
        yield


def run_page(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *, quick: bool) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MODLM_CACHE", str(folder / ".cache"))
    monkeypatch.setenv("MODLM_THREADS", "1")  # what `--threads` sets in this process goes back when the page ends
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    real = sys.modules.get("kenlm")
    runner = Runner(folder, quick=quick)
    try:
        for block in blocks_of(DOCS / page):
            runner.run(block)
    finally:
        runner.close()
        sys.modules.pop("kenlm", None)  # a page puts our module in its place
        if real is not None:
            sys.modules["kenlm"] = real
    if runner.left_out:
        pytest.skip(f"all but some blocks were run; {'; '.join(runner.left_out)}")


def test_the_pages_that_teach_are_among_those_that_are_run() -> None:
    assert {"tutorial.md", *(f"how-to/{name}.md" for name in MUST_RUN)} <= set(PAGES)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.filterwarnings("ignore")  # a command on a terminal shows them once, and goes on
def test_every_block_of_the_page_runs_and_prints_what_it_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_page(page, tmp_path, monkeypatch, quick=True)


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.filterwarnings("ignore")
def test_the_page_runs_as_it_is_written(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page(page, tmp_path, monkeypatch, quick=False)
