"""`modlm reproduce`: the paper's tables and figures, with what was published beside what comes out here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from modlm.cli.options import Json, Threads


def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A table or figure, such as table3, or all; --list shows them.")
    ] = "",
    *,
    row: Annotated[
        list[str] | None,
        typer.Option("--row", metavar="ROW", help="Only this row, by its number, name or corpus. Repeatable."),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="Say what can be reproduced, and what is there of it.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say which runs are missing and how long they will take.")
    ] = False,
    redraw: Annotated[bool, typer.Option("--redraw", help="Run nothing; show what there are results of.")] = False,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", metavar="X", help="Begin no run that would end later than so many minutes from now."),
    ] = None,
    scale: Annotated[
        str, typer.Option("--scale", metavar="here|full", help="Sizes for two cores and a day, or the paper's.")
    ] = "here",
    corpus: Annotated[
        list[str] | None,
        typer.Option("--corpus", metavar="NAME=PATH", help="Where a corpus, or its part NAME.train, is. Repeatable."),
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option("--runs", metavar="DIR", help="Where runs are kept.  [default: ~/.cache/modlm/reproduce]"),
    ] = None,
    recipes: Annotated[
        Path | None, typer.Option("--recipes", metavar="DIR", help="The recipes.  [default: recipes/neubig2016]")
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where figures and the page of `all` are written.")
    ] = Path("docs"),
    device: Annotated[
        str, typer.Option("--device", metavar="auto|cpu|cuda|mps", help="Where nets are trained.")
    ] = "auto",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Reproduce the paper: each table and figure, the paper's numbers and ours.

    What has been run is reused, what was interrupted goes on, what is missing is run; --dry-run says what that is.
    Results are small files beside the recipes, so tables and figures are drawn again without training. Corpora are
    looked for in the folder that MODLM_DATA names. Those that cannot be redistributed have stand-ins, shown as such;
    who has the originals names them with --corpus.

    \b
    modlm reproduce --list
    modlm reproduce table3 --row 5
    modlm reproduce table2 --dry-run
    modlm reproduce table4 --corpus wsj=wsj.txt.gz --corpus gw=gigaword.txt.gz
    modlm reproduce all --minutes 480
    """  # fmt: skip
    from modlm.cli.reproducing import Asked, carry_out

    asked = Asked(
        name=name,
        rows=tuple(row or ()),
        listed=listed,
        dry_run=dry_run,
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
