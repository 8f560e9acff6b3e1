"""The demo's nets: a neural model, neurally interpolated n-grams and a hybrid, small enough for two cores.

Settings are the best of a few runs of each kind by the perplexity of the demo's validation part; the test part had no
say. Every kind was also tried with what is best for the hybrid, and the neural model has just that.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from modlm.model.language_model import LanguageModel
from modlm.training.config_file import Table, merged, run_config

NEURAL, INTERPOLATED, HYBRID = "neural LM, LSTM", "interpolated n-grams, LSTM", "hybrid, LSTM and n-grams"
COMMON: Table = {
    "optimiser": {"learning_rate": 0.008, "schedule": "cosine"},
    "schedule": {"epochs": 2.0, "evaluate_every": 160_000, "patience": 0},
}
SMALL: Table = {"hidden": 96, "dropout": 0.1, "tied": True}
NETS: dict[str, Table] = {
    NEURAL: {"kind": "neural", "net": SMALL},
    INTERPOLATED: {"kind": "interpolated", "net": {"hidden": 48}, "optimiser": {"learning_rate": 0.003}},
    HYBRID: {"kind": "hybrid", "net": SMALL},
}


def nets_can_be_trained() -> bool:
    """Whether the packages of the extra `neural` are here."""
    return find_spec("torch") is not None and find_spec("safetensors") is not None


def trained_net(label: str, paths: dict[str, Path], folder: Path, *, min_count: int) -> LanguageModel:
    """The model of a run in the folder, opened from there."""
    from modlm.model.folder import load
    from modlm.training.run import train

    texts = {"text": str(paths["train"].absolute()), "valid": str(paths["valid"].absolute())}
    table = merged(merged(COMMON, NETS[label]), texts | {"vocabulary": {"min_count": min_count}})
    with cache_in(folder.parent / "cache"):
        return load(train(run_config(table, where="demo"), folder).model)


@contextlib.contextmanager
def cache_in(folder: Path) -> Iterator[None]:
    """Rows are kept in this folder, and so go away with the demo's other passing files."""
    before = os.environ.get("MODLM_CACHE")
    os.environ["MODLM_CACHE"] = str(folder.absolute())
    try:
        yield
    finally:
        if before is None:
            del os.environ["MODLM_CACHE"]
        else:
            os.environ["MODLM_CACHE"] = before
