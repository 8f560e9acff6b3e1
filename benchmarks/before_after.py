"""Two versions of modlm in turns: processor seconds and peak memory of what people do with it, as ratios.

    python benchmarks/before_after.py BEFORE AFTER --ptb TRAIN TEST

Both are checkouts, each with its own `src` and its own `benchmarks/infer.py`, `train.py` and `rows.py`, from which the
models and runs come; this Python and its packages serve both. One thread each. A process of each version prepares all
tasks, tries each once and then does it when told to, before, after, before, after; commands are run as a whole. The
verdict is "no" where the second is slower or larger by more than 3 %, both by the best round and by the median.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

BAR = 1.03
NETS = ("FF-interpolated, C", "LSTM-interpolated, CR", "hybrid", "plain LSTM")
TASKS = ("fit", "score", "perplexity", "score_batch", "batches", "training step", "rows of 10 folds", *NETS)
RUN = "--kind hybrid --net lstm --hidden 100 --epochs 1 --seed 1 --threads 1".split()


# ---- in a process of one version -------------------------------------------------------------------------------------


def prepared(asked: argparse.Namespace) -> dict[str, Callable[[], Any]]:
    """What does each task, from the modules of this version."""
    from infer import models
    from modlm.model.ngram_lm import NgramLM
    from modlm.text.corpus import Corpus
    from rows import ten_folds
    from train import HYBRID, configured, trainer_of, updates

    train, lines = Corpus.from_text(asked.ptb[0]), asked.ptb[1].read_text(encoding="utf-8").splitlines()
    test = Corpus.from_text(asked.ptb[1], train.vocabulary)
    lm, config = NgramLM.fit(train, 5), configured(HYBRID, asked)
    trainer = trainer_of(config, asked.work)
    source = trainer.train if hasattr(trainer, "train") else trainer.texts.train
    tasks = {
        "fit": partial(NgramLM.fit, train, 5),
        "score": partial(lm.word_probs, np.tile(test.ids, 5)),
        "perplexity": partial(lm.perplexity, asked.ptb[1]),
        "score_batch": partial(lm.score_batch, lines * 5),
        "batches": lambda: [source.batch(number).words for number in range(len(source))],
        "training step": partial(updates, trainer, asked.batches),
        "rows of 10 folds": partial(ten_folds, config, train),
    }
    nets = models(train, asked.hidden) if {*NETS} & {*asked.only} else {}
    return {name: task for name, task in tasks.items() if name in asked.only} | {
        name: partial(nets[name].perplexity, test) for name in NETS if name in asked.only
    }


def serve(asked: argparse.Namespace) -> None:
    """Do the task that each line names, and print its processor seconds."""
    tasks = prepared(asked)
    for task in tasks.values():
        task()  # kernels are compiled and loaded, caches are warm
    gc.disable()
    print(flush=True)
    for name in sys.stdin:
        gc.collect()
        begun = time.process_time()
        result = tasks[name.rstrip("\n")]()
        print(time.process_time() - begun, flush=True)
        del result


# ---- both versions ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Pair:
    """The numbers of each round, before and after."""

    what: str
    unit: str
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> tuple[float, float]:
        """After over before: of the best rounds, and the median over rounds."""
        return min(self.after) / min(self.before), statistics.median(
            after / before for before, after in zip(self.before, self.after, strict=True)
        )

    def row(self) -> str:
        """A line of the table."""
        scale = 2**20 if self.unit == "MB" else 1
        best, median = self.ratios
        numbers = f"{min(self.before) / scale:.4g} | {min(self.after) / scale:.4g} | {best:.3f} | {median:.3f}"
        verdict = "**no**" if min(best, median) > BAR else "yes"
        return f"| {self.what} | {self.unit} | {numbers} | {len(self.after)} | {verdict} |"


def environment(tree: Path, asked: argparse.Namespace) -> dict[str, str]:
    """One version's modules, and nothing of the other's compiled code."""
    paths = os.pathsep.join(str(tree / part) for part in ("src", "benchmarks"))
    own = {name: str(asked.work / f"{tree.name}-{name}") for name in ("NUMBA_CACHE_DIR", "MODLM_CACHE")}
    one = dict.fromkeys(("MODLM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return os.environ | own | one | {"PYTHONPATH": paths, "MODLM_PROGRESS": "0", "PYTHONHASHSEED": "0"}


@contextmanager
def served(tree: Path, asked: argparse.Namespace) -> Iterator[Callable[[str], float]]:
    """What does a task once in a process of a version and says how long it took."""
    words = [sys.executable, "-P", __file__, tree, tree, "--serve", "--ptb", *asked.ptb, "--work", asked.work]
    words += ["--hidden", asked.hidden, "--batches", asked.batches, "--only", *asked.only]
    pipe = subprocess.PIPE
    with subprocess.Popen([*map(str, words)], stdin=pipe, stdout=pipe, text=True, env=environment(tree, asked)) as own:
        assert own.stdin is not None and own.stdout is not None

        def run(name: str) -> float:
            if name:
                print(name, file=own.stdin, flush=True)
            if not (line := own.stdout.readline()):
                raise SystemExit(f"the process of {tree} ended, with {name or 'preparing'}")
            return float(line.strip() or 0)

        yield run


def commands(asked: argparse.Namespace, tree: Path) -> dict[str, list[str]]:
    """Whole commands."""
    train, test = map(str, asked.ptb)
    model = f"{tree.name}-model"
    return {
        "modlm ngram": ["ngram", train, "-o", model, "--force"],
        "modlm --help": ["--help"],
        "modlm next": ["next", model, "the company said"],
        "modlm eval": ["eval", model, test],
        "modlm train": ["train", "--text", test, "--valid", test, "-o", f"{tree.name}-{time.time_ns()}", *RUN],
    }


def whole_commands(asked: argparse.Namespace, trees: Sequence[Path]) -> Iterator[Pair]:
    """Processor seconds and peak memory of each command."""
    from side_by_side.processes import Shell

    shells = [Shell(asked.work) for _ in trees]

    def run(name: str, place: int) -> tuple[float, float]:
        os.environ |= environment(trees[place], asked)
        done = shells[place].run([sys.executable, "-m", "modlm", *commands(asked, trees[place])[name]])
        return done.cpu_seconds, float(done.peak_bytes)

    for name in commands(asked, trees[0]):
        if name not in asked.only:
            continue
        for place in (0, 1):
            run(name, place)
        times, peaks = Pair(name, "s"), Pair(f"{name}, peak", "MB")
        for _ in range(asked.rounds):
            for place, parts in enumerate(((times.before, peaks.before), (times.after, peaks.after))):
                for part, number in zip(parts, run(name, place), strict=True):
                    part.append(number)
        yield from (times, peaks)


def in_processes(asked: argparse.Namespace, trees: Sequence[Path]) -> list[Pair]:
    """Processor seconds of each task."""
    pairs = [Pair(name, "s") for name in TASKS if name in asked.only]
    with ExitStack() as stack:
        runs = [stack.enter_context(served(tree, asked)) for tree in trees] if pairs else []
        for run in runs:
            run("")  # both prepare at the same time
        begun = time.monotonic()
        for _ in range(asked.rounds):
            if time.monotonic() - begun > asked.seconds:
                break
            for pair in pairs:
                for run, numbers in zip(runs, (pair.before, pair.after), strict=True):
                    numbers.append(run(pair.what))
    return pairs


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description="Two versions in turns, as ratios.")
    parser.add_argument("trees", nargs=2, type=Path, metavar="TREE", help="the checkouts, before and after")
    parser.add_argument("--ptb", nargs=2, type=Path, required=True, metavar=("TRAIN", "TEST"), help="plain texts")
    parser.add_argument("--only", nargs="+", default=None, metavar="NAME", help="some tasks and commands")
    parser.add_argument("--rounds", type=int, default=7, metavar="N")
    parser.add_argument(
        "--seconds", type=float, default=3600, metavar="N", help="begin no round of tasks after so many"
    )
    parser.add_argument("--hidden", type=int, default=200, metavar="N", help="units of a layer")
    parser.add_argument("--batches", type=int, default=10, metavar="N", help="updates in a round of training")
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="keep models and compiled code there")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    asked.trees, asked.ptb = ([Path(path).resolve() for path in paths] for paths in (asked.trees, asked.ptb))
    with ExitStack() as stack:
        if asked.work is None:
            asked.work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="modlm-bench-")))
        if asked.serve:
            serve(asked)
            return
        asked.work = asked.work.resolve()
        asked.work.mkdir(exist_ok=True)
        asked.only = asked.only or [*TASKS, *commands(asked, asked.trees[0])]
        print("| what | unit | before, best | after, best | best / best | median ratio | rounds | at most 1.03 |")
        print("|---|---|--:|--:|--:|--:|--:|---|")
        for pairs in (in_processes, whole_commands):
            for pair in pairs(asked, asked.trees):
                print(pair.row(), flush=True)


if __name__ == "__main__":
    main()
