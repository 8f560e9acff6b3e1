"""Runs in processes of their own: killed at any moment, and asked to stop."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from tiny_runs import INTERRUPTED, begun, contents, finished, tiny_config


def killed(process: BaseProcess, checkpoint: Path) -> bool:
    """Kill a run some time after it has written its first checkpoint; whether it was still going on."""
    before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
    while process.exitcode is None and not (checkpoint.exists() and checkpoint.stat().st_mtime_ns != before):
        process.join(0.002)
    process.join(random.uniform(0, 0.2))
    alive = process.exitcode is None
    process.kill()
    process.join()
    return alive


@pytest.mark.parametrize(("kind", "context"), [("hybrid", "sentence"), ("neural", "document")])
def test_a_run_killed_at_random_moments_ends_like_one_that_was_not(texts: Path, kind: str, context: str) -> None:
    config = tiny_config(texts, kind=kind, net__context=context, schedule__checkpoint_seconds=0.0, schedule__epochs=8)
    finished(config, texts, "whole")
    checkpoint = texts / "run" / "checkpoints" / "last.safetensors"
    kills = 0
    while kills < 3 and killed(begun(config, texts, "run", resume=True), checkpoint):
        kills += 1
    finished(config, texts, "run", resume=True)
    assert kills > 0
    assert contents(texts / "run") == contents(texts / "whole")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_a_checkpoint_from_which_the_run_goes_on(texts: Path, number: int) -> None:
    config = tiny_config(texts, schedule__epochs=400, schedule__checkpoint_seconds=1000.0)
    process = begun(config, texts, "run")
    journal = texts / "run" / "journal.jsonl"
    while not (journal.exists() and journal.stat().st_size):
        assert process.exitcode is None
        time.sleep(0.01)
    assert process.pid is not None
    os.kill(process.pid, number)
    process.join(60)
    assert process.exitcode == INTERRUPTED
    lines = journal.read_text().splitlines()
    epochs = -(-json.loads(lines[-1])["epoch"] // 1) + 1
    shorter = tiny_config(texts, schedule__epochs=epochs, schedule__checkpoint_seconds=1000.0)
    finished(shorter, texts, "run", resume=True)
    finished(shorter, texts, "whole")
    assert contents(texts / "run") == contents(texts / "whole")
