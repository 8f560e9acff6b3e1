"""Where runs are done: found again, taken up or begun, one at a time; their numbers go to the results.

The folder of runs has `texts/`, with texts and vocabularies made for runs, and for each scale the run folders of
`modlm train`, such as `here/ptb-hybrid@ptb-1f0c5a77`: run, corpora, and a mark of the settings it began with.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modlm import __version__
from modlm.errors import ConfigError, require
from modlm.experiments.reproduce.book import Book
from modlm.experiments.reproduce.corpora import Corpora
from modlm.experiments.reproduce.entries import RunEntry
from modlm.experiments.reproduce.results import Results, RunResult, rounded, short_journal
from modlm.training.config_file import Table, find_table, merged, run_config, to_toml
from modlm.training.journal import JOURNAL, TIMINGS, Journal

if TYPE_CHECKING:
    from modlm.model.language_model import LanguageModel
    from modlm.training.config import RunConfig

TEXTS = "texts"
ORDER, EDGE, EXTRA = 5, "repeat", ("uniform", "unknown")  # the paper's n-gram models
KEPT = ("words", "epochs", "evaluations", "seconds", "words_per_second", "stopped", "parameters", "device")

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Need:
    """A run that a table or figure still lacks."""

    run: RunEntry
    why: str
    minutes: float


class Workshop:
    """The runs of a book: what is there, what is missing, and the doing of it."""

    def __init__(self, book: Book, runs: Path, corpora: Corpora, *, device: str = "auto") -> None:
        self.book, self.runs, self.corpora, self.device = book, runs, corpora, device
        self.results = Results(book.results, corpora)

    # ---- what is missing --------------------------------------------------------------------------------------------

    def needs(self, names: Iterable[str]) -> list[Need]:
        """What must be run for these runs to have results, in order; members of mixtures must have their models."""
        missing = {name for name in names if self.results.find(self.book.runs[name]) is None}
        return [
            Need(run, self._why(run), max(0.1, run.estimate - self.minutes_done(run)))
            for run in self.book.in_order(missing)
            if self.results.find(run) is None or self._model_is_missing(run, missing)
        ]

    def _model_is_missing(self, run: RunEntry, missing: Iterable[str]) -> bool:
        wanted = any(run.name in self.book.runs[name].members for name in missing)
        return wanted and run.kind == "train" and not (self.folder(run) / "model").is_dir()

    def _why(self, run: RunEntry) -> str:
        if run.kind == "train" and (self.folder(run) / JOURNAL).is_file():
            return "goes on"
        if self.results.find(run) is not None:
            return "its model is not here"
        return "missing" if self.results.read(run) is None else "its settings changed"

    def ready(self, run: RunEntry) -> bool:
        """Whether everything that a run is made of is there."""
        members = [self.book.runs[name] for name in run.members]
        return not any(self._model_is_missing(member, [run.name]) for member in members) and all(
            self.results.find(member) for member in members
        )

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
        return self.runs / self.book.scale / f"{self.results.mark(run)}-{mark}"

    # ---- doing it ---------------------------------------------------------------------------------------------------

    def carry_out(self, run: RunEntry) -> RunResult:
        """Do a run and keep its result; a trained one is taken up where it stands."""
        begun = time.perf_counter()
        numbers = DOING[run.kind](self, run)
        result = RunResult(
            run=run.name,
            scale=self.book.scale,
            kind=run.kind,
            digest=self.results.digest(run),
            corpora={role: self.corpora.used(role).name for role in self.book.roles(run.name)},
            made={**machine(), "seconds": round(time.perf_counter() - begun, 1)},
            **numbers,
        )
        self.results.write(run, result)
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
        if run.columns:
            table = merged(table, {"columns": self._columns(run, table)})
        return run_config(table, where=run.name)

    def _columns(self, run: RunEntry, table: Table) -> Table:
        """Further n-gram blocks, of the same order, smoothing and edge as the preset's own."""
        own = next(iter(table["columns"].values()))
        files = {name: self.corpora.files(text) for name, text in run.columns.items()}
        return {name: {**own, "text": tuple(str(path.absolute()) for path in paths)} for name, paths in files.items()}

    def test(self, run: RunEntry) -> Path:
        """The test text of a run."""
        return self.corpora.one(run.corpus, "test")

    def model(self, run: RunEntry) -> LanguageModel:
        """The model of a run: a trained one from its folder, an n-gram model made anew."""
        from modlm.model.folder import load
        from modlm.model.ngram_lm import NgramLM

        if run.kind == "train":
            if not (self.folder(run) / "model").is_dir():
                self.carry_out(run)
            return load(self.folder(run))
        if run.kind != "ngram":
            raise ConfigError(f"The run {run.name} is of kind {run.kind}, which leaves no model to mix.")
        files = self.corpora.files(run.text or run.corpus)
        vocabulary = self.corpora.vocabulary(run.corpus, run.text)
        return NgramLM.fit(list(files), ORDER, smoothing=run.smoothing, vocabulary=vocabulary, edge=EDGE, extra=EXTRA)

    def perplexities(self, run: RunEntry, model: LanguageModel) -> dict[str, Any]:
        """On the validation and test texts, and by frequency."""
        valid = model.perplexity(self.corpora.one(run.corpus, "valid"))
        bands = self.by_frequency(run, model)
        return {"valid": rounded(valid.perplexity), "test": bands["all"]["perplexity"], "by_frequency": bands}

    def by_frequency(self, run: RunEntry, model: LanguageModel) -> dict[str, dict[str, Any]]:
        """On the test words that occur at most so often in the training text of the corpus."""
        from modlm.evaluation.by_frequency import perplexity_by_frequency, word_frequencies

        frequencies = word_frequencies(model, list(self.corpora.files(run.corpus)))
        return {
            str(band.as_dict()["limit"] or "all"): {
                "perplexity": rounded(band.perplexity),
                "predictions": band.predictions,
            }
            for band in perplexity_by_frequency(model, self.test(run), frequencies)
        }


# ---- the kinds of runs -----------------------------------------------------------------------------------------------


def _trained(shop: Workshop, run: RunEntry) -> dict[str, Any]:
    require("torch", extra="neural", purpose="Training a net")
    from modlm.training.run import train
    from modlm.training.run_folder import CONFIG, RESULT

    config, folder = shop.config(run), shop.folder(run)
    done = (folder / RESULT).is_file() and (folder / CONFIG).read_text(encoding="utf-8") == to_toml(config)
    if not done:
        (folder / RESULT).unlink(missing_ok=True)  # of an earlier end, if it goes on with other limits
        train(config, folder, resume=folder.is_dir(), device=shop.device)
    return collected(shop, run, folder)


def collected(shop: Workshop, run: RunEntry, folder: Path) -> dict[str, Any]:
    """The numbers of a run folder that has come to its end."""
    from modlm.model.folder import load
    from modlm.training.run_folder import RESULT

    found = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    best = found["best"]
    return {
        "by_frequency": shop.by_frequency(run, load(folder)),
        "valid": rounded(found["valid_perplexity"]),
        "test": rounded(found["test_perplexity"]),
        "dense_mass": {name: rounded(best[f"{name}_dense_mass"]) for name in ("valid", "test")},
        "training": {name: rounded(found[name]) for name in KEPT} | {"best_words": best["words"]},
        "journal": short_journal([dict(line) for line in Journal(folder / JOURNAL).lines()]),
    }


def _counted(shop: Workshop, run: RunEntry) -> dict[str, Any]:
    return shop.perplexities(run, shop.model(run))


def _mixed(shop: Workshop, run: RunEntry) -> dict[str, Any]:
    from modlm.model.interpolation import interpolate

    models = {name: shop.model(shop.book.runs[name]) for name in run.members}
    mixed = interpolate(models, shop.corpora.one(run.corpus, "valid"))
    weights = {name: rounded(weight) for name, weight in mixed.weights.items()}
    return shop.perplexities(run, mixed.mixture) | {"values": weights}


def _sized(shop: Workshop, run: RunEntry) -> dict[str, Any]:
    """Sentences and words, unknown ones too, of a text, or of every part of a corpus."""
    from modlm.text.corpus import Corpus

    if run.text:
        corpus = Corpus.from_text(list(shop.corpora.files(run.text)))
        return {"values": {"sentences": corpus.sentences, "words": corpus.words}}
    values: dict[str, float] = {}
    for part in ("train", "valid", "test"):
        if files := shop.corpora.part(run.corpus, part):
            corpus = Corpus.from_text(list(files))
            values |= {f"{part} sentences": corpus.sentences, f"{part} words": corpus.words}
    return {"values": values}


def _timed(shop: Workshop, run: RunEntry) -> dict[str, Any]:
    require("torch", extra="neural", purpose="Measuring nets")
    from modlm.experiments.reproduce.speed import words_per_second

    return {"values": words_per_second(shop.corpora.file(run.corpus), shop.test(run))}


DOING: dict[str, Callable[[Workshop, RunEntry], dict[str, Any]]] = {
    "train": _trained,
    "ngram": _counted,
    "static": _mixed,
    "sizes": _sized,
    "speed": _timed,
}


def machine() -> dict[str, Any]:
    """What a time depends on."""
    return {
        "machine": f"{_processor()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "modlm": __version__,
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
