"""`modlm compare`: models side by side on one text, and whether a difference could be chance."""

from pathlib import Path
from typing import Annotated, Any

import typer

from modlm.cli.options import Json, Source, Threads, argument, option
from modlm.cli.printing import number, print_json, print_table


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
    records = as_records(comparison, names, most=words)
    print_json(records) if json else _print_records(*records)


def _print_records(first: dict[str, Any], *others: dict[str, Any]) -> None:
    rows = [[first["model"], number(first["perplexity"]), number(first["bits"], 3), "1", "", "", ""]]
    for own in others:
        low, high = own["interval"]
        numbers = [number(own[key], digits) for key, digits in (("perplexity", 2), ("bits", 3), ("ratio", 4))]
        chance = [f"{low:.4f} – {high:.4f}" if low == low else "–", f"{own['better']:,} : {own['worse']:,}"]
        rows.append([own["model"], *numbers, *chance, f"{own['p_value']:.2g}"])
    print_table(["model", "perplexity", "bits", "ratio", "95% interval", "sentences won : lost", "sign test p"], rows)
    for own in others:
        for title in ("gained", "lost"):
            if changes := own[title]:
                print(f"\nWords that {title} most under {own['model']}, in bits over the whole text")
                cells = [[one["word"], f"{one['occurrences']:,}", f"{one['bits']:+,.1f}"] for one in changes]
                print_table(["word", "occurrences", "bits"], cells)
