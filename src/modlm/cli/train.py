"""`modlm train`: a run from a file, a preset or flags to a folder with its model, journal and checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from modlm.cli.options import Json, MaxWords, Threads, TokenizerOption, TrainingText, VocabOption, option


def train(
    config: Annotated[
        str | None,
        typer.Argument(metavar="CONFIG", help="A TOML file or a preset such as paper/ptb-hybrid; flags alone will do."),
    ] = None,
    *,
    output: Annotated[Path, option("-o --output DIR", "The run folder to write.")],
    text: TrainingText = None,
    valid: Annotated[Path | None, option("--valid TEXT", "Text by which the best model is kept.")] = None,
    test: Annotated[Path | None, option("--test TEXT", "Text whose perplexity is reported.")] = None,
    kind: Annotated[
        str | None,
        option("--kind neural|interpolated|hybrid", "Delta columns, n-gram columns, or both.  [default: hybrid]"),
    ] = None,
    net: Annotated[str | None, option("--net feedforward|rnn|gru|lstm", "The net behind λ.  [default: lstm]")] = None,
    hidden: Annotated[int | None, option("--hidden N", "Units of a layer.  [default: 200]", min=1)] = None,
    order: Annotated[
        int | None, option("--order N", "Order of the n-gram columns.  [default: 5]", min=1, max=16)
    ] = None,
    smoothing: Annotated[
        str | None, option("--smoothing NAME", "Of the n-gram columns.  [default: modified-kneser-ney]")
    ] = None,
    vocab: VocabOption = None,
    tokenizer: TokenizerOption = None,
    max_words: MaxWords = None,
    min_count: Annotated[int | None, option("--min-count N", "Know only words seen at least N times.", min=1)] = None,
    epochs: Annotated[float | None, option("--epochs X", "Passes over the text at most.  [default: 20]")] = None,
    minutes: Annotated[float | None, option("--minutes X", "Training time at most.  [default: no limit]")] = None,
    seed: Annotated[int | None, option("--seed N", "Of all randomness.  [default: 1]")] = None,
    changes: Annotated[
        list[str] | None, option("--set A.B=C", "Any setting by name; docs/training.md lists them. Repeatable.")
    ] = None,
    resume: Annotated[bool, option("--resume", "Go on with the run in DIR; start it if there is none yet.")] = False,
    device: Annotated[str, option("--device auto|cpu|cuda|mps", "Where the net is computed.")] = "auto",
    tensorboard: Annotated[bool, option("--tensorboard", "Write DIR/tensorboard as well.")] = False,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Train a neural, interpolated or hybrid model.

    All are mixtures, p = D · λ, with λ from a net: `neural` has one delta column a word, `interpolated` the orders of
    n-gram models, `hybrid` both, trained with block dropout. Rows for training come from held-out counts. DIR gets
    config.toml, journal.jsonl, checkpoints, and model, which all other commands take: modlm eval DIR test.txt.

    Ctrl-C saves; --resume goes on, to the same bits as if nothing had happened, after kill -9 too. Later sources win:
    what is usual for the kind, CONFIG, flags, --set.

    \b
    modlm train --text train.txt --valid valid.txt --test test.txt -o runs/hybrid
    modlm train --text train.txt --valid valid.txt -o runs/ff --kind interpolated --net feedforward
    modlm train paper/ptb-hybrid --text ptb.train.txt --valid ptb.valid.txt --test ptb.test.txt -o runs/ptb-hybrid
    modlm train my.toml -o runs/mine --set optimiser.learning_rate=0.0005 --set schedule.patience=10
    modlm train --resume -o runs/ptb-hybrid
    torchrun --nproc-per-node 2 -m modlm train my.toml -o runs/mine
    """  # fmt: skip
    from modlm.cli.training import Request, run

    flags: dict[str, Any] = {
        "kind": kind,
        "text": text or None,
        "valid": valid,
        "test": test,
        "seed": seed,
        "net.body": net,
        "net.hidden": hidden,
        "vocabulary.file": vocab,
        "vocabulary.tokenizer": tokenizer,
        "vocabulary.max_words": max_words,
        "vocabulary.min_count": min_count,
        "schedule.epochs": epochs,
        "schedule.minutes": minutes,
    }
    request = Request(
        config=config,
        folder=output,
        flags={path: value for path, value in flags.items() if value is not None},
        columns={name: value for name, value in {"order": order, "smoothing": smoothing}.items() if value is not None},
        changes=tuple(changes or ()),
        resume=resume,
        device=device,
        tensorboard=tensorboard,
    )
    run(request, as_json=json)
