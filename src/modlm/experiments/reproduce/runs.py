"""Where runs are done: found again, taken up or begun, one at a time; their numbers go to the results.

The folder of runs has `texts/`, with texts and vocabularies made for runs, for each scale the run folders of
`modlm train`, such as `here/ptb-hybrid@ptb-1f0c5a77` (run, corpora, and a mark of the settings it began with), and in
`results/` the results of all that was made here; those that ship are in the folder of the recipes.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from modlm import __version__
from modlm.errors import ConfigError, require
from modlm.evaluation.by_frequency import perplexity_by_frequency, word_frequencies
from modlm.experiments.machine import processor
from modlm.experiments.reproduce.corpora import Corpora
from modlm.experiments.reproduce.recipe import RunEntry
from modlm.experiments.reproduce.recipe_folder import RESULTS, Recipes
from modlm.experiments.reproduce.results import JOURNAL_KEYS, Results, RunResult, rounded
from modlm.model.folder import load
from modlm.model.interpolation import interpolate
from modlm.model.language_model import LanguageModel
from modlm.model.ngram_lm import NgramLM
from modlm.text.corpus import Corpus
from modlm.text.vocabulary import Vocabulary
from modlm.training.config import RunConfig
from modlm.training.config_file import Table, find_table, merged, run_config, to_toml
from modlm.training.journal import JOURNAL, TIMINGS, Journal
from modlm.training.run_folder import CONFIG, RESULT

TEXTS = "texts"
ORDER, EDGE, EXTRA = 5, "repeat", ("uniform", "unknown")  # the paper's n-gram models
KEPT = ("words", "epochs", "evaluations", "seconds", "words_per_second", "stopped", "parameters", "device")


@dataclass(frozen=True, slots=True)
class Need:
    """A run that a table or figure still lacks."""

    run: RunEntry
    why: str
    minutes: float


@dataclass(frozen=True, slots=True)
class Found:
    """A result that there is."""

    run: RunEntry  # with its seed
    result: RunResult
    made: str  # `here`, if it is in the folder of runs too; `shipped`, if it is with the recipes only


@dataclass(eq=False)
class Runs:
    """The runs of recipes: what is there, what is missing, and the doing of it.

    The results that count are those beside the recipes, or with `rerun` only those made here. A new one is kept with
    the latter, and without `rerun` beside the recipes too. Trained runs are done from seeds 1 to `seeds`.
    """

    corpora: Corpora
    place: Path  # the folder of runs
    device: str = "auto"
    rerun: bool = False
    seeds: int = 1
    today: Callable[[], date] = date.today
    just_made: set[str] = field(default_factory=set)  # labels of runs

    def __post_init__(self) -> None:
        self.recipes: Recipes = self.corpora.recipes
        self.beside = Results(self.recipes.results, self.corpora)
        self.own = Results(self.place / RESULTS / self.recipes.scale, self.corpora)
        self.results = self.own if self.rerun else self.beside

    # ---- what is there, and what is missing -------------------------------------------------------------------------

    def found(self, name: str) -> list[Found]:
        run = self.recipes.runs[name]
        found = [(run.with_seed(seed), result) for seed, result in self.results.of_seeds(run).items()]
        return [Found(one, result, "here" if self.own.read(one) == result else "shipped") for one, result in found]

    def needs(self, names: Iterable[str]) -> list[Need]:
        """What must be run for these runs to have results, in order; members of mixtures must have their models."""
        names = set(names)
        missing = {name for name in names if self.results.find(self.recipes.runs[name]) is None}
        mixed = {member for name in missing for member in self.recipes.runs[name].members}
        runs = [
            run
            for run in self.recipes.in_order(missing)
            if self.results.find(run) is None or (run.name in mixed and not self._has_model(run))
        ]
        for seed in range(2, self.seeds + 1):
            again = [run.with_seed(seed) for name, run in self.recipes.runs.items() if name in names]
            runs += [run for run in again if run.seed == seed and self.results.find(run) is None]
        return [Need(run, self._why(run), max(0.1, run.estimate - self.minutes_done(run))) for run in runs]

    def _has_model(self, run: RunEntry) -> bool:
        """Whether a trained model is there; others are made whenever they are needed."""
        return run.kind != "train" or (self.folder(run) / "model").is_dir()

    def _why(self, run: RunEntry) -> str:
        if run.kind == "train" and (self.folder(run) / JOURNAL).is_file():
            return "goes on"
        if self.results.find(run) is not None:
            return "its model is not here"
        if self.results.read(run) is not None:
            return "its settings changed"
        return "not made here yet" if self.rerun else "missing"

    def ready(self, run: RunEntry) -> bool:
        members = [self.recipes.runs[name] for name in run.members]
        return all(self.results.find(member) and self._has_model(member) for member in members)

    def minutes_done(self, run: RunEntry) -> float:
        """How long a run that is to go on has been going."""
        try:
            lines = Journal(self.folder(run) / TIMINGS).lines() if run.kind == "train" else []
        except ValueError:  # killed while it wrote a line, which is cut off when it goes on
            return 0.0
        return float(lines[-1]["seconds"] or 0) / 60 if lines else 0.0

    def folder(self, run: RunEntry) -> Path:
        """The folder of a trained run; one with other settings has another."""
        mark = self.results.digest(run, limits=False)[:8]
        return self.place / self.recipes.scale / f"{self.results.mark(run)}-{mark}"

    # ---- doing it ---------------------------------------------------------------------------------------------------

    def carry_out(self, run: RunEntry) -> RunResult:
        """Do a run and keep its result; a trained one is taken up where it stands, and one that was done is kept."""
        result = self.own.find(run) if self._has_model(run) else None
        if result is None:
            begun = time.perf_counter()
            numbers = DOING[run.kind](self, run)
            made = {
                "machine": f"{processor()}, {os.cpu_count()} cores", "python": platform.python_version(),
                "modlm": __version__, "date": self.today().isoformat(),
                "seconds": round(time.perf_counter() - begun, 1),
            }  # fmt: skip
            drew = {role: entry.name for role, entry in self.corpora.taken(run.name).items()}
            digest, scale = self.results.digest(run), self.recipes.scale
            result = RunResult(
                run=run.name, scale=scale, kind=run.kind, digest=digest, corpora=drew, made=made, **numbers
            )
            self.own.write(run, result)
            self.just_made.add(run.label)
        if not self.rerun:
            self.beside.write(run, result)
        return result

    def config(self, run: RunEntry) -> RunConfig:
        """The configuration of a trained run: the preset, its changes, its texts, its further columns."""
        table: Table = merged(find_table(run.preset), run.settings)
        sources = self.corpora.sources(run.text or run.corpus)
        texts = {"valid": self.corpora.one(run.corpus, "valid"), "test": self.test(run)}
        table = merged(table, {name: str(path.absolute()) for name, path in texts.items()})
        table["text"] = [str(path.absolute()) for path in sources]
        if vocabulary := self.corpora.vocabulary_file(run.corpus, run.text):
            table = merged(table, {"vocabulary": {"file": str(vocabulary.absolute())}})
        first: Table = next(iter(table.get("columns", {}).values()), {})  # others are like it, or as the run says
        own = {key: value for key, value in first.items() if key != "source"}
        for name, text in run.columns.items():
            part = "counts" if text in self.recipes.corpora and self.corpora.used(text).counts else "text"
            files = self.corpora.part(text, part) if part == "counts" else self.corpora.files(text)
            made = {**own, part: tuple(str(path.absolute()) for path in files)}
            table["columns"] = {**table["columns"], name: merged(made, table["columns"].get(name, {}))}
        return run_config(table, where=run.name)

    def test(self, run: RunEntry) -> Path:
        return self.corpora.one(run.corpus, "test")

    def model(self, run: RunEntry) -> LanguageModel:
        """The model of a run: a trained one from its folder, an n-gram model made anew."""
        if run.kind == "train":
            if not self._has_model(run):
                self.carry_out(run)
            return load(self.folder(run))
        if run.kind != "ngram":
            raise ConfigError(f"The run {run.name} is of kind {run.kind}, which leaves no model to mix.")
        files = list(self.corpora.files(run.text or run.corpus))
        words = self.corpora.vocabulary_file(run.corpus, run.text)
        vocabulary = None if words is None else Vocabulary.from_file(words)
        return NgramLM.fit(files, ORDER, smoothing=run.smoothing, vocabulary=vocabulary, edge=EDGE, extra=EXTRA)

    def perplexities(self, run: RunEntry, model: LanguageModel) -> dict[str, Any]:
        """On the validation and test texts, and by frequency."""
        valid = model.perplexity(self.corpora.one(run.corpus, "valid"))
        bands = self.by_frequency(run, model)
        return {"valid": rounded(valid.perplexity), "test": bands["all"]["perplexity"], "by_frequency": bands}

    def by_frequency(self, run: RunEntry, model: LanguageModel) -> dict[str, dict[str, Any]]:
        """On the test words that occur at most so often in the training text of the corpus."""
        frequencies = word_frequencies(model, list(self.corpora.files(run.corpus)))
        return {
            str(band.as_dict()["limit"] or "all"): {
                "perplexity": rounded(band.perplexity),
                "predictions": band.predictions,
            }
            for band in perplexity_by_frequency(model, self.test(run), frequencies)
        }


# ---- the kinds of runs -----------------------------------------------------------------------------------------------


def _trained(runs: Runs, run: RunEntry) -> dict[str, Any]:
    require("torch", extra="neural", purpose="Training a net")
    from modlm.training.run import train

    config, folder = runs.config(run), runs.folder(run)
    done = (folder / RESULT).is_file() and (folder / CONFIG).read_text(encoding="utf-8") == to_toml(config)
    if not done:
        (folder / RESULT).unlink(missing_ok=True)  # of an earlier end, if it goes on with other limits
        train(config, folder, resume=folder.is_dir(), device=runs.device)
    found = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    best, lines = found["best"], Journal(folder / JOURNAL).lines()
    return {
        "by_frequency": runs.by_frequency(run, load(folder)),
        "valid": rounded(found["valid_perplexity"]),
        "test": rounded(found["test_perplexity"]),
        "dense_mass": {name: rounded(best[f"{name}_dense_mass"]) for name in ("valid", "test")},
        "training": {name: rounded(found[name]) for name in KEPT} | {"best_words": best["words"]},
        "journal": [{key: rounded(line[key]) for key in JOURNAL_KEYS if key in line} for line in lines],
    }


def _mixed(runs: Runs, run: RunEntry) -> dict[str, Any]:
    """Of trained members the models from seed 1 are taken, whatever other seeds there are results of."""
    models = {name: runs.model(runs.recipes.runs[name]) for name in run.members}
    mixed = interpolate(models, runs.corpora.one(run.corpus, "valid"))
    weights = {name: rounded(weight) for name, weight in mixed.weights.items()}
    return runs.perplexities(run, mixed.mixture) | {"values": weights}


def _sized(runs: Runs, run: RunEntry) -> dict[str, Any]:
    """Sentences and words, unknown ones too, of a text, or of every part of a corpus."""
    if run.text:
        corpus = Corpus.from_text(list(runs.corpora.files(run.text)))
        return {"values": {"sentences": corpus.sentences, "words": corpus.words}}
    values: dict[str, float] = {}
    for part in ("train", "valid", "test"):
        if files := runs.corpora.part(run.corpus, part):
            corpus = Corpus.from_text(list(files))
            values |= {f"{part} sentences": corpus.sentences, f"{part} words": corpus.words}
    return {"values": values}


def _timed(runs: Runs, run: RunEntry) -> dict[str, Any]:
    require("torch", extra="neural", purpose="Measuring nets")
    from modlm.experiments.reproduce.speed import words_per_second

    return {"values": words_per_second(runs.corpora.files(run.corpus), runs.test(run))}


DOING: dict[str, Callable[[Runs, RunEntry], dict[str, Any]]] = {
    "train": _trained, "ngram": lambda runs, run: runs.perplexities(run, runs.model(run)), "static": _mixed,
    "sizes": _sized, "speed": _timed,
}  # fmt: skip
