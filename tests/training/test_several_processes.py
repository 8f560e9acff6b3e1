"""Several processes train as one would, end together, and go on in any other number. Real processes, on loopback."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from modlm.blocks.log_rows import LogRows
from modlm.errors import ConfigError
from modlm.training.config import RunConfig
from modlm.training.config_file import to_toml
from modlm.training.distributed import Processes, join, process_timeout
from modlm.training.run import train
from modlm.training.texts import prepare
from modlm.training.trainer import Trainer
from tiny_runs import begun, free_port, tiny_config

EVERYTHING = {  # that draws at random, looks at gradients or remembers
    "net__input_dropout": 0.1,
    "net__word_dropout": 0.1,
    "net__weight_dropout": 0.2,
    "optimiser__lazy": True,
    "optimiser__average": 100,
    "optimiser__clip": 0.5,
    "optimiser__schedule": "plateau",
    "optimiser__warmup": 50,
}


def together(
    config: RunConfig, texts: Path, name: str, *, resume: bool = False, machines: bool = False, **more: str
) -> list[BaseProcess]:
    """Two processes of one run, begun: on one machine, or as if each had its own."""
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "WORLD_SIZE": "2"}
    own = [{"LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2"} for rank in range(2)]
    if machines:
        own = [
            {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "MODLM_CACHE": str(texts / f"cache-{rank}")} for rank in (0, 1)
        ]
    return [
        begun(config, texts, name, resume=resume, RANK=str(rank), **place, **own[rank], **more) for rank in range(2)
    ]


def ended(processes: list[BaseProcess]) -> list[int | None]:
    for process in processes:
        process.join(240)
    return [process.exitcode for process in processes]


def journal(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]


def check_same(one: Path, other: Path) -> None:
    """The same trajectory up to the rounding of sums: every evaluation, and the parameters in the end."""
    alone, shared = journal(one), journal(other)
    assert len(alone) == len(shared)
    for left, right in zip(alone, shared, strict=True):
        assert left == pytest.approx(right, rel=1e-4)
    left, right = (load_file(folder / "model" / "weights.safetensors") for folder in (one, other))
    for name in left:
        np.testing.assert_allclose(left[name], right[name], atol=1e-3)


def trainer_of(config: RunConfig, folder: Path, processes: Processes) -> Trainer:
    """A run before its first step, with a place among processes that are not there."""
    return Trainer(config, *prepare(config, Processes(torch.device("cpu"))), folder, processes)


@pytest.mark.parametrize("context", ["sentence", "document"])
@pytest.mark.parametrize(
    "more", [{}, EVERYTHING, {"net__locked": True, "net__tied": True, "net__projected": True}], ids=str
)
@pytest.mark.parametrize("world", [2, 3])
def test_gradients_of_the_parts_of_a_batch_add_up_to_those_of_the_batch(
    texts: Path, context: str, more: Mapping[str, Any], world: int
) -> None:
    config = tiny_config(texts, kind="hybrid", net__context=context, **more)
    trainers = [
        trainer_of(config, texts, Processes(torch.device("cpu"), rank, count, range(count)))
        for rank, count in [(0, 1), *((rank, world) for rank in range(world))]
    ]
    for number in range(3):  # states pass from batch to batch
        nlls = []
        for trainer in trainers:
            trainer.run_state.step = number
            trainer.optimiser.clear()
            nlls.append(trainer.backward(trainer.train.batch(number, trainer.processes.shard))[0])
        assert sum(nlls[1:]) == pytest.approx(nlls[0], rel=1e-5)
        whole, *parts = [trainer.optimiser.gradients() for trainer in trainers]
        for gradient, *shares in zip(whole, *parts, strict=True):
            largest = float(gradient.abs().max())
            assert torch.allclose(sum(shares, torch.zeros(())), gradient, rtol=1e-4, atol=1e-5 * largest)


@pytest.mark.parametrize("context", ["sentence", "document"])
def test_two_processes_learn_as_one_does(texts: Path, context: str) -> None:
    config = tiny_config(texts, kind="hybrid", net__context=context, schedule__epochs=2, **EVERYTHING)
    train(config, texts / "one", device="cpu")
    assert ended(together(config, texts, "two")) == [0, 0]
    check_same(texts / "one", texts / "two")
    assert json.loads((texts / "two" / "result.json").read_text())["processes"] == 2


def test_each_machine_has_the_rows_of_its_own_sentences_and_no_others(texts: Path) -> None:
    config = tiny_config(texts, kind="hybrid", schedule__epochs=2)
    train(config, texts / "one", device="cpu")
    assert ended(together(config, texts, "two", machines=True)) == [0, 0]
    check_same(texts / "one", texts / "two")

    def largest(cache: str) -> LogRows:
        return max(map(LogRows.open, (texts / cache / "rows").iterdir()), key=lambda rows: len(rows.ids))

    whole, *parts = (largest(cache) for cache in ("cache", "cache-0", "cache-1"))
    assert sum(part.sentences for part in parts) == whole.sentences
    assert sum(len(part.ids) for part in parts) == len(whole.ids)
    rows = [
        sorted(part.log_probs_TD[low:high].tobytes() for low, high in zip(part.starts, part.starts[1:], strict=False))
        for part in (whole, *parts)
    ]
    assert sorted(rows[1] + rows[2]) == rows[0]


def test_a_run_goes_on_with_another_number_of_processes(texts: Path) -> None:
    """One, then two on machines that share no folders, then one again, in the middle of a document."""

    def config(epochs: float) -> RunConfig:
        return tiny_config(texts, kind="hybrid", net__context="document", schedule__epochs=epochs)

    train(config(1.5), texts / "run", device="cpu")
    assert ended(together(config(2.3), texts, "run", resume=True, machines=True)) == [0, 0]
    train(config(3), texts / "run", device="cpu", resume=True)
    train(config(1.5), texts / "whole", device="cpu")
    train(config(2.3), texts / "whole", device="cpu", resume=True)
    train(config(3), texts / "whole", device="cpu", resume=True)
    check_same(texts / "run", texts / "whole")


def test_a_process_that_stands_still_ends_the_run_when_the_time_limit_is_over(texts: Path) -> None:
    config = tiny_config(texts, schedule__epochs=4000, schedule__evaluate_every=10**6)
    both = together(config, texts, "run", MODLM_PROCESS_TIMEOUT="10", MODLM_TEST_ERRORS=str(texts / "errors"))
    try:
        wait_for(texts / "run" / "journal.jsonl", both[0])
        assert both[1].pid is not None
        os.kill(both[1].pid, signal.SIGSTOP)
        both[0].join(120)
        assert both[0].exitcode == 1
        assert "Process 0 of 2 can no longer reach the others (" in (texts / "errors").read_text()
    finally:
        for process in both:
            process.kill()


def test_a_killed_process_ends_the_job_with_one_message_and_the_run_goes_on_alone(texts: Path) -> None:
    def config(epochs: int) -> RunConfig:
        return tiny_config(texts, kind="hybrid", schedule__epochs=epochs, schedule__checkpoint_seconds=0.0)

    (texts / "run.toml").write_text(to_toml(config(10_000)))
    job = torchrun(texts, "train", str(texts / "run.toml"), "-o", str(texts / "run"), "--device", "cpu")
    wait_for(texts / "run" / "checkpoints" / "last.safetensors", job)
    os.kill(ranks(job.pid)[1], signal.SIGKILL)
    _, errors = job.communicate(timeout=240)
    assert job.returncode == 1
    said = re.findall(r"^modlm: .*$", errors, re.MULTILINE)
    assert len(said) == 1, errors
    assert "Process 0 of 2 can no longer reach the others" in said[0]
    assert "Go on with --resume" in said[0]
    epochs = 2 + (int(journal(texts / "run")[-1]["epoch"]) if (texts / "run" / "journal.jsonl").stat().st_size else 0)
    train(config(epochs), texts / "run", device="cpu", resume=True)
    train(config(epochs), texts / "whole", device="cpu")
    for left, right in zip(journal(texts / "run"), journal(texts / "whole"), strict=True):
        assert left == pytest.approx(right, rel=1e-3)


@pytest.mark.long
def test_torchrun_starts_a_job_again_that_lost_a_process(texts: Path) -> None:
    config = tiny_config(texts, kind="hybrid", schedule__epochs=20, schedule__checkpoint_seconds=0.0)
    (texts / "run.toml").write_text(to_toml(config))
    command = ("train", str(texts / "run.toml"), "-o", str(texts / "run"), "--device", "cpu", "--resume")
    job = torchrun(texts, *command, restarts=1)
    wait_for(texts / "run" / "checkpoints" / "last.safetensors", job)
    os.kill(ranks(job.pid)[1], signal.SIGKILL)
    _, errors = job.communicate(timeout=240)
    assert job.returncode == 0, errors
    assert len(journal(texts / "run")) == 40
    assert errors.count("can no longer reach the others") == 1


def test_a_job_that_is_asked_to_stop_saves_a_checkpoint_and_says_so_once(texts: Path) -> None:
    config = tiny_config(texts, schedule__epochs=10_000, schedule__checkpoint_seconds=1000.0)
    (texts / "run.toml").write_text(to_toml(config))
    job = torchrun(texts, "train", str(texts / "run.toml"), "-o", str(texts / "run"), "--device", "cpu")
    wait_for(texts / "run" / "checkpoints" / "last.safetensors", job)  # of the first evaluation
    before = (texts / "run" / "checkpoints" / "last.safetensors").stat().st_mtime_ns
    job.terminate()
    _, errors = job.communicate(timeout=240)
    assert job.returncode != 0
    assert (texts / "run" / "checkpoints" / "last.safetensors").stat().st_mtime_ns > before
    assert len(re.findall(r"^modlm: interrupted; go on with: modlm train --resume", errors, re.MULTILINE)) == 1, errors
    assert len(re.findall(r"^modlm: ", errors, re.MULTILINE)) == 1, errors


def test_a_mistake_is_told_once_by_all_processes_together(texts: Path) -> None:
    (texts / "run.toml").write_text(to_toml(tiny_config(texts)))
    (texts / "valid.txt").write_text("")
    job = torchrun(texts, "train", str(texts / "run.toml"), "-o", str(texts / "run"), "--device", "cpu")
    _, errors = job.communicate(timeout=240)
    assert job.returncode == 1
    assert len(re.findall(r"^modlm: .*no sentences", errors, re.MULTILINE)) == 1, errors
    assert len(re.findall(r"^modlm: ", errors, re.MULTILINE)) == 1, errors
    assert not (texts / "run").exists()


def test_places_and_time_limits_that_make_no_sense_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODLM_PROCESS_TIMEOUT", "soon")
    with pytest.raises(ConfigError, match="MODLM_PROCESS_TIMEOUT must be a number of seconds above 0, but is 'soon'"):
        process_timeout()
    monkeypatch.setenv("RANK", "first")
    with pytest.raises(ConfigError, match=r"RANK tells a process its place among several .* but is 'first'"):
        join("cpu")


# ---- jobs of torchrun ------------------------------------------------------------------------------------------------


def torchrun(texts: Path, *arguments: str, restarts: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += ["--max-restarts", str(restarts), "-m", "modlm"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [*command, *arguments],
        env=environment,
        cwd=texts,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for(path: Path, process: BaseProcess | subprocess.Popen[str]) -> None:
    """Until the file is there, while the process lives."""
    limit = time.monotonic() + 240
    while not path.exists():
        alive = process.poll() is None if isinstance(process, subprocess.Popen) else process.exitcode is None
        assert alive and time.monotonic() < limit
        time.sleep(0.02)


def ranks(agent: int) -> dict[int, int]:
    """The process id of every rank that a torchrun has started."""
    found: dict[int, int] = {}
    for child in Path(f"/proc/{agent}/task/{agent}/children").read_text().split():
        place = re.search(rb"(?:^|\0)RANK=(\d+)", Path(f"/proc/{child}/environ").read_bytes())
        if place is not None:
            found[int(place[1])] = int(child)
    return found
