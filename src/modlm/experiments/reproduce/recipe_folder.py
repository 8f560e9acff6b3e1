"""A folder of recipes: `corpora.toml`, `runs.toml`, `published.toml`, a file for each table and figure, and `results/`.

Reading it checks that everything that is named is there: runs, corpora, presets, rows, published numbers.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modlm.errors import ConfigError, InputError, nearest
from modlm.experiments.reproduce.recipe import SCALES, Claim, CorpusEntry, Recipe, Row, RunEntry, TextEntry, record
from modlm.nets.config import one_of
from modlm.training.config_file import Table, merged, preset_names

FOLDER = "recipes/neubig2016"
CORPORA, RUNS, PUBLISHED, RESULTS = "corpora.toml", "runs.toml", "published.toml", "results"
ORDER = tuple(
    "table1 table2 table2-all speed table3 table3-faithful convergence low-frequency table4 larger-data "
    "larger-data-mended larger-data-split counts-without-text fewer-units exact-block-dropout strong counts-now".split()
)


@dataclass(frozen=True, slots=True)
class Recipes:
    """All recipes of a folder at one scale."""

    folder: Path
    scale: str
    corpora: dict[str, CorpusEntry]
    texts: dict[str, TextEntry]
    runs: dict[str, RunEntry]  # in the order in which they are best done
    tables: dict[str, Recipe]  # and figures, in the order of the paper

    @classmethod
    def open(cls, folder: str | Path, scale: str = "here") -> Recipes:
        one_of("--scale", scale, SCALES)
        folder = Path(folder)
        texts, runs, published = (_read(folder / name) for name in (CORPORA, RUNS, PUBLISHED))
        files = [path for path in sorted(folder.glob("*.toml")) if path.name not in (CORPORA, RUNS, PUBLISHED)]
        places = {name: number for number, name in enumerate(ORDER)}
        files.sort(key=lambda path: places.get(path.stem, len(ORDER)))
        found = cls(
            folder,
            scale,
            _records(CorpusEntry, texts.get("corpora", {}), scale, where=f"{CORPORA}: corpora."),
            _records(TextEntry, texts.get("texts", {}), scale, where=f"{CORPORA}: texts."),
            _records(RunEntry, {name: _like(runs, name) for name in runs}, scale, where=f"{RUNS}: "),
            {path.stem: _recipe(path, published.get(path.stem, {})) for path in files},
        )
        for name, known, where in found._names():
            _known(name, known, where)
        return found

    @property
    def results(self) -> Path:
        return self.folder / RESULTS / self.scale

    def table(self, name: str) -> Recipe:
        if name not in self.tables:
            known = (*self.tables, "all")
            raise ConfigError(f"There is no recipe {name!r}.{nearest(name, known)} Known: {', '.join(known)}.")
        return self.tables[name]

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
            inner = (run.corpus, *run.texts, *run.members)
        return tuple(dict.fromkeys(role for part in inner for role in self.roles(part)))

    def _names(self) -> Iterable[tuple[str, Iterable[str], str]]:
        """What is named somewhere, what it may be, and where that is."""
        texts = (*self.corpora, *self.texts)
        for text in self.texts.values():
            yield from ((name, texts, f"{CORPORA}: texts.{text.name}.of") for name in text.of)
        for corpus in self.corpora.values():
            yield corpus.stand_in or corpus.name, self.corpora, f"{CORPORA}: {corpus.name}.stand_in"
        for run in self.runs.values():
            where = f"{RUNS}: {run.name}"
            yield run.corpus, self.corpora, f"{where}.corpus"
            yield from ((name, texts, where) for name in run.texts)
            yield from ((name, self.runs, f"{where}.members") for name in run.members)
            if run.preset:
                yield run.preset, preset_names(), f"{where}.preset"
        for recipe in self.tables.values():
            for row in recipe.rows:
                where = f"{recipe.name}.toml: {row.row}"
                yield row.run, self.runs, f"{where}.run"
                yield row.corpus, self.corpora, f"{where}.corpus"
                yield row.over or row.row, [other.row for other in recipe.rows], f"{where}.over"
            for claim in recipe.claims:
                rows = [row.row for row in recipe.rows if row.corpus == claim.corpus]
                where = f"{recipe.name}.toml: the claim {claim.says!r}"
                yield from ((name, rows, where) for name in (*claim.rows, *claim.lower, *claim.than))


def find_folder() -> Path:
    """The recipes: in the working folder, in the package, or in the checkout that the package lies in."""
    package = Path(__file__).parents[2]
    for place in (Path(FOLDER), package / FOLDER, package.parents[1] / FOLDER):
        if (place / RUNS).is_file():
            return place
    raise InputError(f"there are no recipes here. Name their folder with --recipes, such as {FOLDER}.", path=FOLDER)


def _read(path: Path) -> Table:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("there is no such file, and a folder of recipes has one.", path=path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not a TOML file: {error}.") from None


def _records(kind: type, tables: Table, scale: str, *, where: str) -> dict[str, Any]:
    """The records of named tables, with what holds at this scale laid over the rest."""
    found = {}
    for name, table in tables.items():
        plain = {key: value for key, value in table.items() if key not in SCALES}
        found[name] = record(kind, {"name": name, **merged(plain, table.get(scale, {}))}, where=f"{where}{name}")
    return found


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


def _recipe(path: Path, published: Table) -> Recipe:
    table = _read(path)
    rows: list[Row] = [record(Row, row, where=f"{path.name}: rows") for row in table.get("rows", [])]
    table["rows"] = tuple(_with_number(row, published, recipe=path.stem) for row in rows)
    table["claims"] = tuple(record(Claim, claim, where=f"{path.name}: claims") for claim in table.get("claims", []))
    found: Recipe = record(Recipe, {"name": path.stem, **table}, where=path.name)
    return found


def _with_number(row: Row, published: Table, *, recipe: str) -> Row:
    """A row with its published number, if it has one; an error if nothing is said about it."""
    source = str(published.get("source", ""))
    found = published.get(row.corpus, {}).get(row.row, published.get("unprinted"))
    if found is None or not source:
        raise ConfigError(
            f"{PUBLISHED}: nothing is said about {recipe}, {row.corpus}, {row.row!r}. Give the published number, or a "
            f"text that says why there is none, and the table's source."
        )
    return dataclasses.replace(row, published=None if isinstance(found, str) else float(found), source=source)


def _known(name: str, known: Iterable[str], where: str) -> None:
    if name not in (known := list(known)):
        raise ConfigError(f"{where}: {name!r} is unknown.{nearest(name, known)} Known: {', '.join(known)}.")
