"""What `modlm reproduce` does: find what is there, run what is missing, show both numbers."""

from __future__ import annotations

import os
import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modlm.cli.outcome import resumable, wrote
from modlm.cli.printing import print_json, print_table
from modlm.errors import ConfigError

if TYPE_CHECKING:
    from modlm.experiments.reproduce.answers import Answer
    from modlm.experiments.reproduce.entries import Recipe
    from modlm.experiments.reproduce.workshop import Found, Need, Workshop

ALL = "all"
SIGNS = {True: "yes    ", False: "NO     ", None: "not yet"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the command line asks for; each field is the option of the same name."""

    name: str
    rows: tuple[str, ...] = ()
    listed: bool = False
    dry_run: bool = False
    rerun: bool = False
    seeds: int = 1
    redraw: bool = False
    minutes: float | None = None
    scale: str = "here"
    corpora: tuple[str, ...] = ()
    runs: Path | None = None
    recipes: Path | None = None
    output: Path = Path("docs")
    device: str = "auto"

    def command(self, *, places: bool = True) -> str:
        """The same again; without places on this machine, for others to read."""
        words = ["modlm", "reproduce", self.name]
        words += [word for row in self.rows for word in ("--row", row)]
        words += ["--rerun"] if self.rerun else []
        words += ["--seeds", str(self.seeds)] if self.seeds > 1 else []
        words += ["--scale", self.scale] if self.scale != "here" else []
        if not places:
            return shlex.join(words)
        words += [word for corpus in self.corpora for word in ("--corpus", corpus)]
        for option, path in (("--runs", self.runs), ("--recipes", self.recipes)):
            words += [option, str(path)] if path is not None else []
        return shlex.join(words)


def carry_out(asked: Asked, *, as_json: bool) -> None:
    """Do what is asked and print it."""
    if not asked.name and not asked.listed:
        raise ConfigError("Name a table or figure, such as table3, or all. `modlm reproduce --list` shows them.")
    if asked.name == ALL and asked.rows:
        raise ConfigError("--row chooses among the rows of one table or figure, but all were asked for.")
    shop = workshop(asked)
    if asked.listed:
        print_list(shop, as_json=as_json)
        return
    recipes = list(shop.book.recipes.values()) if asked.name == ALL else [shop.book.recipe(asked.name)]
    needs = shop.needs(dict.fromkeys(run for recipe in recipes for run in runs_of(recipe, shop, asked.rows)))
    if asked.dry_run:
        print_needs(needs, rerun=asked.rerun, as_json=as_json)
        return
    if not asked.redraw:
        run_all(shop, needs, asked)
    show(shop, recipes, asked, as_json=as_json)


def workshop(asked: Asked) -> Workshop:
    """The recipes, corpora and runs that are meant."""
    from modlm.experiments.reproduce.book import Book, find_folder
    from modlm.experiments.reproduce.corpora import Corpora
    from modlm.experiments.reproduce.workshop import TEXTS, Workshop

    book = Book.open(asked.recipes or find_folder(), asked.scale)
    cache = Path(os.environ.get("MODLM_CACHE") or Path("~/.cache/modlm").expanduser())
    runs = (asked.runs or cache / "reproduce").absolute()
    corpora = Corpora(book, runs / TEXTS, given=given(asked.corpora))
    return Workshop(book, runs, corpora, device=asked.device, rerun=asked.rerun, seeds=asked.seeds)


def given(corpora: tuple[str, ...]) -> dict[str, Path]:
    """NAME=PATH as names and paths."""
    found: dict[str, Path] = {}
    for text in corpora:
        name, sign, path = text.partition("=")
        if not sign or not path:
            raise ConfigError(f"--corpus takes NAME=PATH, such as wsj=wsj.txt.gz, but got {text!r}.")
        found[name.strip().lower()] = Path(path).expanduser()
    return found


def runs_of(recipe: Recipe, shop: Workshop, rows: tuple[str, ...]) -> list[str]:
    """The runs that the rows need."""
    from modlm.experiments.reproduce.answers import answers, chosen

    if not rows:
        return list(recipe.runs)
    below = {row.row: row.run for row in recipe.rows}
    picked = [answer.row for answer in chosen(answers(recipe, shop), rows)]
    return [run for row in picked for run in (row.run, *([below[row.over]] if row.over else []))]


def run_all(shop: Workshop, needs: list[Need], asked: Asked) -> None:
    """Run what is missing, one after the other, as far as the time goes."""
    begun = time.monotonic()
    for place, need in enumerate(needs, start=1):
        gone = (time.monotonic() - begun) / 60
        if asked.minutes is not None and gone + need.minutes > asked.minutes:
            _say(f"{need.run.label} is left for later: it takes about {span(need.minutes)}")
            continue
        if not shop.ready(need.run):
            _say(f"{need.run.label} is left for later: what it mixes is not there yet")
            continue
        _say(f"{place}/{len(needs)} {need.run.label} ({need.why}), about {span(need.minutes)}")
        resumable(asked.command(), when=shop.folder(need.run))
        shop.carry_out(need.run)
        wrote(shop.results.path(need.run))
    resumable("")


def _say(text: str) -> None:
    print(f"modlm: {text}", file=sys.stderr, flush=True)


def span(minutes: float) -> str:
    """A time for people."""
    if minutes < 1:
        return f"{max(1, round(60 * minutes))} s"
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


# ---- what is shown ---------------------------------------------------------------------------------------------------


def show(shop: Workshop, recipes: list[Recipe], asked: Asked, *, as_json: bool) -> None:
    """Tables for people, or a list of rows for programs; figures and the page are written."""
    from modlm.experiments.reproduce.answers import answers, chosen
    from modlm.experiments.reproduce.page import write_figure, write_page

    found = {recipe.name: chosen(answers(recipe, shop), asked.rows) for recipe in recipes}
    written: list[Path] = []
    if asked.name == ALL:
        written.append(write_page(shop, asked.output, command=asked.command(places=False)))
    elif recipes[0].figure and not asked.rows and any(answer.ours is not None for answer in found[asked.name]):
        written.append(write_figure(recipes[0], shop, asked.output))
    for path in written:
        wrote(path)
    if as_json:
        print_json([{"recipe": name, **answer.as_dict()} for name, rows in found.items() for answer in rows])
        return
    for recipe in recipes:
        print_recipe(recipe, found[recipe.name], shop, whole=not asked.rows)
    for path in written:
        print(path)


def print_recipe(recipe: Recipe, rows: list[Answer], shop: Workshop, *, whole: bool) -> None:
    """A table with both numbers, where ours come from, and what they must show."""
    from modlm.experiments.reproduce.answers import holds
    from modlm.experiments.reproduce.page import cells, columns

    print(f"{recipe.paper}: {recipe.title}")
    print_table(columns(rerun=shop.rerun), [cells(answer, rerun=shop.rerun) for answer in rows], left=2)
    if line := origin(rows, shop):
        print(line)
    for claim in recipe.claims if whole else ():
        print(f"{SIGNS[holds(claim, rows)]}  {claim.says}")
    print()


def origin(rows: list[Answer], shop: Workshop) -> str:
    """One line about the results that were not made just now; "" if all were."""
    found = {each.run.label: each for answer in rows for each in answer.found if each.run.label not in shop.just_made}
    shipped = [each for each in found.values() if each.made == "shipped"]
    here = [each for each in found.values() if each.made == "here"]
    parts = [f"{_counted(shipped)}, shipped with the recipes"] if shipped else []
    parts += [f"{_counted(here)}, made here before"] if here else []
    if shipped:
        needs = shop.again().needs(each.run.name for each in shipped)
        hours = span(sum(need.minutes for need in needs))
        parts.append(f"--rerun trains here, about {hours} on two cores" if needs else "--rerun shows those made here")
    return "; ".join(parts)


def _counted(found: list[Found]) -> str:
    from modlm.experiments.reproduce.results import days

    when = days(each.result for each in found)
    return f"{len(found)} result{'s' if len(found) > 1 else ''}{f' of {when}' if when else ''}"


def print_list(shop: Workshop, *, as_json: bool) -> None:
    """Every table and figure, with how much of it is there."""
    listed: list[dict[str, Any]] = []
    for recipe in shop.book.recipes.values():
        missing = shop.needs(recipe.runs)
        listed.append(
            {
                "name": recipe.name,
                "paper": recipe.paper,
                "title": recipe.title,
                "runs": len(recipe.runs),
                "missing": len(missing),
                "minutes": round(sum(need.minutes for need in missing), 1),
            }
        )
    if as_json:
        print_json(listed)
        return
    rows = [
        [
            entry["name"],
            entry["paper"],
            str(entry["runs"]),
            str(entry["missing"]),
            span(entry["minutes"]) if entry["missing"] else "–",
        ]
        for entry in listed
    ]
    print_table(["name", "in the paper", "runs", "missing", "they take"], rows, left=2)
    print("modlm reproduce NAME runs what is missing and shows the numbers; all does so for everything.")


def print_needs(needs: list[Need], *, rerun: bool, as_json: bool) -> None:
    """What would be run."""
    if as_json:
        keys = ("run", "seed", "why", "minutes")
        rows = [(need.run.name, need.run.seed, need.why, need.minutes) for need in needs]
        print_json([dict(zip(keys, row, strict=True)) for row in rows])
        return
    if not needs:
        print(
            "Nothing is missing." if not rerun else "All of it was made here; --runs with another folder starts afresh."
        )
        return
    print_table(
        ["run", "why", "takes about"], [[need.run.label, need.why, span(need.minutes)] for need in needs], left=2
    )
    print(f"{len(needs)} runs, about {span(sum(need.minutes for need in needs))} on two cores")
