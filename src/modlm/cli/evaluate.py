"""`modlm eval`: perplexity, with what it counted."""

import contextlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from modlm.cli.options import EncodingErrors, ForeignTokenizer, Json, Source, Threads, argument, option
from modlm.cli.printing import number, print_json, print_table
from modlm.ground.files import scratch_folder

STANDARD_INPUT = Path("-")
COLUMNS = {  # what is shown: by which name it stands in a report, and with how many digits
    "perplexity": ("perplexity", 2), "known words only": ("perplexity_without_unknown", 2),
    "per word": ("perplexity_per_word", 2), "bits": ("bits", 3), "bits/byte": ("bits_per_byte", 4),
    "predictions": ("predictions", 0), "unknown": ("unknown", 0), "words/s": ("words_per_second", 0),
}  # fmt: skip


def evaluate(
    paths: Annotated[
        list[Path], argument("MODEL... TEXT", "Models (folders, ARPA, KenLM binaries), then a text; - for stdin.")
    ],
    by_frequency: Annotated[bool, option("--by-frequency", "Also by how often a word was seen in training.")] = False,
    source: Source = None,
    train: Annotated[list[Path] | None, option("--train TEXT", "With --by-frequency: where to count words.")] = None,
    tokenizer: ForeignTokenizer = None,
    encoding_errors: EncodingErrors = "strict",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Perplexity of a text under one or more models.

    Every word and the end of every sentence is a prediction. Unknown words count as <unk>; the second number leaves
    them out. Words/s includes reading the text, but not starting up. Models of words and of subwords compare by bits
    per byte, and by perplexity per word: that of the words between white space and one end per line.

    \b
    modlm eval model test.txt
    modlm eval small large.arpa test.txt.gz --by-frequency
    modlm eval model test.txt --json | jq .perplexity
    modlm eval model test.en --source test.ja
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
            model.perplexity(
                [""], source=[""] if model.reads.source else None
            )  # compiled code is loaded now, so that words/s is about the text alone
            own = source if model.reads.source else None
            found = model.perplexity(place, source=own, encoding_errors=encoding_errors)
            report: dict[str, Any] = {"model": str(path), "text": str(text), **found.as_dict()}
            if by_frequency:
                parts = perplexity_by_frequency(model, place, word_frequencies(model, train), source=own)
                report["by_frequency"] = [part.as_dict() for part in parts]
            reports.append(report)
    print_json(reports if len(reports) > 1 else reports[0]) if json else _print_reports(reports)


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
    rows = [[report["model"], *(number(report[key], digits) for key, digits in COLUMNS.values())] for report in reports]
    print_table(["model", *COLUMNS], rows)
    for report in reports:
        if impossible := report["impossible"]:
            print(f"{report['model']}: {impossible:,} predictions have probability 0, so perplexity is infinite")
    for report in reports:
        if bands := report.get("by_frequency"):
            print(f"\n{report['model']}, by how often the word was seen in training")
            rows = [[band["seen"], number(band["perplexity"]), f"{band['predictions']:,}"] for band in bands]
            print_table(["seen", "perplexity", "predictions"], rows)
