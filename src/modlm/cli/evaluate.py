"""`modlm eval`: perplexity, with what it counted."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from modlm.cli.options import EncodingErrors, ForeignTokenizer, Json, Threads, option
from modlm.cli.printing import number, print_json, print_table
from modlm.files import scratch_folder

STANDARD_INPUT = Path("-")


def evaluate(
    paths: Annotated[
        list[Path], typer.Argument(metavar="MODEL... TEXT", help="One or more models, then a text (- for stdin).")
    ],
    by_frequency: Annotated[
        bool, option("--by-frequency", "Also by how often a word was seen in training: up to 10, 100, 1000, more.")
    ] = False,
    train: Annotated[
        list[Path] | None,
        option("--train TEXT", "With --by-frequency: count words here, not in the model's own counts."),
    ] = None,
    tokenizer: ForeignTokenizer = None,
    encoding_errors: EncodingErrors = "strict",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Perplexity of a text under one or more models.

    Every word and the end of every sentence is a prediction. Unknown words count as <unk>; the second number leaves
    them out. Words/s includes reading the text, but not starting up. Models of words and of subwords compare by bits a
    byte, and by perplexity per word: that of the words between white space and one end a line.

    \b
    modlm eval model test.txt
    modlm eval small large.arpa test.txt.gz --by-frequency
    modlm eval model test.txt --json | jq .perplexity
    """  # fmt: skip
    from modlm.evaluation.by_frequency import perplexity_by_frequency, word_frequencies
    from modlm.model.folder import load

    if len(paths) < 2:
        raise typer.BadParameter("give at least one model and then a text (- for standard input).")
    *models, text = paths
    reports: list[dict[str, Any]] = []
    with readable_twice(text) as place:
        for path in models:
            model = load(path, tokenizer=tokenizer)
            model.perplexity([""])  # compiled code is loaded now, so that words/s is about the text alone
            found = model.perplexity(place, encoding_errors=encoding_errors)
            report: dict[str, Any] = {"model": str(path), "text": str(text), **found.as_dict()}
            if by_frequency:
                parts = perplexity_by_frequency(model, place, word_frequencies(model, train))
                report["by_frequency"] = [part.as_dict() for part in parts]
            reports.append(report)
    if json:
        print_json(reports if len(reports) > 1 else reports[0])
        return
    _print_reports(reports)


@contextlib.contextmanager
def readable_twice(text: Path) -> Iterator[Path]:
    """The text as a file that can be read more than once; standard input is kept in a temporary file."""
    if text != STANDARD_INPUT:
        yield text
        return
    with scratch_folder() as folder:
        copy = folder / "standard-input"
        with copy.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream, 1 << 20)
        yield copy


def _print_reports(reports: list[dict[str, Any]]) -> None:
    columns = [
        "model", "perplexity", "known words only", "per word", "bits", "bits/byte", "predictions", "unknown", "words/s",
    ]  # fmt: skip
    rows = [
        [
            report["model"],
            number(report["perplexity"]),
            number(report["perplexity_without_unknown"]),
            number(report["perplexity_per_word"]),
            number(report["bits"], 3),
            number(report["bits_per_byte"], 4),
            f"{report['predictions']:,}",
            f"{report['unknown']:,}",
            f"{report['words_per_second']:,.0f}",
        ]
        for report in reports
    ]
    print_table(columns, rows)
    for report in reports:
        if report["impossible"]:
            print(
                f"{report['model']}: {report['impossible']:,} predictions have probability 0, so perplexity is infinite"
            )
    for report in reports:
        if "by_frequency" in report:
            print(f"\n{report['model']}, by how often the word was seen in training")
            parts = [
                [part["seen"], number(part["perplexity"]), f"{part['predictions']:,}"]
                for part in report["by_frequency"]
            ]
            print_table(["seen", "perplexity", "predictions"], parts)
