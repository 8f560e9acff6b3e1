"""`modlm reproduce`: the paper's tables and figures, with what was published beside what comes out here."""

from __future__ import annotations

import os
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from modlm.cli.options import Json, Threads, argument, option
from modlm.cli.outcome import as_typed, resumable
from modlm.cli.printing import print_json, print_table
from modlm.errors import ConfigError
from modlm.ground.progress import span

if TYPE_CHECKING:
    from modlm.experiments.reproduce.compared_rows import ComparedRow
    from modlm.experiments.reproduce.recipe import Recipe
    from modlm.experiments.reproduce.runs import Found, Need, Runs

ALL = "all"
SIGNS = {True: "yes    ", False: "NO     ", None: "not yet"}


def reproduce(
    name: Annotated[str, argument("NAME", "A table or figure, such as table3, or all; --list shows them.")] = "",
    *,
    row: Annotated[list[str] | None, option("--row ROW", "This row, by number, name or corpus. Repeatable.")] = None,
    listed: Annotated[bool, option("--list", "List what can be reproduced, and how much of it has results.")] = False,
    dry_run: Annotated[bool, option("--dry-run", "Only say which runs are missing and how long they take.")] = False,
    rerun: Annotated[bool, option("--rerun", "Ignore shipped results: train here, and show both numbers.")] = False,
    seeds: Annotated[int, option("--seeds N", "Train every net from seeds 1 to N; show mean ± deviation.", min=1)] = 1,
    redraw: Annotated[bool, option("--redraw", "Run nothing; show the results there are.")] = False,
    minutes: Annotated[float | None, option("--minutes X", "Start no run that would end later than this.")] = None,
    scale: Annotated[str, option("--scale here|full", "Sizes for two cores and a day, or the paper's.")] = "here",
    corpus: Annotated[
        list[str] | None, option("--corpus NAME=PATH", "Where a corpus, or its part NAME.train, is. Repeatable.")
    ] = None,
    runs: Annotated[Path | None, option("--runs DIR", "Where runs are.  [default: ~/.cache/modlm/reproduce]")] = None,
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
    from modlm.experiments.reproduce.corpora import Corpora
    from modlm.experiments.reproduce.recipe_folder import Recipes, find_folder
    from modlm.experiments.reproduce.runs import TEXTS, Runs

    if not name and not listed:
        raise ConfigError("Name a table or figure, such as table3, or all. `modlm reproduce --list` shows them.")
    if name == ALL and row:
        raise ConfigError("--row chooses among the rows of one table or figure, but all were asked for.")
    found = Recipes.open(recipes or find_folder(), scale)
    cache = Path(os.environ.get("MODLM_CACHE") or Path("~/.cache/modlm").expanduser())
    place = (runs or cache / "reproduce").absolute()
    given: dict[str, Path] = {}
    for text in corpus or []:
        key, _, path = text.partition("=")
        if not path:
            raise ConfigError(f"--corpus takes NAME=PATH, such as wsj=wsj.txt.gz, but got {text!r}.")
        given[key.strip().lower()] = Path(path).expanduser()
    corpora = Corpora(found, place / TEXTS, given=given)
    all_runs = Runs(corpora, place, device=device, rerun=rerun, seeds=seeds)
    if listed:
        print_list(all_runs, as_json=json)
        return
    rows = row or []
    chosen = list(found.tables.values()) if name == ALL else [found.table(name)]
    needs = all_runs.needs(dict.fromkeys(run for recipe in chosen for run in runs_of(recipe, all_runs, rows)))
    if dry_run:
        print_needs(needs, rerun=rerun, as_json=json)
        return
    words = ["modlm", "reproduce", name]
    words += ["--rerun"] if rerun else []
    words += ["--seeds", str(seeds)] if seeds > 1 else []
    words += ["--scale", scale] if scale != "here" else []
    resumable(as_typed("reproduce"))
    if not redraw:
        run_all(all_runs, needs, minutes=minutes)
    show(all_runs, chosen, rows, output, command=shlex.join(words) if name == ALL else "", as_json=json)


def runs_of(recipe: Recipe, runs: Runs, rows: list[str]) -> list[str]:
    from modlm.experiments.reproduce.compared_rows import chosen, compared_rows

    if not rows:
        return list(recipe.runs)
    below = {row.row: row.run for row in recipe.rows}
    picked = [one.row for one in chosen(compared_rows(recipe, runs), rows)]
    return [run for row in picked for run in (row.run, *([below[row.over]] if row.over else []))]


def run_all(runs: Runs, needs: list[Need], *, minutes: float | None) -> None:
    """Run what is missing, one after the other, as far as the time goes."""
    begun = time.monotonic()
    for place, need in enumerate(needs, start=1):
        gone = (time.monotonic() - begun) / 60
        if minutes is not None and gone + need.minutes > minutes:
            _say(f"{need.run.label} is left for later: it takes about {span(60 * need.minutes)}")
            continue
        if not runs.ready(need.run):
            _say(f"{need.run.label} is left for later: what it mixes is not there yet")
            continue
        _say(f"{place}/{len(needs)} {need.run.label} ({need.why}), about {span(60 * need.minutes)}")
        runs.carry_out(need.run)


def _say(text: str) -> None:
    print(f"modlm: {text}", file=sys.stderr, flush=True)


# ---- what is shown ---------------------------------------------------------------------------------------------------


def show(runs: Runs, recipes: list[Recipe], rows: list[str], output: Path, *, command: str, as_json: bool) -> None:
    """Write the page, if all was asked for with this command, or a figure; then tables, or a list of rows as JSON."""
    from modlm.experiments.reproduce.compared_rows import chosen, compared_rows
    from modlm.experiments.reproduce.page import write_figure, write_page

    found = {recipe.name: chosen(compared_rows(recipe, runs), rows) for recipe in recipes}
    written, first = None, recipes[0]
    if command:
        written = write_page(runs, output, command=command)
    elif first.figure and not rows and any(one.ours is not None for one in found[first.name]):
        written = write_figure(first, found[first.name], output)
    if as_json:
        print_json([{"recipe": name, **one.as_dict()} for name, rows in found.items() for one in rows])
        return
    for recipe in recipes:
        print_recipe(recipe, found[recipe.name], runs, whole=not rows)
    if written:
        print(written)


def print_recipe(recipe: Recipe, rows: list[ComparedRow], runs: Runs, *, whole: bool) -> None:
    """A table with both numbers, where ours come from, and what they must show."""
    from modlm.experiments.reproduce.compared_rows import holds
    from modlm.experiments.reproduce.page import cells, columns

    print(f"{recipe.paper}: {recipe.title}")
    print_table(columns(rerun=runs.rerun), [cells(one, rerun=runs.rerun) for one in rows], left=2)
    if line := origin(rows, runs):
        print(line)
    for claim in recipe.claims if whole else ():
        print(f"{SIGNS[holds(claim, rows)]}  {claim.says}")
    print()


def origin(rows: list[ComparedRow], runs: Runs) -> str:
    """One line about the results that were not made just now; "" if all were."""
    found = {each.run.label: each for one in rows for each in one.found if each.run.label not in runs.just_made}
    shipped = [each for each in found.values() if each.made == "shipped"]
    here = [each for each in found.values() if each.made == "here"]
    parts = [f"{_counted(shipped)}, shipped with the recipes"] if shipped else []
    parts += [f"{_counted(here)}, made here before"] if here else []
    if shipped:
        needs = replace(runs, rerun=True).needs(each.run.name for each in shipped)
        hours = span(60 * sum(need.minutes for need in needs))
        parts.append(f"--rerun trains here, about {hours} on two cores" if needs else "--rerun shows those made here")
    return "; ".join(parts)


def _counted(found: list[Found]) -> str:
    from modlm.experiments.reproduce.results import days

    when = days(each.result for each in found)
    return f"{len(found)} result{'s' if len(found) > 1 else ''}{f' of {when}' if when else ''}"


def print_list(runs: Runs, *, as_json: bool) -> None:
    """Every table and figure, with how much of it is there."""
    records: list[dict[str, Any]] = []
    for recipe in runs.recipes.tables.values():
        missing = runs.needs(recipe.runs)
        about = {"name": recipe.name, "paper": recipe.paper, "title": recipe.title, "runs": len(recipe.runs)}
        minutes = round(sum(need.minutes for need in missing), 1)
        records.append({**about, "missing": len(missing), "minutes": minutes})
    if as_json:
        print_json(records)
        return
    for one in records:
        one["minutes"] = span(60 * one["minutes"]) if one["missing"] else "–"
    shown = ("name", "paper", "runs", "missing", "minutes")
    rows = [[str(one[key]) for key in shown] for one in records]
    print_table(["name", "in the paper", "runs", "missing", "they take"], rows, left=2)
    print("modlm reproduce NAME runs what is missing and shows the numbers; all does so for everything.")


def print_needs(needs: list[Need], *, rerun: bool, as_json: bool) -> None:
    if as_json:
        print_json([{"run": n.run.name, "seed": n.run.seed, "why": n.why, "minutes": n.minutes} for n in needs])
        return
    if not needs:
        here = "All of it was made here; --runs with another folder starts afresh."
        print(here if rerun else "Nothing is missing.")
        return
    rows = [[need.run.label, need.why, span(60 * need.minutes)] for need in needs]
    print_table(["run", "why", "takes about"], rows, left=2)
    print(f"{len(needs)} runs, about {span(60 * sum(need.minutes for need in needs))} on two cores")
