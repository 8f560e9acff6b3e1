"""The folder of a run: `config.toml`, journal, checkpoints, and in the end the model and `result.json`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from modlm.errors import ConfigError, OutputError
from modlm.ground.files import new_file, only_writer, output_error
from modlm.training.config import ColumnsConfig, RunConfig
from modlm.training.config_file import flat, to_toml
from modlm.training.journal import Line

CONFIG = "config.toml"
RESULT = "result.json"
MODEL = "model"
FREE = {  # what may differ when a run is resumed; texts are compared by what is in them
    *("text", "valid", "test", "source", "valid_source", "test_source", "vocabulary.file", "tracking"),
    *("schedule.epochs", "schedule.minutes", "schedule.patience", "schedule.least_epochs"),
    "schedule.checkpoint_seconds",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came out of a run; `as_dict` is `result.json`."""

    folder: Path
    kind: str
    stopped: str  # why it ended: epochs, patience or minutes
    words: int  # words trained on
    epochs: float
    evaluations: int
    seconds: float  # of training and its evaluations, over all parts of the run
    words_per_second: float  # of training alone, in the middle of all evaluations
    parameters: int
    device: str
    processes: int
    best: Line  # the journal's line of the evaluation whose parameters the model has
    valid_perplexity: float
    test_perplexity: float | None = None

    @property
    def model(self) -> Path:
        return self.folder / MODEL

    def as_dict(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return dataclasses.asdict(self) | {"folder": str(self.folder), "model": str(self.model)}

    def write(self) -> None:
        """Write `result.json`; the folder that holds it may move, so names in it are relative."""
        entries = self.as_dict() | {"folder": ".", "model": MODEL}
        with new_file(self.folder / RESULT) as path:
            path.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def check_run_folder(folder: Path, *, resume: bool) -> None:
    """Refuse a folder with something in it, unless to go on with the run there."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file, but a folder should be written there. Choose another name.")
    if not resume and folder.is_dir() and any(folder.iterdir()):
        raise OutputError(f"{folder} is not empty. Go on with the run in it (resume=True), or choose another name.")


@contextmanager
def open_run_folder(folder: Path, config: RunConfig, *, resume: bool) -> Iterator[None]:
    """Make the folder, ours alone while the block runs, and write its `config.toml`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise output_error(folder, error) from error
    with only_writer(folder):
        check_run_folder(folder, resume=resume)  # again: another process may have been faster
        with new_file(folder / CONFIG) as path:
            path.write_text(to_toml(config), encoding="utf-8")
        yield


def run_record(config: RunConfig, fingerprints: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    """What a checkpoint remembers of the run it belongs to."""
    return {"config": flat(dataclasses.asdict(config)), "fingerprints": dict(fingerprints)}


def check_same_texts(found: Mapping[str, Any], wanted: Mapping[str, Any], folder: Path) -> None:
    """A run is taken up only with the texts it began with."""
    texts = [name for name, value in wanted["fingerprints"].items() if found["fingerprints"].get(name) != value]
    texts += [name for name in found["fingerprints"] if name not in wanted["fingerprints"]]
    if texts:
        raise ConfigError(
            f"The run in {folder} began with other data: {', '.join(texts)} changed. Give the same texts, or begin a "
            f"new run in another folder."
        )


def check_settings(found: Mapping[str, Any], wanted: Mapping[str, Any], folder: Path) -> None:
    """And only with its settings; those that were not there yet when the run began had their defaults."""
    old, new = (json.loads(json.dumps(_with_defaults(run["config"]))) for run in (found, wanted))
    changed = sorted(name for name in {*old, *new} - FREE if old.get(name) != new.get(name))
    if changed:
        told = "; ".join(f"{name} was {old.get(name)!r} and is now {new.get(name)!r}" for name in changed)
        raise ConfigError(
            f"The run in {folder} began with other settings: {told}. Leave them as they were, or begin a new run in "
            f"another folder."
        )


def _with_defaults(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by their path, and the defaults of those that are missing, in every block of columns too."""
    blocks = {name.split(".")[1] for name in settings if name.startswith("columns.")}
    usual = RunConfig(text=(), valid="", columns={name: ColumnsConfig() for name in blocks})
    return {**flat(dataclasses.asdict(usual)), **settings}


def card(result: Result, config: RunConfig, fingerprints: Mapping[str, str]) -> str:
    """What a model's `card.md` says: what it was trained on, how well it does, how to make it again."""
    lines = [f"# A {config.kind} language model", ""]
    texts = ", ".join(Path(text).name for text in config.text)
    lines += [f"- trained on {texts} (ids sha256 {fingerprints['train'][:16]}), seed {config.seed}"]
    lines += [f"- {result.words:,} words in {result.epochs:.2f} epochs, {result.parameters:,} parameters"]
    lines += [f"- perplexity on {Path(config.valid).name} (validation): {result.valid_perplexity:.2f}"]
    if result.test_perplexity is not None:
        lines += [f"- perplexity on {Path(config.test).name} (test): {result.test_perplexity:.2f}"]
    lines += ["", "Made by `modlm train config.toml -o DIR` with this config.toml:", "", "```toml"]
    return "\n".join([*lines, to_toml(config).rstrip(), "```", ""])
