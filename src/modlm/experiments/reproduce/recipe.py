"""What stands in a folder of recipes, as frozen records: corpora, texts, runs, recipes with their rows and claims.

Each is read from a TOML table whose keys are the fields. What stands under `full` or `here` in a table holds for that
scale only, laid over the rest.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from modlm.errors import ConfigError, nearest
from modlm.nets.config import one_of
from modlm.nets.setting_values import RULES, checked, fields_of
from modlm.training.config_file import Table, merged

SCALES = ("full", "here")
RUN_KINDS = ("train", "ngram", "static", "sizes", "speed")
FIGURES = ("", "frequency", "convergence", "bars", "sizes")
MEASURES = ("test", "valid", "dense_mass", "by_frequency", "values")


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusEntry:
    """A corpus of the paper, or one that stands for it."""

    name: str
    title: str
    about: str = ""
    train: tuple[str, ...] = ()
    """Files under MODLM_DATA, or one text made from others; none: given by the user or stood in for."""
    valid: str = ""
    test: str = ""
    vocabulary: str = ""  # the words to know; none: those of the training text
    max_words: int = 0  # how many of them, the most frequent; 0: all
    counts: tuple[str, ...] = ()  # count files under MODLM_DATA, where there is no text
    stand_in: str = ""  # the corpus that stands for this one


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEntry:
    """A text made of others, one behind the other, and then perhaps cut."""

    name: str
    of: tuple[str, ...]  # texts, or corpora for their training texts
    first: int = 0  # only so many sentences; 0: all
    every: int = 0  # only the first of every so many stretches
    without_every: int = 0  # all but these
    stretch: int = 1  # sentences that stay together; long ones keep most documents whole, on one side of the cut
    after: int = 0  # how many stretches come before the first one of a sample

    def __post_init__(self) -> None:
        if sum(map(bool, (self.first, self.every, self.without_every))) > 1:
            raise ConfigError(f"texts.{self.name} takes one of first, every and without_every.")
        if self.stretch < 1:
            raise ConfigError(f"texts.{self.name}.stretch must be at least 1 sentence, but is {self.stretch}.")
        if not self.of:
            raise ConfigError(f"texts.{self.name}.of must name at least one text.")

    @property
    def whole(self) -> bool:
        return not (self.first or self.every or self.without_every)

    def stated(self) -> dict[str, Any]:
        """What differs from the defaults; a field that entries get later makes no other text of those there are."""
        said = ((each.name, getattr(self, each.name), each.default) for each in dataclasses.fields(self))
        return {name: value for name, value, default in said if value != default}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEntry:
    """Something that is run once and gives numbers to tables and figures; `runs.toml` explains the fields."""

    name: str
    kind: str
    corpus: str
    text: str = ""
    preset: str = ""
    smoothing: str = ""
    members: tuple[str, ...] = ()
    columns: dict[str, str] = field(default_factory=dict)
    settings: Table = field(default_factory=dict)
    estimate: float = 0.2
    tried: int = 1

    def __post_init__(self) -> None:
        one_of(f"{self.name}.kind", self.kind, RUN_KINDS)
        needed = {"train": "preset", "ngram": "smoothing", "static": "members"}.get(self.kind)
        if needed and not getattr(self, needed):
            raise ConfigError(f"runs: {self.name} is of kind {self.kind}, which needs {needed}.")

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that it names, besides those of its corpus."""
        return (*filter(None, (self.text,)), *self.columns.values())

    @property
    def seed(self) -> int:
        return int(self.settings.get("seed", 1))

    @property
    def label(self) -> str:
        return self.name if self.seed == 1 else f"{self.name}, seed {self.seed}"

    def with_seed(self, seed: int) -> RunEntry:
        """The same from another seed; the first is the run as it is, and what trains nothing has no other."""
        if seed == 1 or self.kind != "train":
            return self
        return dataclasses.replace(self, settings=merged(self.settings, {"seed": seed}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One number of a table or figure."""

    row: str  # its name; the published number has the same
    corpus: str
    run: str
    what: str = ""  # more for the reader than the name
    measure: str = "test"
    """Which number of the run: a perplexity (test, valid), or a name in dense_mass, by_frequency or values."""
    over: str = ""  # another row by whose number this one is divided, ours by ours and the paper's by the paper's
    series: str = ""  # in a figure: the curve or colour it belongs to, and its place
    at: str = ""
    digits: int = -1  # behind the point; -1: as the recipe says
    published: float | None = None  # the paper's number, from `published.toml`, which says why where there is none
    source: str = ""

    def __post_init__(self) -> None:
        one_of(f"rows.{self.row}.measure", self.measure.partition(".")[0], MEASURES)

    @property
    def label(self) -> str:
        return f"({self.row}) {self.what}" if self.what else self.row


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Something that the numbers must show; `compared_rows.holds` says whether they do."""

    says: str
    corpus: str = "ptb"
    rows: tuple[str, ...] = ()  # the rows it is about; none: all of the corpus
    within: float = 0.0  # ours are at most so much above the paper's, as a share
    decimals: int = -1  # ours, rounded so, are the paper's
    significant: int = 0  # the same with so many significant digits
    at_most: float = 0.0
    lower: tuple[str, ...] = ()  # each of these rows is lower than each of `than`, by a share of at least `by`
    than: tuple[str, ...] = ()
    by: float = 0.0
    order: bool = False  # ours are in the paper's order


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    name: str
    paper: str  # where it stands in the paper
    title: str
    figure: str = ""
    digits: int = 1
    answer: str = ""  # did it reproduce? In one sentence, about the results that ship
    discussion: str = ""  # what is to be said about the differences
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...] = ()

    def __post_init__(self) -> None:
        one_of(f"{self.name}.figure", self.figure, FIGURES)

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs that its rows come from, each once."""
        return tuple(dict.fromkeys(row.run for row in self.rows))


def record(kind: type[Any], table: Table, *, where: str) -> Any:
    """The record of a table; what does not fit is answered with its place."""
    known = fields_of(kind)
    values: Table = {}
    for key, value in table.items():
        if key not in known:
            raise ConfigError(f"{where}: there is no {key}.{nearest(key, known)} Known: {', '.join(known)}.")
        values[key] = checked(value, known[key], path=f"{where}: {key}") if known[key] in RULES else value
    none = dataclasses.MISSING
    needed = [each.name for each in dataclasses.fields(kind) if each.default is none and each.default_factory is none]
    if missing := [name for name in needed if name not in values]:
        raise ConfigError(f"{where}: {', '.join(missing)} is missing.")
    return kind(**values)
