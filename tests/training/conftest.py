"""Runs of tests: one thread, and a cache of rows that is theirs alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiny_runs import write_texts


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the texts of a tiny run."""
    monkeypatch.setenv("MODLM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MODLM_THREADS", "1")
    write_texts(tmp_path)
    return tmp_path
