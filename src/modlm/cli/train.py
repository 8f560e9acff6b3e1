"""`modlm train`: a run from a file, a preset or flags to a folder with its model, journal and checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from modlm.cli.options import Json, MaxWords, Threads, TokenizerOption, TrainingText, VocabOption


def train(
    config: Annotated[
        str | None,
        typer.Argument(metavar="CONFIG", help="A TOML file or a preset such as paper/ptb-hybrid; flags alone will do."),
    ] = None,
    *,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The run folder to write.")],
    text: TrainingText = None,
    valid: Annotated[
        Path | None, typer.Option("--valid", metavar="TEXT", help="Text by which the best model is kept.")
    ] = None,
    test: Annotated[
        Path | None, typer.Option("--test", metavar="TEXT", help="Text whose perplexity is reported.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            metavar="neural|interpolated|hybrid",
            help="Delta columns, n-gram columns, or both.  [default: hybrid]",
        ),
    ] = None,
    net: Annotated[
        str | None,
        typer.Option("--net", metavar="feedforward|rnn|gru|lstm", help="The net behind λ.  [default: lstm]"),
    ] = None,
    hidden: Annotated[
        int | None, typer.Option("--hidden", min=1, metavar="N", help="Units of a layer.  [default: 200]")
    ] = None,
    order: Annotated[
        int | None,
        typer.Option("--order", min=1, max=16, metavar="N", help="Order of the n-gram columns.  [default: 5]"),
    ] = None,
    smoothing: Annotated[
        str | None,
        typer.Option("--smoothing", metavar="NAME", help="Of the n-gram columns.  [default: modified-kneser-ney]"),
    ] = None,
    vocab: VocabOption = None,
    tokenizer: TokenizerOption = None,
    max_words: MaxWords = None,
    min_count: Annotated[
        int | None, typer.Option("--min-count", min=1, metavar="N", help="Know only words seen at least N times.")
    ] = None,
    epochs: Annotated[
        float | None, typer.Option("--epochs", metavar="X", help="Passes over the text at most.  [default: 20]")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", metavar="X", help="Training time at most.  [default: no limit]")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Of all randomness.  [default: 1]")] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A.B=C", help="Any setting by name; docs/training.md lists them. Repeatable."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in DIR; start it if there is none yet.")
    ] = False,
    device: Annotated[
        str, typer.Option("--device", metavar="auto|cpu|cuda|mps", help="Where the net is computed.")
    ] = "auto",
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Write DIR/tensorboard as well.")] = False,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Train a neural, interpolated or hybrid model.

    All are mixtures, p = D · λ, with λ from a net: `neural` has one delta column a word, `interpolated` the orders of
    n-gram models, `hybrid` both, trained with block dropout. Rows for training come from held-out counts. DIR gets
    config.toml, journal.jsonl, checkpoints, and model, which all other commands take: modlm eval DIR test.txt.

    Ctrl-C saves; --resume goes on, after kill -9 too, to the same bits as if nothing had happened, given the same
    number of threads: --threads N. Without it the run takes one thread or all, whichever is faster at the time. Later
    sources win: what is usual for the kind, CONFIG, flags, --set.

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
        threads=threads,
    )
    run(request, as_json=json)
