"""`modlm compare`: models side by side on one text, and whether a difference could be chance."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from modlm.cli.options import Json, Source, Threads, argument, option
from modlm.cli.printing import number, print_json, print_table

if TYPE_CHECKING:
    from modlm.evaluation.compare import Comparison
    from modlm.model.scored_text import ScoredText


def compare(
    paths: Annotated[list[Path], argument("MODEL MODEL... TEXT", "Two or more models (folders, ARPA files, KenLM binaries), then a text (-: stdin).")],
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


def _numbers(scores: ScoredText) -> list[str]:
    bits = [number(value, 3) for value in (scores.bits, scores.bits_per_byte)]
    return [number(scores.perplexity), *bits, f"{scores.unknown:,}"]


def _print_comparison(comparison: Comparison, names: list[str], words: int) -> None:
    common = [_numbers(scores) for scores in comparison.scores]
    rows = [[names[0], *common[0], "1", "", "", ""]]
    for name, numbers, own in zip(names[1:], common[1:], comparison.differences, strict=True):
        interval = f"{own.low:.4f} – {own.high:.4f}" if own.low == own.low else "–"
        won = f"{own.better:,} : {own.worse:,}"
        rows.append([name, *numbers, number(own.ratio, 4), interval, won, f"{own.p_value:.2g}"])
    columns = ["perplexity", "bits", "bits/byte", "unknown", "ratio", "95% interval", "sentences won : lost"]
    print_table(["model", *columns, "sign test p"], rows)
    for place, name in enumerate(names[1:], start=1):
        gained, lost = comparison.changes(place, most=words)
        for title, changes in (("gained", gained), ("lost", lost)):
            if changes:
                print(f"\nWords that {title} most under {name}, in bits over the whole text")
                cells = [[change.word, f"{change.occurrences:,}", f"{change.bits:+,.1f}"] for change in changes]
                print_table(["word", "occurrences", "bits"], cells)
