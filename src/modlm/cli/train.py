"""`modlm train`: a run from a file, a preset or flags to a folder with its model, journal and checkpoints."""

import math
import os
import shlex
from pathlib import Path
from typing import Annotated, Any

from modlm.cli.options import (
    DryRun,
    Json,
    MaxWords,
    Threads,
    TokenizerOption,
    TrainingText,
    VocabOption,
    argument,
    option,
)
from modlm.cli.outcome import resumable
from modlm.cli.printing import number, print_forecast, print_json, print_table, size
from modlm.errors import ConfigError, OutputError, require
from modlm.ground.files import folder_bytes
from modlm.ground.progress import percent

CONFIG = "config.toml"
DEVICES = ("auto", "cpu", "cuda", "mps")
ENDS = {
    "epochs": "all epochs done",
    "patience": "ended after several evaluations without a better one",
    "minutes": "ended when its time was over",
    "fitted": "weights fitted to the validation text",
}


def train(
    config: Annotated[
        str | None, argument("CONFIG", "A TOML file or a preset such as paper/ptb-hybrid; flags alone will do.")
    ] = None,
    *,
    output: Annotated[Path, option("-o --output DIR", "The run folder to write.")],
    text: TrainingText = None,
    valid: Annotated[Path | None, option("--valid TEXT", "Text that decides which model is kept.")] = None,
    test: Annotated[Path | None, option("--test TEXT", "Text whose perplexity is reported.")] = None,
    source: Annotated[
        list[Path] | None, option("--source TEXT", "The source of each line of --text: what it translates, answers, …")
    ] = None,
    valid_source: Annotated[Path | None, option("--valid-source TEXT", "That of each line of --valid.")] = None,
    test_source: Annotated[Path | None, option("--test-source TEXT", "That of each line of --test.")] = None,
    kind: Annotated[
        str | None,
        option(
            "--kind neural|interpolated|hybrid|conditional",
            "Delta columns, n-gram columns, both, or both and columns over a source.  [default: hybrid; conditional "
            "with --source]",
        ),
    ] = None,
    net: Annotated[
        str | None, option("--net feedforward|rnn|gru|lstm|attention", "The net behind λ.  [default: lstm]")
    ] = None,
    hidden: Annotated[int | None, option("--hidden N", "Hidden units per layer.  [default: 200]", min=1)] = None,
    order: Annotated[
        int | None, option("--order N", "Words in the longest n-gram.  [default: 5]", min=1, max=16)
    ] = None,
    smoothing: Annotated[
        str | None, option("--smoothing NAME", "Smoothing of the n-gram columns.  [default: modified-kneser-ney]")
    ] = None,
    vocab: VocabOption = None,
    tokenizer: TokenizerOption = None,
    max_words: MaxWords = None,
    min_count: Annotated[int | None, option("--min-count N", "Know only words seen at least N times.", min=1)] = None,
    epochs: Annotated[float | None, option("--epochs X", "Passes over the text at most.  [default: 20]")] = None,
    minutes: Annotated[float | None, option("--minutes X", "Training time at most.  [default: no limit]")] = None,
    seed: Annotated[int | None, option("--seed N", "Random seed.  [default: 1]")] = None,
    changes: Annotated[list[str] | None, option("--set A.B=C", "Any setting of docs/training.md. Repeatable.")] = None,
    resume: Annotated[bool, option("--resume", "Continue the run in DIR; start it if there is none yet.")] = False,
    device: Annotated[str, option("--device auto|cpu|cuda|mps", "Where the net runs.")] = "auto",
    tensorboard: Annotated[bool, option("--tensorboard", "Write DIR/tensorboard as well.")] = False,
    dry_run: DryRun = False,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Train a neural, interpolated or hybrid model.

    All are mixtures, p = D · λ, with λ from a net: `neural` has one delta column per word, `interpolated` the orders of
    n-gram models, `hybrid` both, trained with block dropout. `conditional` has a column for the translations of each
    word of a source besides, and its net attends to the source. Rows for training come from held-out counts. DIR gets
    config.toml, journal.jsonl, checkpoints, and model, which all other commands take: modlm eval DIR test.txt.

    Ctrl-C saves; --resume goes on, after kill -9 too, to the same bits as if nothing had happened, given the same
    number of threads: --threads N. Without it the run takes one thread or all, whichever is faster at the time. Later
    sources win: what is usual for the kind, CONFIG, flags, --set.

    \b
    modlm train --text train.txt --valid valid.txt --test test.txt -o runs/hybrid
    modlm train --text train.txt --valid valid.txt -o runs/ff --kind interpolated --net feedforward
    modlm train paper/ptb-hybrid --text ptb.train.txt --valid ptb.valid.txt --test ptb.test.txt -o runs/ptb-hybrid
    modlm train my.toml -o runs/mine --set optimiser.learning_rate=0.0005 --set schedule.patience=10
    modlm train --text train.txt --valid valid.txt -o runs/gli --kind interpolated --set mixer=gli
    modlm train --text t.en --source t.ja --valid v.en --valid-source v.ja -o runs/ja-en
    modlm train --resume -o runs/ptb-hybrid
    torchrun --nproc-per-node 2 -m modlm train my.toml -o runs/mine
    """  # fmt: skip
    from modlm.training.config_file import check_files, run_config

    flags = {
        "kind": kind, "text": text or None, "valid": valid, "test": test, "source": source or None,
        "valid_source": valid_source, "test_source": test_source, "seed": seed, "net.body": net,
        "net.hidden": hidden, "vocabulary.file": vocab, "vocabulary.tokenizer": tokenizer,
        "vocabulary.max_words": max_words, "vocabulary.min_count": min_count, "schedule.epochs": epochs,
        "schedule.minutes": minutes,
    }  # fmt: skip
    columns = {"order": order, "smoothing": smoothing}
    own = output / CONFIG if resume else None
    settings = run_config(
        settings_table(config, flags, changes or [], columns=columns, resumed=own), where=config or "modlm train"
    )
    check_files(settings)
    check_device(device)
    first = os.environ.get("RANK", "0") == "0"  # alone, or the first of those that torchrun started
    if output.is_file():
        raise OutputError(f"{output} is a file, but a folder should be written there. Choose another name.")
    if first and not resume and output.is_dir() and any(output.iterdir()):  # others may come when the first has written
        raise OutputError(f"{output} already exists. Continue its run with --resume, or choose another name.")
    require("torch", extra="neural", purpose="Training a net")
    if dry_run:
        from modlm.training.forecast import run_forecast

        told = run_forecast(settings, device=device)
        print_json({**told, "output": str(output)}) if json else print_forecast(told, output)
        return
    from modlm.training.run import train as trained

    again = ["modlm", "train", "--resume", "-o", str(output)]
    again += ["--device", device] if device != "auto" else []
    again += ["--threads", str(threads)] if threads is not None else []
    resumable(shlex.join(again + (["--tensorboard"] if tensorboard else [])), when=output / CONFIG)
    if not first:
        resumable(None)  # the first process says it
    result = trained(settings, output, resume=resume, device=device, tensorboard=tensorboard)
    if first:
        report = result.as_dict() | {"bytes": folder_bytes(result.model)}
        print_json(report) if json else print_result(report)


# ---- what to run -----------------------------------------------------------------------------------------------------


def settings_table(
    config: str | None,
    flags: dict[str, Any],
    changes: list[str],
    *,
    columns: dict[str, Any] | None = None,
    resumed: Path | None = None,
) -> dict[str, Any]:
    """Settings of a run: the file or preset (that of a run to resume), then flags by path, then `--set`.

    `columns` are settings of the n-gram block, whatever its name. Flags that are None were not given.
    """
    from modlm.training.config_file import Table, assigned, find_table, read_table, with_value

    table: Table = {}
    if config is not None:
        table = find_table(config)
    elif resumed is not None and resumed.is_file():
        table = read_table(resumed)
    elif resumed is not None and flags["text"] is None:
        raise ConfigError(f"There is no run in {resumed.parent} to continue: it has no {CONFIG}.")
    for path, value in flags.items():
        if value is None:
            continue
        listed = [str(item) for item in value] if isinstance(value, list) else value
        table = with_value(table, path, str(value) if isinstance(value, Path) else listed)
    given = {name: value for name, value in (columns or {}).items() if value is not None}
    return assigned(with_columns(table, given), changes)


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


# ---- what came out ---------------------------------------------------------------------------------------------------


def print_result(result: dict[str, Any]) -> None:
    print(f"{result['kind']} model, {result['parameters']:,} parameters; {ENDS[result['stopped']]}")
    best, fitted = result["best"], result["stopped"] == "fitted"
    train = best.get("train_perplexity")  # from while it was trained
    found = {} if fitted else {"train": train if isinstance(train, float) else math.inf}
    found |= {name: result[f"{name}_perplexity"] for name in ("valid", "test")}
    masses = {name: best.get(f"{name}_dense_mass") for name in found}
    rows = [
        [name, number(perplexity), percent(mass) if isinstance(mass := masses[name], float) else "–"]
        for name, perplexity in found.items()
        if perplexity is not None
    ]
    print_table(["text", "perplexity", "weight on dense columns"], rows)
    if not fitted:
        print(
            f"{result['words']:,} words in {result['epochs']:.4g} epochs, {result['words_per_second']:,.0f} words/s, "
            f"{result['seconds']:,.0f} s with evaluations; the best of {result['evaluations']} evaluations"
        )
    print(f"{result['model']}: {size(result['bytes'])}")
