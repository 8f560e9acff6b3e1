"""Small recipes in a folder of their own, and the command on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from modlm.cli.app import run
from tiny_recipes import Reproduce, write_recipes


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with recipes and data; runs and caches go there, too."""
    write_recipes(tmp_path)
    monkeypatch.setenv("MODLM_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("MODLM_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def reproduce(place: Path, capsys: pytest.CaptureFixture[str]) -> Reproduce:
    """The command with `--json`, on the recipes of the fixture."""

    def call(*words: object) -> Any:
        capsys.readouterr()
        options = ["--recipes", place / "recipes", "--runs", place / "runs", "--json"]
        assert run([str(word) for word in ("reproduce", *words, *options)]) == 0
        return json.loads(capsys.readouterr().out)

    return call
