"""A small net for lambda, trained on rows in memory: features of every column in, weights of the columns out."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from modlm.blocks.log_rows import LogRows
from modlm.ground.arrays import Floats, Singles
from modlm.nets.config import NetConfig
from modlm.nets.net_mixer import NetMixer
from modlm.training.config import OptimiserConfig, RunConfig, ScheduleConfig
from modlm.training.distributed import Processes
from modlm.training.texts import RunTexts, make_net
from modlm.training.trainer import Trainer

TOGETHER = 1 << 14  # positions that the net takes at once when it is not trained


def mixer_run(
    *,
    hidden_state: bool = False,
    hidden: int = 64,
    learning_rate: float = 0.001,
    batch: int = 256,
    epochs: int = 40,
    patience: int = 4,
    seed: int = 1,
) -> RunConfig:
    """A feedforward net over whitened features, and how it is trained; `patience` counts epochs.

    There is more dropout where hundreds of numbers of a hidden vector are read as well.
    """
    return RunConfig(
        kind="interpolated", text=(), valid="", extra=(), seed=seed,
        net=NetConfig(
            body="feedforward", hidden=hidden, inputs=("counts",), features="whitened",
            dropout=0.5 if hidden_state else 0.1,
        ),
        optimiser=OptimiserConfig(kind="adamw", learning_rate=learning_rate, weight_decay=0.01, clip=0),
        schedule=ScheduleConfig(epochs=epochs, patience=patience, batch_words=batch, evaluation_words=TOGETHER),
    )  # fmt: skip


def train_mixer(
    fit: LogRows, stop: LogRows, first_K: Floats, *, vocab_size: int, config: RunConfig
) -> tuple[NetMixer, tuple[float, ...]]:
    """A net that begins near the weights `first_K`, trained on `fit` and kept when `stop` was best.

    With it comes the mean nll on `stop`, before training and after each epoch.
    """
    every = replace(config.schedule, evaluate_every=len(fit.ids) - fit.sentences)
    config, processes = replace(config, schedule=every), Processes(torch.device("cpu"))
    texts = RunTexts(vocab_size, {"train": fit, "valid": stop}, {}, dict)
    net = make_net(config, texts, processes)
    with torch.no_grad():
        net.output.bias_K.copy_(torch.from_numpy(np.log(np.maximum(first_K, 1e-4))))
    with tempfile.TemporaryDirectory(prefix="modlm-") as folder:
        trainer = Trainer(config, texts, net, Path(folder), processes)
        history = [trainer.score(trainer.evaluated["valid"]).mean_nll]
        trainer.watch = lambda line: history.append(float(line["valid_mean_nll"] or 0))
        trainer.best = {name: value.clone() for name, value in net.state_dict().items()}
        trainer.run_state.best_valid = history[0]
        trainer.run()
    return NetMixer(net), tuple(history)


def positions_alone(log_probs_PK: Singles, features_PF: Singles) -> LogRows:
    """Rows of predicted positions, each as a sentence of its own, for nets that read features alone."""
    count = len(log_probs_PK)
    tables = [np.zeros((2 * count, table.shape[1]), np.float32) for table in (log_probs_PK, features_PF)]
    for table, values in zip(tables, (log_probs_PK, features_PF), strict=True):
        table[1::2] = values
    return LogRows(np.zeros(2 * count, np.uint32), 2 * np.arange(count + 1), tables[0], tables[1], {})
