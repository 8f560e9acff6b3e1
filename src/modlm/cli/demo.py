"""`modlm demo`: the two-minute tour."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from modlm.cli.options import Threads


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The folder to write.")] = Path("demo"),
    threads: Threads = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite DIR even if it is no earlier demo.")] = False,
) -> None:
    """The two-minute tour on text that Python carries.

    Trains every n-gram family, prints one table and some predictions, and writes an HTML report.
    Writes demo/model (the best model), demo/report.html and demo/text (train, valid and test, to try more on).

    \b
    modlm demo
    modlm next demo/model "return true if"
    """  # fmt: skip
    from modlm.cli.next_words import print_predictions
    from modlm.cli.training import notes_in_summary
    from modlm.experiments.demo import run_demo

    with notes_in_summary():
        result = run_demo(output, say=lambda text: print(text, flush=True), overwrite=force)
    print(f"\nBest on the validation part: {result.best.label}. Its next words, with the share of each order:")
    for context, predictions in result.predictions:
        print(f"\n{context} ...")
        print_predictions(predictions)
    print(
        f"\n{output / 'report.html'}: the same with plots; {output / 'model'}: the best model ({result.seconds:.0f} s)"
    )
    print(f'Try: modlm next {output / "model"} "{result.predictions[0][0]}"')
