"""Curves of a run elsewhere: TensorBoard, MLflow, Weights & Biases or trackio, told of every line of the journal."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from modlm.errors import MissingPackageError, require
from modlm.training.config import RunConfig
from modlm.training.journal import Line

TEXTS = ("train", "valid", "test")


@dataclass(frozen=True, slots=True)
class Tracker:
    """Another one is a function that makes it, and a name in TRACKERS."""

    add: Callable[[dict[str, float], int], object]
    """Told the numbers of one evaluation, by `perplexity/valid` and the like, after so many words of training."""
    close: Callable[[], object]  # writes what is left


def _tensorboard(folder: Path, config: RunConfig) -> Tracker:
    """Files in the run folder."""
    needed("tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    writer: Any = SummaryWriter(str(folder / "tensorboard"))

    def add(values: dict[str, float], words: int) -> None:
        for name, value in values.items():
            writer.add_scalar(name, value, words)
        writer.flush()

    return Tracker(add, writer.close)


def _mlflow(folder: Path, config: RunConfig) -> Tracker:
    """A run of MLflow, where MLFLOW_TRACKING_URI says."""
    mlflow = needed("mlflow")
    mlflow.start_run(run_name=folder.name)
    mlflow.log_params({name: str(value)[:500] for name, value in dataclasses.asdict(config).items()})
    return Tracker(lambda values, words: mlflow.log_metrics(values, step=words), mlflow.end_run)


def _in_project(package: str, folder: Path, config: RunConfig) -> Tracker:
    """A run of Weights & Biases; trackio has the same functions."""
    tracker = needed(package)
    tracker.init(project="modlm", name=folder.name, config=dataclasses.asdict(config))
    return Tracker(lambda values, words: tracker.log(values, step=words), tracker.finish)


TRACKERS: dict[str, Callable[[Path, RunConfig], Tracker]] = {
    "tensorboard": _tensorboard,
    "mlflow": _mlflow,
    "wandb": partial(_in_project, "wandb"),
    "trackio": partial(_in_project, "trackio"),
}


def needed(package: str) -> Any:
    """A tracker's package, asked for before any work is done; but for TensorBoard's no extra of ours brings it."""
    if package == "tensorboard":
        return require(package, extra="tensorboard", purpose="Writing TensorBoard files")
    try:
        return importlib.import_module(package)
    except ImportError as error:
        told = f"tracking = {package!r} needs the package {package!r}, which is not installed: pip install {package}"
        raise MissingPackageError(told) from error


def values_of(line: Line) -> dict[str, float]:
    """Every number of a journal line under its kind and text: `perplexity/valid`."""
    found = {}
    for name, value in line.items():
        if isinstance(value, float):
            text, _, what = name.partition("_") if name.partition("_")[0] in TEXTS else ("run", "", name)
            found[f"{what}/{text}"] = value
    return found
