"""The tour: n-gram families and one net of each kind on text that ships with Python, tables, predictions, a report.

In: nothing but the running Python. Out: a folder with a model of each kind (`ngram/`, and the runs `neural/`,
`interpolated/` and `hybrid/`), `report.html` and `text/` (the three parts of the text); `modlm serve` opens it whole.
The best is chosen by the perplexity of the validation part; the test part is only reported.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

from modlm import __version__
from modlm.errors import OutputError
from modlm.experiments.demo_report import COLUMNS, PRUNING, DemoResult, Trained, line, page
from modlm.experiments.demo_text import DemoText, demo_sentences
from modlm.ground.files import folder_bytes, new_folder
from modlm.model.folder import load, save
from modlm.model.interpolation import interpolate
from modlm.model.language_model import LanguageModel
from modlm.model.ngram_lm import NgramLM
from modlm.smoothing import SMOOTHERS
from modlm.text.corpus import Corpus
from modlm.training.config_file import Table, merged, run_config
from modlm.training.journal import TIMINGS

ORDER = 5
MIN_COUNT = 2  # words seen once in training are unknown, so that the models learn what unknown words do
CONTEXTS = ("return true if", "this is a", "the value of")
SENTENCE = "return true if the value is a list ."
REPEATS = 3  # of the timed scoring, unless it takes long; the fastest counts
LONG = 1.0  # seconds
WORDS = 6  # predictions for each context

# Nets small enough for two cores. Settings are the best of a few runs of each kind by the perplexity of the validation
# part; every kind was also tried with what is best for the hybrid, and the neural model has just that.
COMMON: Table = {
    "vocabulary": {"min_count": MIN_COUNT},
    "optimiser": {"learning_rate": 0.008, "schedule": "cosine"},
    "schedule": {"epochs": 2.0, "evaluate_every": 160_000, "patience": 0},
}
SMALL: Table = {"hidden": 96, "dropout": 0.1, "tied": True}
HYBRID = "hybrid, LSTM and n-grams"
NETS: dict[str, Table] = {
    "neural LM, LSTM": {"kind": "neural", "net": SMALL},
    "interpolated n-grams, LSTM": {
        "kind": "interpolated", "net": {"hidden": 48}, "optimiser": {"learning_rate": 0.003}
    },
    HYBRID: {"kind": "hybrid", "net": SMALL},
}  # fmt: skip
KINDS = {  # a model of each kind, and the folder that keeps it
    "modified-kneser-ney": "ngram", **{label: str(settings["kind"]) for label, settings in NETS.items()},
}  # fmt: skip

Say = Callable[[str], None]


def run_demo(target: Path, *, say: Say, overwrite: bool = False, text: DemoText | None = None) -> DemoResult:
    """Run everything and write the folder; `say` gets a line whenever there is something to see."""
    begun = time.perf_counter()
    earlier = all((target / name).is_file() for name in ("report.html", "text/train.txt"))
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
        for row in chain(trained(train, paths, scratch / "ngrams"), trained_nets(paths, scratch, place, say)):
            rows.append(row)
            say(line(row.cells))
            if row.label in KINDS and row.label not in NETS:
                save(row.model, place / KINDS[row.label], card=card(row))
        best = min((row for row in rows if row.label in KINDS), key=lambda row: row.valid)
        result = found(rows, best, train, paths, begun)
        for run in place.glob("*/config.toml"):  # its texts are where they stay
            run.write_text(
                run.read_text(encoding="utf-8").replace(str(place), str(target.absolute())), encoding="utf-8"
            )
        shutil.rmtree(scratch, ignore_errors=True)
        (place / "report.html").write_text(page(result), encoding="utf-8")
    return result


def found(rows: list[Trained], best: Trained, train: Corpus, paths: dict[str, Path], begun: float) -> DemoResult:
    """The table, with what the best model predicts and how the hybrid comes to its probabilities."""
    explained = next((row for row in rows if row.label == HYBRID), best)
    valid, test = (Corpus.from_text(paths[part]).words for part in ("valid", "test"))
    return DemoResult(
        rows=tuple(rows), best=best, folder=KINDS[best.label],
        predictions=tuple((context, best.model.next_words(context, WORDS)) for context in CONTEXTS),
        explained=explained, explanation=tuple(explained.model.explain(SENTENCE)), words=(train.words, valid, test),
        vocabulary=len(train.vocabulary), seconds=time.perf_counter() - begun,
    )  # fmt: skip


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


def trained_nets(paths: dict[str, Path], scratch: Path, place: Path, say: Say) -> Iterator[Trained]:
    """One net of each kind, whose runs stay without their checkpoints; none where torch is not installed."""
    if find_spec("torch") is None or find_spec("safetensors") is None:
        say("Nets need torch, which is not installed: pip install '.[neural]'")
        return
    import torch

    most = torch.get_num_threads()
    for label in NETS:
        folder = place / KINDS[label]
        yield timed(label, partial(net, label, paths, folder, scratch / "cache"), paths, scratch / "nets")
        torch.set_num_threads(most)
        shutil.rmtree(folder / "checkpoints", ignore_errors=True)


def net(label: str, paths: dict[str, Path], folder: Path, cache: Path) -> LanguageModel:
    """The model of a run in the folder, opened from there."""
    import torch

    from modlm.training.run import train

    texts = {"text": str(paths["train"].absolute()), "valid": str(paths["valid"].absolute())}
    with cache_in(cache):
        config = run_config(merged(merged(COMMON, NETS[label]), texts), where="demo")
        model = load(train(config, folder).model)
    # Scored with as many threads as the run ended with: on a busy machine several wait for each other all the time.
    ended = json.loads((folder / TIMINGS).read_text(encoding="utf-8").splitlines()[-1])
    torch.set_num_threads(int(ended["threads"]))
    return model


@contextlib.contextmanager
def cache_in(folder: Path) -> Iterator[None]:
    """Rows are kept in this folder, and so go away with the demo's other passing files."""
    before = os.environ.get("MODLM_CACHE")
    os.environ["MODLM_CACHE"] = str(folder.absolute())
    try:
        yield
    finally:
        del os.environ["MODLM_CACHE"]
        if before is not None:
            os.environ["MODLM_CACHE"] = before


def static(train: Corpus, smoothing: str, valid: Path) -> LanguageModel:
    """The orders of a family as columns, with one λ for all contexts by EM on the validation part."""
    orders = NgramLM.fit(train, ORDER, smoothing=smoothing)
    return interpolate({"orders": orders}, valid, over="orders", extra=("uniform",)).mixture


def timed(label: str, make: Callable[[], LanguageModel], paths: dict[str, Path], scratch: Path) -> Trained:
    """Train, evaluate, and weigh the folder it would be saved to."""
    begun = time.perf_counter()
    model = make()
    seconds = time.perf_counter() - begun
    valid, *tests = (model.perplexity(paths[part]) for part in ("valid", "test"))
    if tests[0].seconds < LONG:
        tests += [model.perplexity(paths["test"]) for _ in range(1, REPEATS)]
    speed = max(test.words_per_second for test in tests)
    save(model, scratch, overwrite=True)
    return Trained(label, model, seconds, valid.perplexity, tests[0].perplexity, speed, folder_bytes(scratch))


def card(row: Trained) -> str:
    return (
        f"# {row.label}, from the demo\n\n"
        f"- Trained on the docstrings, comments and language reference of Python {platform.python_version()}\n"
        f"- Perplexity: {row.valid:.2f} on the validation part, {row.test:.2f} on the test part\n\n"
        f"Made by modlm {__version__}: modlm demo\n"
    )
