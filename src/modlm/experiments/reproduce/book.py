"""A folder of recipes: `corpora.toml`, `runs.toml`, `published.toml`, a file for each table and figure, and `results/`.

Reading it checks that everything that is named is there: runs, corpora, presets, rows, published numbers.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from modlm.errors import ConfigError, InputError, nearest
from modlm.experiments.reproduce.entries import (
    SCALES,
    Claim,
    CorpusEntry,
    Recipe,
    Row,
    RunEntry,
    TextEntry,
    at_scale,
    record,
)
from modlm.nets.config import one_of
from modlm.training.config_file import Table, merged, preset_names

FOLDER = "recipes/neubig2016"
CORPORA, RUNS, PUBLISHED, RESULTS = "corpora.toml", "runs.toml", "published.toml", "results"
ORDER = (
    "table1",
    "table2",
    "speed",
    "table3",
    "table3-faithful",
    "convergence",
    "low-frequency",
    "table4",
    "larger-data",
    "strong",
    "counts-now",
)


@dataclass(frozen=True, slots=True)
class Number:
    """A published number, or why there is none."""

    value: float | None
    source: str
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Book:
    """All recipes of a folder at one scale."""

    folder: Path
    scale: str
    corpora: dict[str, CorpusEntry]
    texts: dict[str, TextEntry]
    runs: dict[str, RunEntry]
    """In the order in which they are best done."""
    recipes: dict[str, Recipe]
    numbers: dict[tuple[str, str, str], Number]
    """Published, by recipe, corpus and row."""

    @classmethod
    def open(cls, folder: str | Path, scale: str = "here") -> Book:
        """Read and check a folder."""
        one_of("--scale", scale, SCALES)
        folder = Path(folder)
        corpora, texts = _texts(_read(folder / CORPORA), scale)
        tables = _read(folder / RUNS)
        runs = {
            name: record(RunEntry, {"name": name, **at_scale(_like(tables, name), scale)}, where=f"{RUNS}: {name}")
            for name in tables
        }
        recipes = {path.stem: _recipe(path) for path in _recipe_files(folder)}
        published = _read(folder / PUBLISHED)
        numbers = {
            (recipe.name, row.corpus, row.row): _number(published, recipe.name, row)
            for recipe in recipes.values()
            for row in recipe.rows
        }
        book = cls(folder, scale, corpora, texts, runs, recipes, numbers)
        book._check()
        return book

    @property
    def results(self) -> Path:
        """Where results at this scale are kept."""
        return self.folder / RESULTS / self.scale

    def recipe(self, name: str) -> Recipe:
        """A table or figure by name."""
        if name not in self.recipes:
            known = (*self.recipes, "all")
            raise ConfigError(f"There is no recipe {name!r}.{nearest(name, known)} Known: {', '.join(known)}.")
        return self.recipes[name]

    def in_order(self, names: Iterable[str]) -> list[RunEntry]:
        """Runs with all that they are made of, in the order of `runs.toml`."""
        wanted = set[str]()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in wanted:
                wanted.add(name)
                waiting += self.runs[name].members
        return [run for name, run in self.runs.items() if name in wanted]

    def roles(self, name: str) -> tuple[str, ...]:
        """The corpora that a text, a corpus or a run draws on, under the paper's names."""
        if name in self.corpora:
            return (name,)
        if name in self.texts:
            inner: tuple[str, ...] = self.texts[name].of
        else:
            run = self.runs[name]
            inner = (run.corpus, *filter(None, (run.text,)), *run.columns.values(), *run.members)
        return tuple(dict.fromkeys(role for part in inner for role in self.roles(part)))

    # ---- checks -----------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        texts = (*self.corpora, *self.texts)
        for text in self.texts.values():
            for name in text.of:
                _known(name, texts, f"{CORPORA}: texts.{text.name}.of")
        for corpus in self.corpora.values():
            if corpus.stand_in:
                _known(corpus.stand_in, self.corpora, f"{CORPORA}: {corpus.name}.stand_in")
        for run in self.runs.values():
            self._check_run(run, texts)
        for recipe in self.recipes.values():
            self._check_recipe(recipe)

    def _check_run(self, run: RunEntry, texts: Iterable[str]) -> None:
        _known(run.corpus, self.corpora, f"{RUNS}: {run.name}.corpus")
        for name in (*filter(None, (run.text,)), *run.columns.values()):
            _known(name, texts, f"{RUNS}: {run.name}")
        for name in run.members:
            _known(name, self.runs, f"{RUNS}: {run.name}.members")
        if run.preset:
            _known(run.preset, preset_names(), f"{RUNS}: {run.name}.preset")

    def _check_recipe(self, recipe: Recipe) -> None:
        where = f"{recipe.name}.toml"
        for row in recipe.rows:
            _known(row.run, self.runs, f"{where}: {row.row}.run")
            _known(row.corpus, self.corpora, f"{where}: {row.row}.corpus")
            if row.over:
                _known(row.over, [other.row for other in recipe.rows], f"{where}: {row.row}.over")
        for claim in recipe.claims:
            rows = [row.row for row in recipe.rows if row.corpus == claim.corpus]
            for name in (*claim.rows, *claim.lower, *claim.than):
                _known(name, rows, f"{where}: the claim {claim.says!r}")


def find_folder() -> Path:
    """The recipes: in the working folder, in the package, or in the checkout that the package lies in."""
    package = Path(__file__).parents[2]
    for place in (Path(FOLDER), package / FOLDER, package.parents[1] / FOLDER):
        if (place / RUNS).is_file():
            return place
    raise InputError(f"there are no recipes here. Name their folder with --recipes, such as {FOLDER}.", path=FOLDER)


def _recipe_files(folder: Path) -> list[Path]:
    found = [path for path in sorted(folder.glob("*.toml")) if path.name not in (CORPORA, RUNS, PUBLISHED)]
    place = {name: number for number, name in enumerate(ORDER)}
    return sorted(found, key=lambda path: place.get(path.stem, len(ORDER)))


def _read(path: Path) -> Table:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("there is no such file, and a folder of recipes has one.", path=path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not a TOML file: {error}.") from None


def _like(tables: Table, name: str, after: tuple[str, ...] = ()) -> Table:
    """A run with its settings laid over those of the run that it is like, which may itself be like another."""
    table: Table = tables[name]
    model = table.get("like")
    if model is None:
        return table
    _known(model, tables, f"{RUNS}: {name}.like")
    chain = (*after, name)
    if model in chain:
        raise ConfigError(f"{RUNS}: runs are like each other in a circle: {' -> '.join((*chain, model))}.")
    shared = {"settings": _like(tables, model, chain).get("settings", {})}
    return merged(shared, {key: value for key, value in table.items() if key != "like"})


def _texts(table: Table, scale: str) -> tuple[dict[str, CorpusEntry], dict[str, TextEntry]]:
    corpora = {
        name: record(CorpusEntry, {"name": name, **entry}, where=f"{CORPORA}: corpora.{name}")
        for name, entry in table.get("corpora", {}).items()
    }
    texts = {
        name: record(TextEntry, {"name": name, **at_scale(entry, scale)}, where=f"{CORPORA}: texts.{name}")
        for name, entry in table.get("texts", {}).items()
    }
    return corpora, texts


def _recipe(path: Path) -> Recipe:
    table = _read(path)
    table["rows"] = tuple(record(Row, row, where=f"{path.name}: rows") for row in table.get("rows", []))
    table["claims"] = tuple(record(Claim, claim, where=f"{path.name}: claims") for claim in table.get("claims", []))
    return record(Recipe, {"name": path.stem, **table}, where=path.name)


def _number(published: Table, recipe: str, row: Row) -> Number:
    """The published number of a row; an error if nothing is said about it."""
    table = published.get(recipe, {})
    source = str(table.get("source", ""))
    found = table.get(row.corpus, {}).get(row.row, table.get("unprinted"))
    if found is None or not source:
        raise ConfigError(
            f"{PUBLISHED}: nothing is said about {recipe}, {row.corpus}, {row.row!r}. Give the published number, or a "
            f"text that says why there is none, and the table's source."
        )
    return Number(None, source, found) if isinstance(found, str) else Number(float(found), source)


def _known(name: str, known: Iterable[str], where: str) -> None:
    if name not in (known := list(known)):
        raise ConfigError(f"{where}: {name!r} is unknown.{nearest(name, known)} Known: {', '.join(known)}.")
