"""`modlm train`: configurations from all sources, the run folder, resuming, and what goes wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.conftest import Files, Modlm

from modlm.training.config_file import read_config

pytest.importorskip("torch")

SOURCE = Path(__file__).parents[2] / "src"
SMALL = ["--hidden", "8", "--order", "3", "--epochs", "1", "--set", "folds=3"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODLM_CACHE", str(tmp_path / "cache"))


def texts(files: Files) -> list[object]:
    return ["--text", files.train, "--valid", files.valid, "--test", files.test]


@pytest.mark.parametrize("kind", ["neural", "interpolated", "hybrid"])
def test_flags_alone_train_a_model_that_all_commands_take(
    modlm: Modlm, files: Files, tmp_path: Path, kind: str
) -> None:
    folder = tmp_path / "run"
    columns = [] if kind == "neural" else ["--order", 3]
    flags = ["--kind", kind, "--net", "gru", "--hidden", 8, "--epochs", 1, *columns]
    outcome = modlm("train", *texts(files), *flags, "-o", folder, "--json")
    assert outcome.code == 0, outcome.err
    report = outcome.json
    assert (report["kind"], report["stopped"], report["epochs"]) == (kind, "epochs", 1.0)
    config = read_config(folder / "config.toml")
    assert (config.kind, config.net.body, config.net.hidden) == (kind, "gru", 8)
    for name in ("config.toml", "journal.jsonl", "result.json", "model/model.json"):
        assert (folder / name).is_file()
    for text, path in (("valid", files.valid), ("test", files.test)):
        found = modlm("eval", folder, path, "--json").json
        assert found["perplexity"] == pytest.approx(report[f"{text}_perplexity"], rel=1e-4)
    words = modlm("next", folder, "", "-k", 3, "--json").json
    assert len(words) == 3 and sum(words[0]["shares"].values()) == pytest.approx(1)


@pytest.mark.parametrize("mixer", ["heuristic", "static", "gli"])
def test_a_mixer_without_a_net_is_a_setting(modlm: Modlm, files: Files, tmp_path: Path, mixer: str) -> None:
    flags = ["--kind", "interpolated", "--order", 3, "--set", f"mixer={mixer}"]
    outcome = modlm("train", *texts(files), *flags, "-o", tmp_path / "run")
    assert outcome.code == 0, outcome.err
    assert "weights fitted to the validation text" in outcome.out and "epochs" not in outcome.out
    found = modlm("eval", tmp_path / "run", files.test, "--json").json
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert found["perplexity"] == pytest.approx(result["test_perplexity"])
    again = modlm("train", tmp_path / "run" / "config.toml", "-o", tmp_path / "again", "--json").json
    assert again["valid_perplexity"] == result["valid_perplexity"]
    assert modlm("train", "--resume", "-o", tmp_path / "run").code == 0
    refused = modlm("train", *texts(files), "--set", f"mixer={mixer}", "-o", tmp_path / "hybrid")
    assert refused.code == 1 and "Set kind = interpolated" in refused.err.replace("\n", " ")


def test_the_summary_is_for_people(modlm: Modlm, files: Files, tmp_path: Path) -> None:
    outcome = modlm("train", *texts(files), *SMALL, "-o", tmp_path / "run")
    assert outcome.code == 0
    assert "hybrid model" in outcome.out and "all epochs done" in outcome.out
    for name in ("train", "valid", "test"):
        assert f"\n{name} " in outcome.out
    assert f"{tmp_path / 'run' / 'model'}: " in outcome.out


def test_set_stands_above_flags_and_flags_above_the_file(modlm: Modlm, files: Files, tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text("kind = 'neural'\nseed = 5\n[net]\nhidden = 6\nlayers = 2\n[schedule]\nepochs = 1\n")
    changes = ["--hidden", 7, "--set", "net.layers=1", "--set", "schedule.epochs=0.5"]
    assert modlm("train", file, *texts(files), *changes, "-o", tmp_path / "run").code == 0
    config = read_config(tmp_path / "run" / "config.toml")
    assert (config.kind, config.seed, config.net.hidden, config.net.layers) == ("neural", 5, 7, 1)
    assert config.schedule.epochs == 0.5


def test_a_preset_takes_its_texts_from_flags(modlm: Modlm, files: Files, tmp_path: Path) -> None:
    changes = ["--hidden", 4, "--order", 2, "--epochs", 1]
    assert modlm("train", "paper/ptb-kn-c-ff", *texts(files), *changes, "-o", tmp_path / "run").code == 0
    config = read_config(tmp_path / "run" / "config.toml")
    assert (config.net.body, config.net.inputs, config.columns["kn"].order) == ("feedforward", ("counts",), 2)
    assert (config.columns["kn"].edge, config.text) == ("repeat", (str(files.train),))


def test_resume_goes_on_with_the_run_in_the_folder(modlm: Modlm, files: Files, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    start = ["train", *texts(files), *SMALL, "--resume", "-o", folder]
    assert modlm(*start).code == 0  # there is none yet, so it starts
    before = (folder / "journal.jsonl").read_bytes()
    assert modlm("train", "--resume", "-o", folder).code == 0  # there is nothing left to do
    assert (folder / "journal.jsonl").read_bytes() == before
    longer = modlm("train", "--resume", "-o", folder, "--epochs", 2, "--json")
    assert longer.code == 0 and longer.json["epochs"] == 2.0
    assert (folder / "journal.jsonl").read_bytes().startswith(before)


def test_what_cannot_be_trained_is_told_in_one_line(modlm: Modlm, files: Files, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    given = texts(files)
    cases: list[tuple[list[object], list[str]]] = [
        (["--valid", files.valid], ["text is missing", "--text"]),
        ([*given, "--set", "net.hiden=3"], ["net.hiden", "'net.hidden'"]),
        ([*given, "--kind", "hybird"], ["kind", "'hybird'", "'hybrid'"]),
        ([*given, "--kind", "neural", "--order", 3], ["no count columns"]),
        (["paper/ptb-hybird", *given], ["neither a file nor a preset", "'paper/ptb-hybrid'"]),
        (["--text", tmp_path / "no.txt", "--valid", files.valid], ["no.txt", "no such file"]),
        ([*given, "--device", "gpu"], ["--device", "'gpu'"]),
        (["--resume"], ["no run", "config.toml"]),
    ]
    for arguments, parts in cases:
        outcome = modlm("train", *arguments, "-o", folder)
        assert outcome.code == 1 and outcome.out == "" and outcome.err.count("\n") == 1
        assert all(part in outcome.err for part in parts), outcome.err
        assert not folder.exists()


def test_order_needs_one_block_to_be_about(modlm: Modlm, files: Files, tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text("[columns.a]\norder = 2\n[columns.b]\norder = 3\n")
    outcome = modlm("train", file, *texts(files), "--order", 4, "-o", tmp_path / "run")
    assert outcome.code == 1 and "--set columns.a.order" in outcome.err


def test_a_folder_that_has_something_in_it_is_left_alone(modlm: Modlm, files: Files, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    outcome = modlm("train", *texts(files), *SMALL, "-o", tmp_path)
    assert outcome.code == 1 and "--resume" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_how_to_go_on_and_does(
    modlm: Modlm, files: Files, tmp_path: Path, number: signal.Signals
) -> None:
    folder = tmp_path / "run"
    paths = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH", "")]))
    endless = ["--epochs", "100000", "--set", "schedule.patience=0"]
    words = ["train", *texts(files), *SMALL, *endless, "-o", folder, "--threads", 1]
    command = [sys.executable, "-m", "modlm", *map(str, words)]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths}, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (journal := folder / "journal.jsonl").exists() or not journal.stat().st_size:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1] == f"modlm: interrupted; go on with: modlm train --resume -o {folder} --threads 1"
    seen = json.loads(journal.read_text().splitlines()[-1])["epoch"]
    outcome = modlm("train", "--resume", "-o", folder, "--epochs", int(seen) + 3, "--json")
    assert outcome.code == 0 and outcome.json["epochs"] >= int(seen)
