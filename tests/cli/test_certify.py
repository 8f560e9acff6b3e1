"""`modlm certify`: a table, JSON, a page, and an exit code that says whether a law is broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import modlm
from modlm.cli.app import program

RUN = CliRunner()
FEW = ["--positions", "5", "--tokens", "12"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("a b c a b\nc a <b> d\n")
    (tmp_path / "broken_entry.py").write_text("def cut(before):\n    return {'a': 0.5, '<b>': 0.25}\n")
    modlm.NgramLM.fit(["a b c", "a b d"], order=2).save(tmp_path / "model")
    return tmp_path


def test_a_model_is_certified(folder: Path) -> None:
    done = RUN.invoke(program(), ["certify", "model", "text.txt", *FEW, "-o", "certificate.json"])
    assert done.exit_code == 0, done.output
    assert "No law is broken." in done.output
    kept = json.loads((folder / "certificate.json").read_text())
    assert kept["holds"] and len(kept["fingerprints"]["model"]) == 64


def test_a_broken_one_ends_with_its_counterexample(folder: Path) -> None:
    done = RUN.invoke(program(), ["certify", "broken_entry:cut", "text.txt", *FEW, "-o", "certificate.html"])
    assert done.exit_code == 1
    assert "smallest counterexample: after 'nothing'" in done.output
    page = (folder / "certificate.html").read_text()
    assert "It is not: a law is broken." in page
    assert "the sum over 2 entries is 0.75" in page
    asked = RUN.invoke(program(), ["certify", "broken_entry:cut", "text.txt", *FEW, "--json"])
    assert asked.exit_code == 1 and json.loads(asked.output)["verdicts"][0]["status"] == "broken"
