"""The tour: n-gram families and one net of each kind on text that Python carries, tables, predictions, a report.

In: nothing but the running Python. Out: a folder with `model/` (the best model), `report.html` and `text/` (the three
parts of the text). Models are chosen by the perplexity of the validation part; the test part is only reported.
"""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from modlm import __version__
from modlm.arrays import threads
from modlm.errors import OutputError
from modlm.experiments.charts import Point
from modlm.experiments.demo_nets import HYBRID, NETS, nets_can_be_trained, trained_net
from modlm.experiments.demo_text import DemoText, demo_sentences
from modlm.experiments.machine import processor
from modlm.experiments.report import Report, Table, write_report
from modlm.files import folder_bytes, new_folder
from modlm.model.folder import save
from modlm.model.interpolation import interpolate
from modlm.model.language_model import Explanation, LanguageModel, Prediction
from modlm.model.ngram_lm import NgramLM
from modlm.progress import short
from modlm.smoothing import SMOOTHERS
from modlm.text.corpus import Corpus

ORDER = 5
MIN_COUNT = 2  # words seen once in training are unknown, so that the models learn what unknown words do
PRUNING = 1e-7  # relative rise in perplexity for which an n-gram goes
CONTEXTS = ("return true if", "this is a", "the value of")
SENTENCE = "return true if the value is a list ."
KNESER_NEY = "modified-kneser-ney"
REPEATS = 3  # of the timed scoring; the fastest counts
WORDS = 6  # predictions for each context
INFINITE = 1e9  # perplexities from here on are shown as such

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Trained:
    """A model and its row of the table."""

    label: str
    model: LanguageModel
    seconds: float
    """Training: counting, smoothing and compiling (and tuning, for a static mixture)."""
    valid: float
    """Perplexity."""
    test: float
    words_per_second: float
    """Scoring the test part, reading and encoding included."""
    bytes: int
    """Of the model folder."""


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What the demo found; `best` is by validation perplexity."""

    rows: tuple[Trained, ...]
    best: Trained
    predictions: tuple[tuple[str, list[Prediction]], ...]
    explained: Trained
    """The hybrid, or the best where nets cannot be trained."""
    explanation: tuple[Explanation, ...]
    """Of SENTENCE."""
    words: tuple[int, int, int]
    """In the train, valid and test parts."""
    vocabulary: int
    seconds: float

    @property
    def kinds(self) -> tuple[Trained, ...]:
        """One model of each kind: Kneser-Ney n-grams, and the nets."""
        return tuple(row for row in self.rows if row.label in (KNESER_NEY, *NETS))


def run_demo(target: Path, *, say: Say, overwrite: bool = False, text: DemoText | None = None) -> DemoResult:
    """Run everything and write the folder; `say` gets a line whenever there is something to see."""
    begun = time.perf_counter()
    earlier = all((target / name).is_file() for name in ("model/model.json", "report.html", "text/train.txt"))
    if target.exists() and not overwrite and not earlier:
        raise OutputError(
            f"{target} exists and is no earlier demo. Choose another folder with -o, or overwrite it with --force."
        )
    with new_folder(target, overwrite=True) as place:
        say("Collecting text from the language reference and the standard library ...")
        paths = (text or demo_sentences()).write(place / "text")
        train = Corpus.from_text(paths["train"], min_count=MIN_COUNT)
        say(f"{train.words:,} words to train on, {len(train.vocabulary):,} of them different. Compiling kernels ...")
        warm_up()
        scratch = place / "scratch"
        say(line(COLUMNS))
        rows = []
        for row in chain(trained(train, paths, scratch / "ngrams"), trained_nets(paths, scratch, say)):
            rows.append(row)
            say(line(cells(row)))
        best = min(rows, key=lambda row: row.valid)
        save(best.model, place / "model", card=card(best))
        result = found(rows, best, train, paths, begun)
        shutil.rmtree(scratch, ignore_errors=True)
        write_report(report(result), place / "report.html")
    return result


def found(rows: list[Trained], best: Trained, train: Corpus, paths: dict[str, Path], begun: float) -> DemoResult:
    """The table, with what the best model predicts and how the hybrid comes to its probabilities."""
    explained = next((row for row in rows if row.label == HYBRID), best)
    valid, test = (Corpus.from_text(paths[part]).words for part in ("valid", "test"))
    return DemoResult(
        rows=tuple(rows),
        best=best,
        predictions=tuple((context, best.model.next_words(context, WORDS)) for context in CONTEXTS),
        explained=explained,
        explanation=tuple(explained.model.explain(SENTENCE)),
        words=(train.words, valid, test),
        vocabulary=len(train.vocabulary),
        seconds=time.perf_counter() - begun,
    )


def warm_up() -> None:
    """Compile and load all kernels, so that times are about models."""
    sentences = ["a b a c", "b a", "a"] * 4
    corpus = Corpus.from_text(sentences)
    for smoothing in ("modified-kneser-ney", "good-turing"):
        model = NgramLM.fit(corpus, 3, smoothing=smoothing)
        model.perplexity(sentences)
    interpolate({"orders": model}, corpus, over="orders", extra=("uniform",)).mixture.perplexity(sentences)
    model.pruned(PRUNING).next_words("a", 1)


def trained(train: Corpus, paths: dict[str, Path], scratch: Path) -> Iterator[Trained]:
    """Every family, then what a lower order, pruning and static weights change."""
    for smoothing in SMOOTHERS:
        yield timed(smoothing, partial(NgramLM.fit, train, ORDER, smoothing=smoothing), paths, scratch)
    yield timed("modified-kneser-ney, order 3", partial(NgramLM.fit, train, 3), paths, scratch)
    pruned = partial(NgramLM.fit, train, ORDER, prune_entropy=PRUNING)
    yield timed("modified-kneser-ney, pruned", pruned, paths, scratch)
    for smoothing in ("maximum-likelihood", "modified-kneser-ney"):
        yield timed(f"{smoothing}, static λ", partial(static, train, smoothing, paths["valid"]), paths, scratch)


def trained_nets(paths: dict[str, Path], scratch: Path, say: Say) -> Iterator[Trained]:
    """One net of each kind; none where torch is not installed."""
    if not nets_can_be_trained():
        say("Nets need torch, which is not installed: pip install 'modlm[neural]'")
        return
    for number, label in enumerate(NETS):
        make = partial(trained_net, label, paths, scratch / f"run-{number}", min_count=MIN_COUNT)
        yield timed(label, make, paths, scratch / "nets")


def static(train: Corpus, smoothing: str, valid: Path) -> LanguageModel:
    """The orders of a family as columns, with one λ for all contexts by EM on the validation part."""
    orders = NgramLM.fit(train, ORDER, smoothing=smoothing)
    return interpolate({"orders": orders}, valid, over="orders", extra=("uniform",)).mixture


def timed(label: str, make: Callable[[], LanguageModel], paths: dict[str, Path], scratch: Path) -> Trained:
    """Train, evaluate, and weigh the folder it would be saved to."""
    begun = time.perf_counter()
    model = make()
    seconds = time.perf_counter() - begun
    valid, *tests = (model.perplexity(paths[part]) for part in ("valid", *("test",) * REPEATS))
    speed = max(test.words_per_second for test in tests)
    save(model, scratch, overwrite=True)
    return Trained(label, model, seconds, valid.perplexity, tests[0].perplexity, speed, folder_bytes(scratch))


def card(best: Trained) -> str:
    """The model's card."""
    return (
        f"# {best.label}, from the demo\n\n"
        f"- Trained on the docstrings, comments and language reference of Python {platform.python_version()}\n"
        f"- Perplexity: {best.valid:.2f} on the validation part, by which it was chosen; {best.test:.2f} on the test "
        f"part\n\n"
        f"Made by modlm {__version__}: modlm demo\n"
    )


# ---- what people see -------------------------------------------------------------------------------------------------

COLUMNS = ("model", "valid", "test", "words/s", "size", "training")
NOTE = (
    "N-grams have order 5 unless it says otherwise. words/s is scoring the test part from its file; training is "
    "counting, smoothing and compiling, and for nets all of the run with its evaluations. Maximum likelihood gives "
    "unseen words after seen contexts no probability at all, so its perplexity is infinite; with static λ it is a "
    "proper model. Static λ is tuned by EM on the validation part, so its valid column flatters it a little; so do the "
    "nets', whose best evaluation was chosen by it. Pruned: without the n-grams whose loss changes perplexity by less "
    f"than {PRUNING:g}, relatively."
)


def cells(row: Trained) -> tuple[str, ...]:
    """A row of the table as text."""
    return (
        row.label,
        shown(row.valid),
        shown(row.test),
        short(row.words_per_second),
        f"{row.bytes / 1e6:.1f} MB",
        f"{row.seconds:.2f} s",
    )


def shown(perplexity: float) -> str:
    """A perplexity; a model that gives some word of the text no probability has an infinite one."""
    return f"{perplexity:,.1f}" if perplexity < INFINITE else "∞"


def line(cells: tuple[str, ...]) -> str:
    """A line of the printed table."""
    return f"{cells[0]:<35}" + "".join(f"{cell:>11}" for cell in cells[1:])


def report(result: DemoResult) -> Report:
    """The page."""
    best = result.best
    train, valid, test = (f"{count:,}" for count in result.words)
    return Report(
        title="modlm: n-grams, nets and hybrids on the text that Python carries",
        paragraphs=(
            f"The language reference, docstrings and comments of Python {platform.python_version()}: {train} words to "
            f"train on, {valid} to choose by, {test} to report. The parts come from different documents. "
            f"{result.vocabulary:,} words are known; words seen once in training count as unknown.",
            f"Best on the validation part, and so the model that was saved: {best.label}, with a test perplexity of "
            f"{shown(best.test)}. Perplexity counts every word and one end for each sentence; lower is better.",
        ),
        table=Table(
            title="Perplexity, speed and size", columns=COLUMNS, rows=tuple(cells(row) for row in result.rows),
            note=NOTE, best=result.rows.index(best),
        ),
        models=tuple(
            Point(row.label, row.bytes / 1e6, row.test, shown(row.test)) for row in result.rows if row.test < INFINITE
        ),
        predictions=result.predictions,
        explanation=explanation_table(result),
        closing=f"modlm {__version__}, Python {platform.python_version()}, {processor()}, {threads()} threads. "
        f'The whole demo took {result.seconds:.0f} seconds. In this folder, try: modlm next model "{CONTEXTS[0]}"',
    )  # fmt: skip


def explanation_table(result: DemoResult) -> Table:
    """For each word of a sentence its probability, and the share of each column in it."""
    names = tuple(result.explanation[0].shares)
    return Table(
        columns=("word", "probability", *names),
        rows=tuple(
            (step.word, f"{step.probability:.4f}", *(f"{step.shares[name]:.0%}" for name in names))
            for step in result.explanation
        ),
        title=f"Where the probabilities of a sentence come from: {result.explained.label}",
        note="The share of a column is λ_k P_k / p: its part of the word's probability.",
    )
