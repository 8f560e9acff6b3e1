"""`modlm reproduce`: the paper's tables and figures, with what was published beside what comes out here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from modlm.cli.options import Json, Threads, option


def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A table or figure, such as table3, or all; --list shows them.")
    ] = "",
    *,
    row: Annotated[
        list[str] | None, option("--row ROW", "Only this row, by its number, name or corpus. Repeatable.")
    ] = None,
    listed: Annotated[bool, option("--list", "Say what can be reproduced, and what is there of it.")] = False,
    dry_run: Annotated[
        bool, option("--dry-run", "Only say which runs are missing and how long they will take.")
    ] = False,
    rerun: Annotated[bool, option("--rerun", "Ignore shipped results: train here, and show both numbers.")] = False,
    seeds: Annotated[int, option("--seeds N", "Train every net from seeds 1 to N; show mean ± deviation.", min=1)] = 1,
    redraw: Annotated[bool, option("--redraw", "Run nothing; show what there are results of.")] = False,
    minutes: Annotated[
        float | None, option("--minutes X", "Begin no run that would end later than so many minutes from now.")
    ] = None,
    scale: Annotated[str, option("--scale here|full", "Sizes for two cores and a day, or the paper's.")] = "here",
    corpus: Annotated[
        list[str] | None, option("--corpus NAME=PATH", "Where a corpus, or its part NAME.train, is. Repeatable.")
    ] = None,
    runs: Annotated[
        Path | None, option("--runs DIR", "Where runs are kept.  [default: ~/.cache/modlm/reproduce]")
    ] = None,
    recipes: Annotated[Path | None, option("--recipes DIR", "The recipes.  [default: recipes/neubig2016]")] = None,
    output: Annotated[Path, option("-o --output DIR", "Where figures and the page of `all` are written.")] = Path(
        "docs"
    ),
    device: Annotated[str, option("--device auto|cpu|cuda|mps", "Where nets are trained.")] = "auto",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Reproduce the paper: each table and figure, the paper's numbers and ours.

    Results ship with the recipes as small files, so tables and figures are shown without training, and a line under
    each says so. What is missing is run, what was interrupted goes on; --dry-run says what that is.

    --rerun ignores shipped results and leaves them as they are: it trains here everything that a table or figure needs,
    keeps the results in the folder of runs, and shows the shipped numbers beside the new ones. If it is interrupted,
    the same command goes on. What is in the folder of runs already is not made again; --runs with another folder starts
    afresh. --seeds 3 trains every net from three seeds and shows the mean ± the standard deviation. N-gram models have
    no seed, and a static mixture takes nets from seed 1.

    Corpora are looked for in the folder that MODLM_DATA names. Those that cannot be redistributed have stand-ins, shown
    as such; if you have the originals, name them with --corpus.

    \b
    modlm reproduce --list
    modlm reproduce table3 --row 5
    modlm reproduce table2 --rerun --dry-run
    modlm reproduce table2 --row ptb --rerun --seeds 3
    modlm reproduce table4 --corpus wsj=wsj.txt.gz --corpus gw=gigaword.txt.gz
    modlm reproduce all --minutes 480
    """  # fmt: skip
    from modlm.cli.reproducing import Asked, carry_out

    asked = Asked(
        name=name,
        rows=tuple(row or ()),
        listed=listed,
        dry_run=dry_run,
        rerun=rerun,
        seeds=seeds,
        redraw=redraw,
        minutes=minutes,
        scale=scale,
        corpora=tuple(corpus or ()),
        runs=runs,
        recipes=recipes,
        output=output,
        device=device,
    )
    carry_out(asked, as_json=json)
