"""What came of runs, as small JSON files that are kept: enough to draw every table and figure again without running."""

from __future__ import annotations

import dataclasses
import glob
import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from modlm.errors import InputError
from modlm.experiments.reproduce.corpora import Corpora
from modlm.experiments.reproduce.recipe import RunEntry, TextEntry
from modlm.ground.files import new_file
from modlm.training.config_file import Table, find_table, merged

SEED = "#seed"  # in the name of a file, before the number
DIGITS = 7  # significant digits of numbers in a journal that is kept
# Of a schedule; a run may go on with others.
LIMITS = ("minutes", "epochs", "patience", "least_epochs", "checkpoint_seconds")
JOURNAL_KEYS = (
    *("words", "epoch", "learning_rate", "train_perplexity", "valid_perplexity", "test_perplexity"),
    *("valid_dense_mass", "test_dense_mass", "best"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The numbers of one run."""

    run: str
    scale: str
    kind: str
    digest: str  # of what was asked for; another one now means that the result is out of date
    corpora: dict[str, str] = field(default_factory=dict)
    """The corpora it drew on: the paper's name, and that of what was taken for it."""
    valid: float | None = None
    test: float | None = None
    dense_mass: dict[str, float] = field(default_factory=dict)  # mean weight on the dense columns, by text
    by_frequency: dict[str, dict[str, float]] = field(default_factory=dict)
    """Perplexity and predictions of the test words seen at most so often (`all`: all)."""
    values: dict[str, float] = field(default_factory=dict)  # sizes, speeds, or static weights
    training: dict[str, Any] = field(default_factory=dict)
    """Of a trained run: words, epochs, seconds, why it ended, parameters."""
    journal: list[dict[str, Any]] = field(default_factory=list)
    made: dict[str, Any] = field(default_factory=dict)
    """Machine, versions, seconds, and the day (`date`), which the oldest results do not have."""

    def measure(self, name: str) -> float | None:
        """A number by the name that a row gives it; None if the run has no such number."""
        table, _, key = name.partition(".")
        found = getattr(self, table)
        if isinstance(found, Mapping):
            found = found.get(key)
        if isinstance(found, Mapping):
            found = found.get("perplexity")
        return None if found is None else float(found)


class Results:
    """The results that are there, in a folder."""

    def __init__(self, folder: Path, corpora: Corpora) -> None:
        self.folder, self.corpora = folder, corpora
        self._digests: dict[tuple[str, int, bool], str] = {}

    def path(self, run: RunEntry) -> Path:
        """The file of a run's result; its name says which corpora it drew on."""
        return self.folder / f"{self.mark(run)}.json"

    def mark(self, run: RunEntry) -> str:
        """The run, its corpora and its seed if that is not the first, as a file name."""
        seed = "" if run.seed == 1 else f"{SEED}{run.seed}"
        return f"{run.name}@{'+'.join(self.corpora.names(run.name))}{seed}"

    def find(self, run: RunEntry) -> RunResult | None:
        """The result of a run; None if there is none or if it is of other settings."""
        found = self.read(run)
        return found if found is not None and found.digest == self.digest(run) else None

    def of_seeds(self, run: RunEntry) -> dict[int, RunResult]:
        """The results of a run from every seed that was tried, by seed."""
        paths = self.folder.glob(f"{glob.escape(self.mark(run) + SEED)}*.json")
        numbers = [path.stem.rpartition(SEED)[2] for path in paths]
        seeds = (1, *sorted(int(number) for number in numbers if number.isdigit()))
        found = {seed: self.find(run.with_seed(seed)) for seed in seeds}
        return {seed: result for seed, result in found.items() if result is not None}

    def read(self, run: RunEntry) -> RunResult | None:
        """The result of a run, also one of earlier settings."""
        path = self.path(run)
        if not path.is_file():
            return None
        try:
            return RunResult(**json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise InputError(f"this is not the result of a run: {error}. Delete it to run again.", path=path) from None

    def write(self, run: RunEntry, result: RunResult) -> Path:
        path = self.path(run)
        path.parent.mkdir(parents=True, exist_ok=True)
        entries = {name: value for name, value in dataclasses.asdict(result).items() if value not in (None, {}, [])}
        with new_file(path) as place:
            journal = entries.pop("journal", [])
            text = json.dumps(entries, indent=1, ensure_ascii=False, allow_nan=False)
            if journal:  # one line for each of its lines
                lines = ",\n  ".join(json.dumps(line, allow_nan=False) for line in journal)
                text = f'{text[:-2]},\n "journal": [\n  {lines}\n ]\n}}'
            place.write_text(f"{text}\n", encoding="utf-8")
        return path

    def digest(self, run: RunEntry, *, limits: bool = True) -> str:
        """Of everything that a run is asked to do; without limits, of what it must have begun with to go on."""
        key = (run.name, run.seed, limits)
        if key not in self._digests:
            asked = json.dumps(self._asked(run, limits), sort_keys=True)
            self._digests[key] = hashlib.sha256(asked.encode()).hexdigest()[:16]
        return self._digests[key]

    def _asked(self, run: RunEntry, limits: bool) -> dict[str, Any]:
        recipes = self.corpora.recipes
        table: Table = merged(find_table(run.preset), run.settings) if run.preset else run.settings
        if not limits:
            # A learning rate that falls to the end of the run depends on where that is.
            falls = table.get("optimiser", {}).get("schedule") == "cosine"
            free = tuple(limit for limit in LIMITS if not (falls and limit == "epochs"))
            schedule = {key: value for key, value in table.get("schedule", {}).items() if key not in free}
            table = {**table, "schedule": schedule}
        texts = _made_of(run.texts, recipes.texts)
        return {
            "kind": run.kind, "corpora": self.corpora.names(run.name), "text": run.text,
            "texts": [texts[name].stated() for name in sorted(texts)], "columns": run.columns,
            "smoothing": run.smoothing, "settings": table,
            "members": [self.digest(recipes.runs[name], limits=limits) for name in run.members],
        }  # fmt: skip


def _made_of(names: Iterable[str], texts: Mapping[str, TextEntry]) -> dict[str, TextEntry]:
    """Those of the names that are texts, with the texts that they are made of."""
    found: dict[str, TextEntry] = {}
    for name in names:
        if name in texts:
            found |= {name: texts[name], **_made_of(texts[name].of, texts)}
    return found


def days(results: Iterable[RunResult]) -> str:
    """The first and the last day on which results were made; "" if no day was recorded."""
    dates = {str(result.made.get("date", "")) for result in results}
    if not (known := sorted(dates - {""})):
        return ""
    span = " to ".join(dict.fromkeys((known[0], known[-1])))
    return f"{span} and days not recorded" if "" in dates else span


def rounded(value: Any) -> Any:
    """A number in as many digits as are kept; null for what JSON cannot hold."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
