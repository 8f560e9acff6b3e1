"""Training speed of nets: a hybrid beside its deltas alone, and those beside the LSTM one would write with PyTorch.

    python benchmarks/train.py --ptb TRAIN TEST

All make the same updates: the same batches in the same order, one after the other in turns. Ours cut their batches out
of the memory-mapped rows as in a run, with dropout and block dropout; the plain one gets its padded batches ready-made.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from modlm.nets.batches import Batch
from modlm.training.config import RunConfig
from modlm.training.config_file import find_table, merged, run_config
from modlm.training.distributed import Processes
from modlm.training.run_state import RunState
from modlm.training.texts import prepare
from modlm.training.trainer import Trainer
from side_by_side.gemm_peak import gemm_peak
from side_by_side.plain_lstm import PADDING, PlainLSTM, PlainTraining, multiplications
from side_by_side.ratios import Speeds, arguments, publish
from side_by_side.timing import clocked, in_turns

TITLE = "Training speed of nets"
HYBRID, NARROW, DELTAS, PLAIN = "hybrid", "hybrid, bfloat16 products", "deltas only", "plain PyTorch LSTM"
EXACT = "hybrid, exact block dropout"
NAMED = {**dict.fromkeys((HYBRID, NARROW, EXACT), "paper/ptb-hybrid"), DELTAS: "paper/ptb-lstm"}
OWN: dict[str, dict[str, Any]] = {NARROW: {"products": "bfloat16"}, EXACT: {"block_dropout": {"per": "exact"}}}
PASSES = 3  # forward, and two products on the way back for each on the way forward


def configured(name: str, asked: argparse.Namespace) -> RunConfig:
    """A contestant's preset on the texts asked for; the test text serves for validation, which is never looked at."""
    train, test = (str(Path(path).resolve()) for path in asked.ptb)
    own = {"text": train, "valid": test, "net": {"hidden": asked.hidden}, **OWN.get(name, {})}
    return run_config(merged(find_table(NAMED[name]), own))


def trainer_of(config: RunConfig, folder: Path) -> Trainer:
    """A run without checkpoints and journal, before its first step."""
    processes = Processes(torch.device("cpu"))
    return Trainer(config, *prepare(config, processes), folder, processes)


def updates(trainer: Trainer, count: int) -> None:
    """The first so many batches of the run; parameters go on from where they are."""
    trainer.run_state = RunState()
    for _ in range(count):
        trainer.step()


def first_batches(trainer: Trainer, count: int) -> list[Batch]:
    """Those batches."""
    source = trainer.train
    return [source.batch(int(number)) for number in source.order(0, trainer.config.seed)[:count]]


def padded(batch: Batch) -> tuple[Tensor, Tensor]:
    """Previous words and words to predict, (T, B) each, as the plain model takes them."""
    contexts_TB = batch.contexts_TBW[:, :, -1].contiguous()
    words = torch.full((contexts_TB.numel(),), PADDING)
    places = slice(None) if batch.places_P is None else batch.places_P
    words[places] = batch.words_P
    return contexts_TB, words.view_as(contexts_TB)


def plain_training(config: RunConfig, vocab_size: int) -> PlainTraining:
    """The plain model with the settings of our run."""
    net = PlainLSTM(vocab_size, config.net.hidden, layers=config.net.layers, dropout=config.net.dropout)
    return PlainTraining(net, learning_rate=config.optimiser.learning_rate, clip=config.optimiser.clip)


def operations(config: RunConfig, batches: Sequence[Batch], columns: int) -> float:
    """Floating-point operations in the matrix products of a round of deltas alone."""
    hidden = config.net.hidden
    recurrent, output = multiplications(hidden, hidden, columns, layers=config.net.layers)
    positions = sum(batch.real_TB.numel() for batch in batches)
    return PASSES * (recurrent * positions + output * sum(batch.words for batch in batches))


def measured(asked: argparse.Namespace) -> Speeds:
    """Words a second of every contestant, and the ratios that have bars."""
    configs = {name: configured(name, asked) for name in NAMED}
    with tempfile.TemporaryDirectory(prefix="modlm-bench-") as folder:
        os.environ.setdefault("MODLM_CACHE", folder)
        ours = {name: trainer_of(config, Path(folder)) for name, config in configs.items()}
        net = ours[DELTAS].net
        batches = first_batches(ours[DELTAS], asked.batches)
        plain, ready = plain_training(configs[DELTAS], net.vocab_size), [padded(batch) for batch in batches]
        tasks: dict[str, Callable[[], object]] = {
            name: lambda trainer=trainer: updates(trainer, asked.batches)  # type: ignore[misc]
            for name, trainer in ours.items()
        }
        tasks[PLAIN] = lambda: plain.train(ready)
        peaks = [gemm_peak(dtype, quick=asked.quick) for dtype in (torch.float32, torch.bfloat16)]
        in_turns(1, {name: clocked(task) for name, task in tasks.items()})  # memory is allocated, caches are warm
        samples = in_turns(asked.repetitions, {name: clocked(task) for name, task in tasks.items()})
        peak = max(peaks[0], gemm_peak(quick=asked.quick))
    speeds = Speeds(sum(batch.words for batch in batches), samples)
    speeds.compare(HYBRID, DELTAS, at_least=0.95)
    speeds.compare(EXACT, HYBRID, at_least=0.87)  # a step of at most 1.15 times a drawn one's
    speeds.compare(NARROW, HYBRID)  # depends on the processor
    speeds.compare(DELTAS, PLAIN, at_least=1.2)
    done = operations(configs[DELTAS], batches, net.vocab_size + net.dense) / samples[DELTAS].median
    speeds.facts += [
        f"{net.vocab_size:,} words in the vocabulary, {asked.hidden} units, {asked.batches} updates a round",
        f"matrix products: {peak / 1e9:.0f} GFLOP/s at best on this machine; the products of {DELTAS} run at "
        f"{done / 1e9:.0f} GFLOP/s over all of its time, {done / peak:.0%} of that; in bfloat16 "
        f"{peaks[1] / 1e9:.0f} GFLOP/s at best",
    ]
    return speeds


def main(given: Sequence[str] | None = None) -> int:
    """Measure and print."""
    asked = arguments("Training speed of nets, as ratios.", given)
    publish(measured(asked), TITLE, "train.py", asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
