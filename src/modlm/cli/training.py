"""What `modlm train` does: sources to a configuration, a configuration to a run, and a summary of what came out."""

from __future__ import annotations

import math
import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modlm.cli.outcome import interrupted_as, resumable, wrote
from modlm.cli.printing import number, percent, print_json, print_table, size
from modlm.errors import ConfigError, OutputError

if TYPE_CHECKING:
    from modlm.training.config import RunConfig
    from modlm.training.run_folder import Result

CONFIG = "config.toml"
DEVICES = ("auto", "cpu", "cuda", "mps")
ENDS = {
    "epochs": "all epochs done",
    "patience": "ended after several evaluations without a better one",
    "minutes": "ended when its time was over",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the command line asks for."""

    config: str | None
    """A file or a preset."""
    folder: Path
    flags: dict[str, Any] = field(default_factory=dict)
    """Settings by path."""
    columns: dict[str, Any] = field(default_factory=dict)
    """Settings of the n-gram block, whatever its name."""
    changes: tuple[str, ...] = ()
    resume: bool = False
    device: str = "auto"
    tensorboard: bool = False
    threads: int | None = None


def run(request: Request, *, as_json: bool) -> None:
    """Train, and print what came out; interrupted, say how to go on."""
    from modlm.errors import require
    from modlm.training.config_file import check_files

    config = configured(request)
    check_files(config)
    check_target(request)
    require("torch", extra="neural", purpose="Training a net")
    from modlm.training.run import train

    resumable(resume_command(request), when=request.folder / CONFIG)
    if not leads():
        interrupted_as("")  # the first process says it
    result = train(
        config, request.folder, resume=request.resume, device=request.device, tensorboard=request.tensorboard
    )
    resumable("")
    wrote(result.model)
    if leads():
        print_result(result, as_json=as_json)


def leads() -> bool:
    """Whether this process is alone, or the first of those that torchrun started."""
    return os.environ.get("RANK", "0") == "0"


# ---- what to run -----------------------------------------------------------------------------------------------------


def configured(request: Request) -> RunConfig:
    """The run that is asked for."""
    from modlm.training.config_file import run_config

    return run_config(settings_table(request), where=request.config or "modlm train")


def settings_table(request: Request) -> dict[str, Any]:
    """Its settings: the file or preset (the run's own when it is resumed), then flags, then `--set`."""
    from modlm.training.config_file import Table, assigned, find_table, located, merged, read_table

    own = request.folder / CONFIG
    table: Table = {}
    if request.config is not None:
        table = find_table(request.config)
    elif request.resume and own.is_file():
        table = read_table(own)
    elif request.resume and "text" not in request.flags:
        raise ConfigError(f"There is no run in {request.folder} to go on with: it has no {CONFIG}.")
    for path, value in request.flags.items():
        change: Any = str(value) if isinstance(value, Path) else value
        change = [str(path) for path in change] if isinstance(change, list) else change
        for part in reversed(path.split(".")):
            change = {part: change}
        table = merged(table, located(change, Path.cwd()))
    return assigned(with_columns(table, request.columns), request.changes)


def with_columns(table: dict[str, Any], columns: dict[str, Any]) -> dict[str, Any]:
    """--order and --smoothing, for the one n-gram block there is, or for all where none is listed."""
    from modlm.training.config import usual_columns
    from modlm.training.config_file import merged

    if not columns:
        return table
    names = list(table.get("columns", {}))
    if not names:
        texts = table.get("text", "")
        usual = usual_columns(1 if isinstance(texts, str) else len(texts))
        return merged(table, {"columns": {name: {"source": one.source, **columns} for name, one in usual.items()}})
    if len(names) > 1:
        options = " and ".join(f"--{name}" for name in columns)
        raise ConfigError(
            f"{options} would be for one block of columns, but there are {len(names)}: {', '.join(names)}. "
            f"Say which with --set columns.{names[0]}.{next(iter(columns))}=..."
        )
    return merged(table, {"columns": {names[0]: columns}})


def check_device(device: str) -> None:
    """`cuda:1` is a device as `cuda` is."""
    from modlm.nets.config import one_of

    one_of("--device", device.partition(":")[0], DEVICES)


def check_target(request: Request) -> None:
    """Refuse at once what would be refused later."""
    check_device(request.device)
    if request.folder.is_file():
        raise OutputError(f"{request.folder} is a file, but a folder is to be written there. Choose another name.")
    # the other processes of a run may come when the first has begun to write
    if leads() and not request.resume and request.folder.is_dir() and any(request.folder.iterdir()):
        raise OutputError(
            f"{request.folder} already exists. Go on with the run in it with --resume, or choose another name."
        )


def resume_command(request: Request) -> str:
    """The command with which an interrupted run goes on."""
    words = ["modlm", "train", "--resume", "-o", str(request.folder)]
    words += ["--device", request.device] if request.device != "auto" else []
    words += ["--threads", str(request.threads)] if request.threads is not None else []
    return shlex.join(words + (["--tensorboard"] if request.tensorboard else []))


# ---- what came out ---------------------------------------------------------------------------------------------------


def print_result(result: Result, *, as_json: bool) -> None:
    """The numbers of the best evaluation, and what the run took."""
    from modlm.cli.estimating import folder_bytes

    if as_json:
        print_json(result.as_dict() | {"bytes": folder_bytes(result.model)})
        return
    print(f"{result.kind} model, {result.parameters:,} parameters; {ENDS[result.stopped]}")
    masses = {name: result.best.get(f"{name}_dense_mass") for name in perplexities(result)}
    rows = [
        [name, number(perplexity), percent(mass) if isinstance(mass := masses[name], float) else "–"]
        for name, perplexity in perplexities(result).items()
    ]
    print_table(["text", "perplexity", "weight on dense columns"], rows)
    print(
        f"{result.words:,} words in {result.epochs:.4g} epochs, {result.words_per_second:,.0f} words/s, "
        f"{result.seconds:,.0f} s with evaluations; the best of {result.evaluations} evaluations"
    )
    print(f"{result.model}: {size(folder_bytes(result.model))}")


def perplexities(result: Result) -> dict[str, float]:
    """By text, those of the model that was kept; the training text's is from while it was trained."""
    train = result.best.get("train_perplexity")
    found = {"train": train if isinstance(train, float) else math.inf, "valid": result.valid_perplexity}
    return found if result.test_perplexity is None else found | {"test": result.test_perplexity}
