"""`docs/reproduction.md`: every table and figure, the paper's numbers and ours, what they show, and how it was done."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from modlm.experiments.reproduce.answers import Answer, answers, holds
from modlm.experiments.reproduce.entries import Recipe
from modlm.experiments.reproduce.figures import draw
from modlm.experiments.reproduce.workshop import Workshop
from modlm.files import new_file

PAGE, FIGURES = "reproduction.md", "reproduction"
VERDICTS = {True: "yes", False: "**no**", None: "not yet"}
MISSING = "–"
WIDTH = 120
HEAD = (
    "Every table and figure of [Neubig and Dyer (2016)](https://aclanthology.org/D16-1124/), the paper's numbers and "
    "ours, at scale `{scale}`. Written by `{command}` from the results in `recipes/neubig2016/results`; the paper's "
    "numbers are in `published.toml` beside them. `modlm reproduce NAME` runs what a table or figure lacks. Test "
    "perplexity is that of the model with the best validation likelihood; the test text chose nothing. Where something "
    "stands for a corpus of the paper, our number is of other text than the paper's, and no difference is given."
)


def write_page(shop: Workshop, folder: Path, *, command: str) -> Path:
    """Write the page and its figures; what has no numbers yet says so."""
    parts = [*_head(shop, command)]
    for recipe in shop.book.recipes.values():
        parts += _section(recipe, shop, folder)
    parts += _runs(shop)
    folder.mkdir(parents=True, exist_ok=True)
    with new_file(folder / PAGE) as place:
        place.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")
    return folder / PAGE


def write_figure(recipe: Recipe, shop: Workshop, folder: Path) -> Path:
    """Draw the figure of a recipe into the folder of figures."""
    path = folder / FIGURES / f"{recipe.name}.svg"
    text = draw(recipe, answers(recipe, shop), shop)
    path.parent.mkdir(parents=True, exist_ok=True)
    with new_file(path) as place:
        place.write_text(text, encoding="utf-8")
    return path


def _head(shop: Workshop, command: str) -> list[str]:
    corpora = shop.book.corpora
    told = [
        f"| {entry.title} | {entry.about} | {_stands(shop, entry.name)} |"
        for entry in corpora.values()
        if entry.name not in {other.stand_in for other in corpora.values()}
    ]
    about = HEAD.format(scale=shop.book.scale, command=command)
    lines = textwrap.wrap(about, WIDTH, break_long_words=False, break_on_hyphens=False)
    table = ["| corpus of the paper | what it is | here |", "|---|---|---|", *told]
    return ["# The paper, reproduced", "", *lines, "", *table, ""]


def _stands(shop: Workshop, role: str) -> str:
    used = shop.corpora.used(role)
    return "the same" if used.name == role else f"**{used.title}** stands for it: {used.about}"


def _section(recipe: Recipe, shop: Workshop, folder: Path) -> list[str]:
    rows = answers(recipe, shop)
    parts = [f"## {recipe.paper}: {recipe.title}", "", f"    modlm reproduce {recipe.name}", ""]
    if recipe.figure and any(answer.ours is not None for answer in rows):
        path = write_figure(recipe, shop, folder)
        parts += [f"![{recipe.title}]({path.relative_to(folder).as_posix()})", ""]
    parts += markdown(rows)
    if recipe.claims:
        parts += ["", "| must show | does it |", "|---|---|"]
        parts += [f"| {claim.says} | {VERDICTS[holds(claim, rows)]} |" for claim in recipe.claims]
    if recipe.discussion.strip():
        parts += ["", recipe.discussion.strip()]
    return [*parts, ""]


def markdown(rows: Sequence[Answer]) -> list[str]:
    """The table as Markdown."""
    lines = ["| | data | paper | ours | difference |", "|---|---|--:|--:|--:|"]
    return lines + [f"| {' | '.join(cells(answer))} |" for answer in rows]


def cells(answer: Answer) -> list[str]:
    """Label, data, the paper's number, ours, and how much ours is above it."""
    change = answer.difference
    return [
        answer.row.label,
        answer.data,
        number(answer.paper, answer.digits),
        number(answer.ours, answer.digits),
        MISSING if change is None else f"{100 * change:+.1f} %".replace("-", "−"),
    ]


def number(value: float | None, digits: int) -> str:
    """A number for a table."""
    return MISSING if value is None else f"{value:,.{digits}f}"


def _runs(shop: Workshop) -> list[str]:
    """What was run, how long it took, and on what."""
    lines = ["## The runs", "", "| run | corpora | validation | test | words | minutes | configurations tried |"]
    lines += ["|---|---|--:|--:|--:|--:|--:|"]
    total, machines = 0.0, dict[str, None]()
    for run in shop.book.runs.values():
        result = shop.results.find(run)
        if result is None or run.kind not in ("train", "static", "ngram"):
            continue
        seconds = float(result.training.get("seconds", result.made.get("seconds", 0.0)))
        total += seconds
        machines[str(result.made.get("machine", ""))] = None
        words = result.training.get("words")
        shown = [number(result.valid, 2), number(result.test, 2), f"{words:,}" if words else MISSING]
        names = " + ".join(shop.corpora.names(run.name))
        lines.append(f"| {run.name} | {names} | {' | '.join(shown)} | {seconds / 60:.1f} | {run.tried} |")
    missing = shop.needs(shop.book.runs)
    lines += ["", f"{total / 3600:.1f} hours in all, on {'; '.join(filter(None, machines)) or 'no machine yet'}."]
    if missing:
        lines += ["", f"Not run yet: {', '.join(need.run.name for need in missing)}."]
    return lines
