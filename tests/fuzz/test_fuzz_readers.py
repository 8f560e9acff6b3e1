"""Minutes of damaged files; `tests/formats/test_readers_survive.py` has the seconds."""

from __future__ import annotations

import os

import pytest
from tests.fuzz.fuzz_readers import READERS, run

SECONDS = float(os.environ.get("MODLM_FUZZ_SECONDS", "120"))


@pytest.mark.long
@pytest.mark.parametrize("kind", READERS)
def test_damaged_files_are_read_or_refused_and_nothing_else(kind: str) -> None:
    outcomes = run(kind, seconds=SECONDS)
    assert outcomes["read"] > 0 and outcomes["InputError"] > 0, outcomes
