"""`train`: from a configuration to a run folder with its journal, checkpoints, model and result."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import median_high
from typing import Any

import numpy as np
import torch

from modlm.blocks.block import ColumnLayout
from modlm.errors import ModlmError
from modlm.families import MIXERS
from modlm.ground.arrays import threads
from modlm.mixers import StaticMixer
from modlm.model.folder import save
from modlm.model.interpolation import rows_of
from modlm.model.mixture import Mixture
from modlm.nets.net_mixer import NetMixer
from modlm.training.blocks import all_blocks, dense_blocks
from modlm.training.checkpoint import CheckpointWriter, shared_checkpoint
from modlm.training.config import RunConfig
from modlm.training.distributed import Processes, join
from modlm.training.journal import JOURNAL, TIMINGS, Journal, Line
from modlm.training.run_folder import (
    MODEL,
    Result,
    card,
    check_run_folder,
    check_same_texts,
    check_settings,
    open_run_folder,
    run_record,
)
from modlm.training.texts import evaluation_batches, prepare, read_sources, read_texts
from modlm.training.thread_choice import ThreadChoice
from modlm.training.tracking import TRACKERS, needed
from modlm.training.trainer import Trainer


def train(
    config: RunConfig,
    folder: str | os.PathLike[str],
    *,
    resume: bool = False,
    device: str = "auto",
    tensorboard: bool = False,
    watch: Callable[[Line], None] | None = None,
) -> Result:
    """Train a model to the end of its run, or go on with the run in the folder.

    Ctrl-C and SIGTERM save a checkpoint and come out as `Interrupted`, a KeyboardInterrupt. `watch` is told of every
    evaluation as the journal is; what it raises ends the run.
    """
    if config.mixer != "net":
        return fit(config, Path(folder), resume=resume)
    names = dict.fromkeys((*config.tracking, *(["tensorboard"] if tensorboard else [])))
    for name in names:
        needed(name)
    processes = join(device)
    try:
        with _settled(processes.device), processes.failing_together():
            return _train(config, Path(folder), processes, resume=resume, trackers=tuple(names), watch=watch)
    finally:
        processes.close()


def fit(config: RunConfig, folder: Path, *, resume: bool = False) -> Result:
    """A run whose mixer is no net: weights that suit the validation text, found in seconds, and anew by `resume`."""
    check_run_folder(folder, resume=resume)
    begun, texts = time.perf_counter(), read_texts(config)
    vocabulary, pairs = texts["train"].vocabulary, read_sources(config, texts)
    blocks = all_blocks(config, vocabulary, dense_blocks(config, texts["train"], pairs.get("train")))
    layout = ColumnLayout(blocks)
    count = len(layout) + len(layout.over_source)
    equal = Mixture(vocabulary, blocks, StaticMixer(np.full(count, 1 / count), layout))
    rows = rows_of(equal, texts["valid"], pairs["valid"].sources if pairs else ())
    model = Mixture(vocabulary, blocks, MIXERS[config.mixer].fitted(layout, blocks, rows))
    reading = model.reads.source
    found = {
        name: float(model.perplexity(texts[name], source=Path(getattr(config, f"{name}_source")) if reading else None))
        for name in texts
        if name != "train"
    }
    best: Line = {"words": 0, **{f"{name}_dense_mass": 1.0 for name in found}}  # there are no other columns
    result = Result(
        folder=folder, kind=config.kind, stopped="fitted", words=0, epochs=0.0, evaluations=1,
        seconds=time.perf_counter() - begun, words_per_second=0.0, device="cpu", processes=1, best=best,
        parameters=int(model.described().get("parameters", len(layout))), valid_perplexity=found["valid"],
        test_perplexity=found.get("test"),
    )  # fmt: skip
    with open_run_folder(folder, config, resume=resume):
        prints = {name: corpus.fingerprint for name, corpus in texts.items()}
        save(model, folder / MODEL, card=card(result, config, prints), overwrite=True)
        result.write()
    return result


def _train(
    config: RunConfig,
    folder: Path,
    processes: Processes,
    *,
    resume: bool,
    trackers: tuple[str, ...],
    watch: Callable[[Line], None] | None,
) -> Result:
    checkpoint = shared_checkpoint(folder, processes) if resume else None
    if processes.leads:
        if checkpoint is not None:
            check_settings(checkpoint.run, run_record(config), folder)
        check_run_folder(folder, resume=resume)
    texts, net = prepare(config, processes)
    # Only now that nothing is wrong with the texts, so that a mistake leaves no folder behind.
    with open_run_folder(folder, config, resume=resume) if processes.leads else nullcontext():
        trainer = Trainer(config, texts, net, folder, processes, threads=ThreadChoice.left_open(processes))
        trainer.watch = watch or trainer.watch
        if processes.leads:
            record = run_record(config, texts.fingerprints())
            if checkpoint is not None:
                check_same_texts(checkpoint.run, record, folder)
            trainer.checkpoints = CheckpointWriter(folder, record)
            trainer.trackers = tuple(TRACKERS[name](folder, config) for name in trackers)
        if checkpoint is not None:
            trainer.take_up(checkpoint)
        reason = trainer.run()
        for tracker in trainer.trackers:
            tracker.close()
        result = _result(trainer, reason)
        if processes.leads:
            prints, blocks = texts.fingerprints(), all_blocks(config, texts.vocabulary, texts.blocks())
            mixer = NetMixer(net.cpu(), trained_on=prints["train"], source_vocabulary=texts.source_vocabulary)
            model = Mixture(texts.vocabulary, blocks, mixer)
            save(model, folder / MODEL, card=card(result, config, prints), overwrite=True)
            result.write()
        processes.leave_in_order()
        return result


def _result(trainer: Trainer, reason: str) -> Result:
    """What the run came to; the first process reads the journal and tells the others."""
    config = trainer.config
    exact: dict[str, float] = {}
    if config.net.context == "document" and trainer.best:  # as the model itself scores a text: in one stream
        for name, source in trainer.evaluated.items():
            exact[name] = trainer.score(evaluation_batches(config, source.rows, streams=1)).perplexity
    told = trainer.processes.told("result", lambda: json.dumps(_found(trainer, reason, exact)))
    return Result(folder=trainer.folder, **json.loads(told))


def _found(trainer: Trainer, reason: str, exact: dict[str, float]) -> dict[str, Any]:
    state, lines = trainer.run_state, Journal(trainer.folder / JOURNAL).lines()
    best: Line | None = next((line for line in reversed(lines) if line["best"]), None)
    if best is None:
        raise ModlmError(
            "No evaluation gave the validation text a probability above 0, so there is no best model. Add a constant "
            'column, extra = ["uniform", "unknown"], or check the validation text.'
        )
    speeds = [float(line["train_words_per_second"] or 0) for line in Journal(trainer.folder / TIMINGS).lines()]
    found = {name: best[f"{name}_perplexity"] for name in trainer.evaluated}
    perplexities = {name: math.inf if value is None else value for name, value in found.items()} | exact
    return {
        "kind": trainer.config.kind,
        "stopped": reason,
        "words": state.words,
        "epochs": trainer.rules.epochs(state),
        "evaluations": state.evaluations,
        "seconds": state.seconds,
        "words_per_second": median_high(speeds) if speeds else 0.0,
        "parameters": sum(parameter.numel() for parameter in trainer.net.parameters()),
        "device": str(trainer.processes.device),
        "processes": trainer.processes.world,
        "best": best,
        "valid_perplexity": perplexities["valid"],
        "test_perplexity": perplexities.get("test"),
    }


@contextmanager
def _settled(device: torch.device) -> Iterator[None]:
    """As many threads as asked for; on a GPU, kernels whose sums come out the same every time, where there are any."""
    before = torch.get_num_threads()
    if os.environ.get("MODLM_THREADS"):
        torch.set_num_threads(threads())
    if device.type == "cuda":
        torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.set_num_threads(before)
