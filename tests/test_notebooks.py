"""The notebooks of examples/ run, and what they hold is what they print."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("nbclient", reason="notebooks are run with the extra notebooks")
pytest.importorskip("ipykernel", reason="notebooks are run with the extra notebooks")
pytest.importorskip("torch", reason="notebooks train nets, with the extra neural")
pytest.importorskip("transformers", reason="notebooks adapt a model, with the extra hf")

import nbformat
from tests.docs.blocks import difference
from tools.notebooks import NOTEBOOKS, executed, printed

EXPECTED = {"counts_to_hybrid", "adapt_a_hugging_face_model", "name_from_a_description", "why_did_it_say_that"}
LONG = {"name_from_a_description"}  # half a minute


def test_the_notebooks_that_the_documentation_promises_are_there() -> None:
    assert {path.stem for path in NOTEBOOKS} == EXPECTED


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.long] * (path.stem in LONG)) for path in NOTEBOOKS],
    ids=lambda path: path.stem,
)
@pytest.mark.filterwarnings("ignore")  # of the kernel's own packages
def test_it_prints_what_it_holds(path: Path, tmp_path: Path) -> None:
    kept = printed(nbformat.read(path, as_version=4))
    found = printed(executed(path, tmp_path))
    assert any(kept) and len(kept) == len(found)
    if sys.version_info[:2] != (3, 11):
        return  # the text that they read ships with Python, and is another one here
    for place, (shown, now) in enumerate(zip(kept, found, strict=True)):
        differs = difference(shown, now, tolerance=0.2) if shown.strip() or now.strip() else ""
        assert not differs, f"code cell {place}: {differs}"
