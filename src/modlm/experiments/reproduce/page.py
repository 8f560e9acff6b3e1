"""`docs/reproduction.md`: every table and figure, the paper's numbers and ours, what they show, and how it was done."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from modlm.experiments.reproduce.compared_rows import ComparedRow, compared_rows, holds
from modlm.experiments.reproduce.figures import draw
from modlm.experiments.reproduce.recipe import Recipe
from modlm.experiments.reproduce.results import RunResult, days
from modlm.experiments.reproduce.runs import Runs
from modlm.ground.files import new_file

PAGE, FIGURES = "reproduction.md", "reproduction"
VERDICTS = {True: "yes", False: "**no**", None: "not yet"}
MISSING = "–"
WIDTH = 120
HEAD = (
    "Every table and figure of [Neubig and Dyer (2016)](https://aclanthology.org/D16-1124/), the paper's numbers and "
    "ours, at scale `{scale}`. Written by `{command}` from {source}; the paper's numbers are in "
    "`recipes/neubig2016/published.toml`. `modlm reproduce NAME` runs what a table or figure lacks, with `--rerun` all "
    "that it needs. Test perplexity is that of the model with the best validation likelihood; the test text chose "
    "nothing. Where nets were trained from several seeds, ours is the mean ± the standard deviation of a sample, and "
    "claims are checked on the mean. Where something stands for a corpus of the paper, our number is of other text "
    "than the paper's, and no difference is given."
)
SHIPPED = "the results in `recipes/neubig2016/results`, which ship with modlm"
RERUN = "results made anew; those that ship with modlm are in the column *shipped*"


def write_page(runs: Runs, folder: Path, *, command: str) -> Path:
    """Write the page and its figures; what has no numbers yet says so."""
    sections = [_section(recipe, runs, folder) for recipe in runs.recipes.tables.values()]
    parts = [line for part in (_head(runs, command), *sections, _runs(runs)) for line in part]
    folder.mkdir(parents=True, exist_ok=True)
    with new_file(folder / PAGE) as place:
        place.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")
    return folder / PAGE


def write_figure(recipe: Recipe, rows: Sequence[ComparedRow], folder: Path) -> Path:
    """Draw the figure of a recipe into the folder of figures."""
    path = folder / FIGURES / f"{recipe.name}.svg"
    text = draw(recipe, rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    with new_file(path) as place:
        place.write_text(text, encoding="utf-8")
    return path


def _head(runs: Runs, command: str) -> list[str]:
    corpora = runs.recipes.corpora
    table = ["| corpus of the paper | what it is | here |", "|---|---|---|"]
    for role, entry in corpora.items():
        if role not in {other.stand_in for other in corpora.values()}:
            used = runs.corpora.used(role)
            here = "the same" if used is entry else f"**{used.title}** stands for it: {used.about}"
            table.append(f"| {entry.title} | {entry.about} | {here} |")
    about = HEAD.format(scale=runs.recipes.scale, command=command, source=RERUN if runs.rerun else SHIPPED)
    lines = textwrap.wrap(about, WIDTH, break_long_words=False, break_on_hyphens=False)
    return ["# The paper, reproduced", "", *lines, "", *table, ""]


def _section(recipe: Recipe, runs: Runs, folder: Path) -> list[str]:
    rows = compared_rows(recipe, runs)
    parts = [f"## {recipe.paper}: {recipe.title}", "", f"    modlm reproduce {recipe.name}", ""]
    if recipe.figure and any(one.ours is not None for one in rows):
        path = write_figure(recipe, rows, folder)
        parts += [f"![{recipe.title}]({path.relative_to(folder).as_posix()})", ""]
    parts += markdown(rows, rerun=runs.rerun)
    if recipe.claims:
        parts += ["", "| must show | does it |", "|---|---|"]
        parts += [f"| {claim.says} | {VERDICTS[holds(claim, rows)]} |" for claim in recipe.claims]
    if recipe.discussion.strip():
        parts += ["", recipe.discussion.strip()]
    return [*parts, ""]


def markdown(rows: Sequence[ComparedRow], *, rerun: bool) -> list[str]:
    """The table as Markdown."""
    names = columns(rerun=rerun)
    lines = [f"| {' | '.join(names)} |".replace("|  |", "| |"), "|---|---" + "|--:" * (len(names) - 2) + "|"]
    return lines + [f"| {' | '.join(cells(one, rerun=rerun))} |" for one in rows]


def columns(*, rerun: bool) -> list[str]:
    """The names of the cells."""
    return ["", "data", "paper", "ours", "difference", *(["shipped"] if rerun else [])]


def cells(one: ComparedRow, *, rerun: bool) -> list[str]:
    """Label, data, the paper's number, ours, how much ours is above it, and for a rerun what came with the recipes."""
    change = one.difference
    ours = number(one.ours, one.digits)
    if one.sd is not None:
        ours += f" ± {number(one.sd, one.digits)} ({one.seeds} seeds)"
    return [
        one.row.label,
        one.data,
        number(one.paper, one.digits),
        ours,
        MISSING if change is None else f"{100 * change:+.1f} %".replace("-", "−"),
        *([number(one.shipped, one.digits)] if rerun else []),
    ]


def number(value: float | None, digits: int) -> str:
    """A number for a table."""
    return MISSING if value is None else f"{value:,.{digits}f}"


def _runs(runs: Runs) -> list[str]:
    """What was run, how long it took, and on what."""
    lines = ["## The runs", "", "| run | corpora | validation | test | words | minutes | configurations tried |"]
    lines += ["|---|---|--:|--:|--:|--:|--:|"]
    found = [each for name in runs.recipes.runs for each in runs.found(name)]
    found = [each for each in found if each.run.kind in ("train", "static", "ngram")]
    for each in found:
        run, result, words = each.run, each.result, each.result.training.get("words")
        shown = [number(result.valid, 2), number(result.test, 2), f"{words:,}" if words else MISSING]
        names = " + ".join(runs.corpora.names(run.name))
        lines.append(f"| {run.label} | {names} | {' | '.join(shown)} | {_seconds(result) / 60:.1f} | {run.tried} |")
    hours = sum(_seconds(each.result) for each in found) / 3600
    lines += ["", f"{hours:.1f} hours in all, on {_machines([each.result for each in found]) or 'no machine yet'}."]
    if missing := runs.needs(runs.recipes.runs):
        lines += ["", f"Not run yet: {', '.join(need.run.label for need in missing)}."]
    return lines


def _seconds(result: RunResult) -> float:
    return float(result.training.get("seconds", result.made.get("seconds", 0.0)))


def _machines(results: Sequence[RunResult]) -> str:
    """Every machine, with the days."""
    machines = dict.fromkeys(str(result.made.get("machine", "")) for result in results)
    own = {name: [result for result in results if result.made.get("machine") == name] for name in machines if name}
    return "; ".join(f"{name} ({days(found) or 'days not recorded'})" for name, found in own.items())
