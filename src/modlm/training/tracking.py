"""Curves of a run elsewhere: TensorBoard, MLflow, Weights & Biases or trackio, told of every line of the journal."""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path
from typing import Any, Protocol

from modlm.errors import MissingPackageError, require
from modlm.training.config import RunConfig
from modlm.training.journal import Line

TEXTS = ("train", "valid", "test")


class Tracker(Protocol):
    """One small interface; another tracker is a class with these two, and a name in TRACKERS."""

    def add(self, values: dict[str, float], words: int) -> None:
        """The numbers of one evaluation, by `perplexity/valid` and the like, after so many words of training."""

    def close(self) -> None:
        """Write what is left."""


class TensorBoard:
    """Files in the run folder."""

    def __init__(self, folder: Path, config: RunConfig) -> None:
        needed("tensorboard")
        from torch.utils.tensorboard import SummaryWriter

        self._writer: Any = SummaryWriter(str(folder / "tensorboard"))

    def add(self, values: dict[str, float], words: int) -> None:
        """See `Tracker`."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, words)
        self._writer.flush()

    def close(self) -> None:
        """See `Tracker`."""
        self._writer.close()


class MlFlow:
    """A run of MLflow, where MLFLOW_TRACKING_URI says."""

    def __init__(self, folder: Path, config: RunConfig) -> None:
        self._mlflow: Any = needed("mlflow")
        self._mlflow.start_run(run_name=folder.name)
        self._mlflow.log_params({name: str(value)[:500] for name, value in dataclasses.asdict(config).items()})

    def add(self, values: dict[str, float], words: int) -> None:
        """See `Tracker`."""
        self._mlflow.log_metrics(values, step=words)

    def close(self) -> None:
        """See `Tracker`."""
        self._mlflow.end_run()


class WandB:
    """A run of Weights & Biases; trackio has the same functions."""

    package = "wandb"

    def __init__(self, folder: Path, config: RunConfig) -> None:
        self._tracker: Any = needed(self.package)
        self._tracker.init(project="modlm", name=folder.name, config=dataclasses.asdict(config))

    def add(self, values: dict[str, float], words: int) -> None:
        """See `Tracker`."""
        self._tracker.log(values, step=words)

    def close(self) -> None:
        """See `Tracker`."""
        self._tracker.finish()


class Trackio(WandB):
    """A run of trackio."""

    package = "trackio"


TRACKERS: dict[str, Any] = {"tensorboard": TensorBoard, "mlflow": MlFlow, "wandb": WandB, "trackio": Trackio}


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
