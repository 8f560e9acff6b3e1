"""`modlm compare`: models side by side on one text, and whether a difference could be chance."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from modlm.cli.options import Json, Source, Threads, argument, option
from modlm.cli.printing import number, print_json, print_table

if TYPE_CHECKING:
    from modlm.evaluation.compare import Comparison


def compare(
    paths: Annotated[
        list[Path], argument("MODEL MODEL... TEXT", "Models (folders, ARPA, KenLM binaries), then a text; - for stdin.")
    ],
    source: Source = None,
    words: Annotated[int, option("--words N", "How many words to list that gained or lost most.", min=0)] = 5,
    draws: Annotated[int, option("--draws N", "Bootstrap draws for the interval; 0 for none.", min=0)] = 1000,
    seed: Annotated[int, option("--seed N", "Random seed for the bootstrap.")] = 1,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Compare models with the first one on a text.

    The ratio is of perplexities: 0.95 means 5% less. Its interval (95%) comes from resampling sentences; if it does
    not contain 1, the difference is more than chance.

    \b
    modlm compare witten-bell kneser-ney test.txt
    modlm compare a b c test.txt --words 20 --json
    """  # fmt: skip
    if len(paths) < 3:
        raise typer.BadParameter("give at least two models and then a text (- for standard input).")
    import numpy as np

    from modlm.evaluation.compare import as_records, compare_models
    from modlm.model.folder import load

    names = [str(path) for path in paths[:-1]]
    models = [load(path) for path in paths[:-1]]
    comparison = compare_models(models, paths[-1], rng=np.random.default_rng(seed), draws=draws, source=source)
    print_json(as_records(comparison, names, most=words)) if json else _print_comparison(comparison, names, words)


def _print_comparison(comparison: Comparison, names: list[str], words: int) -> None:
    rows = [[names[0], number(comparison.scores[0].perplexity), number(comparison.scores[0].bits, 3), "1", "", "", ""]]
    for name, scores, own in zip(names[1:], comparison.scores[1:], comparison.differences, strict=True):
        interval = f"{own.low:.4f} – {own.high:.4f}" if own.low == own.low else "–"
        numbers = [number(scores.perplexity), number(scores.bits, 3), number(own.ratio, 4)]
        rows.append([name, *numbers, interval, f"{own.better:,} : {own.worse:,}", f"{own.p_value:.2g}"])
    print_table(["model", "perplexity", "bits", "ratio", "95% interval", "sentences won : lost", "sign test p"], rows)
    for place, name in enumerate(names[1:], start=1):
        gained, lost = comparison.changes(place, most=words)
        for title, changes in (("gained", gained), ("lost", lost)):
            if changes:
                print(f"\nWords that {title} most under {name}, in bits over the whole text")
                cells = [[change.word, f"{change.occurrences:,}", f"{change.bits:+,.1f}"] for change in changes]
                print_table(["word", "occurrences", "bits"], cells)
