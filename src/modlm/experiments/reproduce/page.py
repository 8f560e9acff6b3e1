"""`docs/reproduction.md`: every table and figure, the paper's numbers and ours, what they show, and how it was done."""

from __future__ import annotations

import re
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
HEAD = """Every table and figure of [Neubig and Dyer (2016)](https://aclanthology.org/D16-1124/): what the paper
printed, what comes out here, and whether the paper's findings hold.

{answers}

**How to read it.** The paper's numbers are in `recipes/neubig2016/published.toml`. Test perplexity is that of the model
with the best validation likelihood; the test text chose nothing unless a section says so. Where nets were trained from
several seeds, ours is the mean ± the standard deviation of a sample, and claims are checked on the mean.

**How to repeat it.** This page was written by `{command}`, at scale `{scale}`, from {source}.
`modlm reproduce NAME` runs what a table or figure lacks, and with `--rerun` all that it needs.

**The corpora.** Only PTB was to be had in the paper's form. Where another text stands in for one of the paper's
corpora, the two numbers are of different texts, and no difference is given.

{corpora}
"""
SHIPPED = "the results in `recipes/neubig2016/results`, which ship with modlm"
RERUN = "new results; those that ship with modlm are in the column *shipped*"


def write_page(runs: Runs, folder: Path, *, command: str) -> Path:
    """Write the page and its figures; what has no numbers yet says so."""
    sections = [_section(recipe, runs, folder) for recipe in runs.recipes.tables.values()]
    parts = [line for part in (_head(runs, command), *sections, _runs(runs)) for line in part]
    folder.mkdir(parents=True, exist_ok=True)
    with new_file(folder / PAGE) as place:
        place.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")
    return folder / PAGE


def write_figure(recipe: Recipe, rows: Sequence[ComparedRow], folder: Path) -> Path:
    path = folder / FIGURES / f"{recipe.name}.svg"
    text = draw(recipe, rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    with new_file(path) as place:
        place.write_text(text, encoding="utf-8")
    return path


def _head(runs: Runs, command: str) -> list[str]:
    corpora = runs.recipes.corpora
    table = ["| the paper's corpus | what it is | here |", "|---|---|---|"]
    for role, entry in corpora.items():
        if role not in {other.stand_in for other in corpora.values()}:
            used = runs.corpora.used(role)
            here = "the same" if used is entry else f"**{used.title}** stands in: {used.about}"
            table.append(f"| {entry.title} | {entry.about} | {here} |")
    source = RERUN if runs.rerun else SHIPPED
    about = {"scale": runs.recipes.scale, "command": command, "source": source, "answers": "\n".join(_answers(runs))}
    return ["# The paper, reproduced", "", HEAD.format(**about, corpora="\n".join(table))]


def _answers(runs: Runs) -> list[str]:
    """The table that says in one line for each section whether it reproduced."""
    lines = ["| | did it reproduce? | findings that hold |", "|---|---|--:|"]
    for recipe in runs.recipes.tables.values():
        rows = compared_rows(recipe, runs)
        held = [holds(claim, rows) for claim in recipe.claims]
        place = re.sub(r"[^\w\- ]", "", _heading(recipe).lower()).replace(" ", "-")
        answer = "see below" if runs.rerun else recipe.answer
        open_ones = f", {held.count(None)} not run yet" if None in held else ""
        lines.append(f"| [{recipe.paper}](#{place}) | {answer} | {held.count(True)} of {len(held)}{open_ones} |")
    return lines


def _heading(recipe: Recipe) -> str:
    return f"{recipe.paper}: {recipe.title}"


def _section(recipe: Recipe, runs: Runs, folder: Path) -> list[str]:
    rows = compared_rows(recipe, runs)
    parts = [f"## {_heading(recipe)}", "", f"    modlm reproduce {recipe.name}", ""]
    if recipe.figure and any(one.ours is not None for one in rows):
        path = write_figure(recipe, rows, folder)
        parts += [f"![{recipe.title}]({path.relative_to(folder).as_posix()})", ""]
    names = columns(rerun=runs.rerun)
    parts += [f"| {' | '.join(names)} |".replace("|  |", "| |"), "|---|---" + "|--:" * (len(names) - 2) + "|"]
    parts += [f"| {' | '.join(cells(one, rerun=runs.rerun))} |" for one in rows]
    if recipe.claims:
        parts += ["", "| the paper's finding | holds here |", "|---|---|"]
        parts += [f"| {claim.says} | {VERDICTS[holds(claim, rows)]} |" for claim in recipe.claims]
    if recipe.discussion.strip():
        parts += ["", recipe.discussion.strip()]
    return [*parts, ""]


def columns(*, rerun: bool) -> list[str]:
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
    own: dict[str, list[RunResult]] = {}
    for each in found:
        own.setdefault(str(each.result.made.get("machine", "")), []).append(each.result)
    machines = [f"{name} ({days(some) or 'days not recorded'})" for name, some in own.items() if name]
    lines += ["", f"{hours:.1f} hours in all, on {'; '.join(machines) or 'no machine yet'}."]
    if missing := runs.needs(runs.recipes.runs):
        lines += ["", f"Not run yet: {', '.join(need.run.label for need in missing)}."]
    return lines


def _seconds(result: RunResult) -> float:
    return float(result.training.get("seconds", result.made.get("seconds", 0.0)))
