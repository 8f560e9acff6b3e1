"""A module past 400 lines holds more than one concept."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted(path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py"))
LIMIT = 400
VAGUE = {"utils", "util", "common", "helpers", "misc"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_is_one_concept_with_a_name(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LIMIT, f"{lines} lines, but the limit is {LIMIT}: split it"
    assert path.stem not in VAGUE, "name it by what it is about"
