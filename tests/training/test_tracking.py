"""Trackers are told of every line of the journal; packages that are missing are noticed before any work is done."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs modlm[neural]")

from modlm.errors import ConfigError, MissingPackageError
from modlm.training.journal import Journal
from modlm.training.run import train
from modlm.training.tracking import TRACKERS, values_of
from tiny_runs import tiny_config, write_texts


def fake(told: list[Any]) -> SimpleNamespace:
    """A package with the functions of all three, which notes what they are called with."""

    def noting(name: str) -> Any:
        return lambda *values, **more: told.append((name, values, more))

    return SimpleNamespace(
        **{name: noting(name) for name in "init log finish start_run log_params log_metrics end_run".split()}
    )


@pytest.mark.parametrize(
    ("name", "begin", "line", "end"),
    [
        ("mlflow", "start_run", "log_metrics", "end_run"), ("wandb", "init", "log", "finish"),
        ("trackio", "init", "log", "finish"),
    ],
)  # fmt: skip
def test_a_run_is_tracked_from_its_first_line_to_its_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, begin: str, line: str, end: str
) -> None:
    told: list[Any] = []
    monkeypatch.setitem(sys.modules, name, fake(told))  # type: ignore[arg-type]
    write_texts(tmp_path)
    train(tiny_config(tmp_path, tracking=(name,)), tmp_path / "run", device="cpu")
    assert told[0][0] == begin and told[-1] == (end, (), {})
    written = Journal(tmp_path / "run" / "journal.jsonl").lines()
    tracked = [(values[0], more["step"]) for called, values, more in told if called == line]
    assert tracked == [(values_of(one), one["words"]) for one in written]
    assert {"perplexity/valid", "perplexity/train"} <= set(tracked[0][0])
    assert told[0][2].get("run_name") == "run" or told[0][2].get("name") == "run"


@pytest.mark.parametrize("name", [name for name in TRACKERS if name != "tensorboard"])
def test_a_missing_package_is_named_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    write_texts(tmp_path)
    with pytest.raises(MissingPackageError, match=f"pip install {name}"):
        train(tiny_config(tmp_path, tracking=(name,)), tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


def test_an_unknown_tracker_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="mlfow"):
        tiny_config(tmp_path, tracking=("mlfow",))


def test_real_mlflow_writes_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    write_texts(tmp_path)
    train(tiny_config(tmp_path, tracking=("mlflow",)), tmp_path / "run", device="cpu")
    assert mlflow.search_runs(output_format="list")
