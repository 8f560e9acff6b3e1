"""`modlm tune` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from modlm.cli.app import run
from tiny_runs import write_texts

pytest.importorskip("optuna", reason="the extra `tune` is not installed")


def test_a_search_prints_its_trials_and_what_to_do_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_texts(tmp_path)
    texts = ["--text", str(tmp_path / "train.txt"), "--valid", str(tmp_path / "valid.txt")]
    shared = ["--set", "kind=neural", "--set", "schedule.epochs=1", "--set", "net.hidden=4", "--device", "cpu"]
    command = ["tune", "-o", str(tmp_path / "out"), *texts, *shared, "--vary", "net.dropout=0.1:0.5", "--trials", "2"]
    assert run(command) == 0
    printed = capsys.readouterr()
    assert "net.dropout" in printed.out and "modlm train" in printed.out and "trial 1:" in printed.err
    assert run([*command, "--json"]) == 0
    assert [one["state"] for one in json.loads(capsys.readouterr().out)] == ["complete", "complete"]
    assert run(["train", str(tmp_path / "out" / "best.toml"), "-o", str(tmp_path / "run"), "--device", "cpu"]) == 0


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ([], "--vary"),
        (["--vary", "net.x=1:2"], "no setting net.x"),
        (["--vary", "net.dropout=0:0.5"], "text is missing"),
    ],
)
def test_mistakes_are_told_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], told: str
) -> None:
    assert run(["tune", "-o", str(tmp_path / "out"), *more]) == 1
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
