"""Runs small enough for tests: texts of a few hundred words, nets of a few units, and children that can be killed."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import random
import socket
import sys
import traceback
from functools import cache
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from modlm.nets.config import BlockDropoutConfig, NetConfig
from modlm.training.config import ColumnsConfig, OptimiserConfig, RunConfig, ScheduleConfig

SENTENCES = {"train": 60, "valid": 12, "test": 10}
INTERRUPTED = 130


def write_texts(folder: Path) -> None:
    """Three texts in which short words are frequent and follow each other in a pattern."""
    rng = random.Random(1)
    for name, sentences in SENTENCES.items():
        lines = [
            " ".join(f"w{(3 * at + min(11, int(rng.expovariate(0.4)))) % 14}" for at in range(rng.randint(0, 9)))
            for _ in range(sentences)
        ]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def tiny_config(folder: Path, *, kind: str = "neural", **changes: Any) -> RunConfig:
    """A run over the texts in the folder; `changes` are settings by path, with __ for the dots."""
    counted = kind != "neural"
    config = RunConfig(
        kind=kind,
        text=str(folder / "train.txt"),
        valid=str(folder / "valid.txt"),
        test=str(folder / "test.txt"),
        folds=3,
        columns={"ngram": ColumnsConfig(order=2, smoothing="witten-bell")} if counted else {},
        net=NetConfig(hidden=6, inputs=("counts", "word") if counted else ("word",), dropout=0.25),
        block_dropout=BlockDropoutConfig(rate=0.5, decay=0.9) if kind == "hybrid" else BlockDropoutConfig(),
        optimiser=OptimiserConfig(learning_rate=0.02),
        schedule=ScheduleConfig(epochs=3, batch_words=40, evaluation_words=64, steps=7, patience=0),
    )
    for path, value in changes.items():
        table, _, name = path.partition("__")
        inner = dataclasses.replace(getattr(config, table), **{name: value}) if name else value
        config = dataclasses.replace(config, **{table: inner})
    return config


def contents(folder: Path) -> dict[str, bytes]:
    """What must be the same in every repetition of a run: journal and parameters."""
    names = ("journal.jsonl", "model/weights.safetensors")
    return {name: (folder / name).read_bytes() for name in names}


def child(config: RunConfig, folder: Path, *, resume: bool = False, environment: dict[str, str]) -> BaseProcess:
    """A run in a process of its own, begun; its exit code is 130 when it was interrupted."""
    context = forking()
    process = context.Process(target=_run, args=(config, str(folder), resume, environment))
    process.start()
    return process


def begun(config: RunConfig, texts: Path, name: str, *, resume: bool = False, **more: str) -> BaseProcess:
    """A child in the environment of the test, with settings of its own."""
    environment = {name: os.environ[name] for name in ("MODLM_CACHE", "MODLM_THREADS", "NUMBA_CACHE_DIR")}
    return child(config, texts / name, resume=resume, environment=environment | more)


def finished(config: RunConfig, texts: Path, name: str, *, resume: bool = False) -> None:
    """A child that has come to its end."""
    process = begun(config, texts, name, resume=resume)
    process.join(120)
    assert process.exitcode == 0


@cache
def forking() -> ForkServerContext:
    """Processes that come from one in which everything has been imported; it must find what we find."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["modlm.training.run", "numba"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        forkserver.ensure_running()
    return context


def _run(config: RunConfig, folder: str, resume: bool, environment: dict[str, str]) -> None:
    os.environ.update(environment)
    from modlm.training.run import train

    try:
        train(config, folder, resume=resume, device="cpu")
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
    except BaseException:
        if "MODLM_TEST_ERRORS" in os.environ:
            Path(os.environ["MODLM_TEST_ERRORS"]).write_text(traceback.format_exc())
        traceback.print_exc()
        os._exit(1)


def free_port() -> str:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])
