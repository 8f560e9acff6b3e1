"""kill -9 at random moments of everything that writes: the old output or the new one, and the next run is as ever.

Each try kills a child, by the clock or right before some event of its files. Then what stands under the final name must
be the old output, the new one or, where there was none, nothing; and the same command run again must succeed, give the
bytes that an undisturbed run gives, and leave nothing else behind, neither beside the output nor among temporary files.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.counts.spark_here import QUICK
from tests.faults.outcome import Outcome, Row
from tests.faults.processes import contents, events_of, finished, killed, moment

import modlm
from modlm.cli.app import run as run_command
from modlm.counts import disk
from modlm.counts.spark.session import pyspark_sql
from tiny_runs import tiny_config, write_texts

CLOCKED = ("timings.jsonl", "result.json", "card.md")
"""Files of a run in which times stand, or that hold one that does; the model's manifest lists card.md."""


@dataclass(frozen=True)
class Work:
    """Something that writes: the arguments of `modlm`, and what it writes."""

    arguments: tuple[str, ...]
    output: str


def prepare(folder: Path) -> dict[str, Work]:
    """Texts and models to work on, and what to do with them; relative to the folder."""
    rng = random.Random(0)
    words = [f"w{int(rng.paretovariate(0.6)) % 700}" for _ in range(12_000)]
    (folder / "text").write_text("\n".join(" ".join(words[i : i + 12]) for i in range(0, len(words), 12)) + "\n")
    (folder / "other").write_text("\n".join(" ".join(words[i : i + 7]) for i in range(0, 3000, 7)) + "\n")
    disk.LEAST_BLOCK = 2000  # several runs to merge even of a small text
    made = [
        ("ngram", "text", "-o", "model", "--order", "4", "--counts", "counts"),
        ("ngram", "other", "-o", "old-model", "--order", "3", "--counts", "old-counts"),
        ("convert", "old-model", "old.arpa"),
        ("convert", "model", "model.arpa"),
    ]
    for arguments in made:
        assert run_command(list(arguments)) == 0, arguments
    ngram = ("ngram", "text", "--order", "4", "--force", "-o")
    return {
        "count-memory": Work((*ngram, "out", "--counts", "out-counts"), "out-counts"),
        "count-disk": Work((*ngram, "out", "--counts", "out-counts", "--memory", "1MB"), "out-counts"),
        "count-spark": Work(
            (
                "count",
                "text",
                "-o",
                "out-counts",
                "--order",
                "4",
                "--force",
                "--master",
                "local[1]",
                *quick_spark(folder),
            ),
            "out-counts",
        ),
        "save": Work((*ngram, "out"), "out"),
        "convert": Work(("convert", "model", "out.arpa", "--force"), "out.arpa"),
        "convert-folder": Work(("convert", "model.arpa", "out", "--force"), "out"),
        "prune": Work(("ngram", "counts", "-o", "out", "--prune-entropy", "1e-7", "--force"), "out"),
    }


READING, WRITING = "-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit"  # Java begins sooner when it kept what it loaded


def quick_spark(folder: Path) -> tuple[str, ...]:
    """Settings with which Spark begins quickly and does little."""
    java = f"{QUICK['spark.driver.extraJavaOptions']} {READING}={folder / 'classes.jsa'}"
    conf = QUICK | {"spark.driver.extraJavaOptions": java}
    return tuple(word for name, value in conf.items() for word in ("--conf", f"{name}={value}"))


FOREIGN = ("count-spark",)
"""Kinds that start processes of their own, which a parent must not share with its children."""
OLD = {"out": "old-model", "out-counts": "old-counts", "out.arpa": "old.arpa"}


def put_old(folder: Path, there: bool) -> None:
    """The outputs of an earlier run, or none."""
    for target, old in OLD.items():
        path = folder / target
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        if there:
            (shutil.copytree if (folder / old).is_dir() else shutil.copy)(folder / old, path)


def in_folder(folder: Path, work: Callable[[], object]) -> object:
    os.chdir(folder)

    tempfile.tempdir = str(folder / "temporary")  # Python would try it out by writing to it
    return work()


def try_command(kind: str, tries: int) -> Outcome:
    """Kill one kind of command again and again."""
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        folder = Path(name)
        (folder / "temporary").mkdir()
        here = Path.cwd()
        try:
            os.chdir(folder)
            work = prepare(folder)[kind]
            if kind not in FOREIGN:
                assert run_command(list(work.arguments)) == 0  # compiles, so that children need not
            else:
                pyspark_sql()  # loads Spark, but not Java, which children could not share
        finally:
            os.chdir(here)
        do = partial(in_folder, folder, partial(run_command, list(work.arguments)))
        if kind in FOREIGN:
            first = [word.replace(READING, WRITING) for word in work.arguments]
            code, said = finished(partial(in_folder, folder, partial(run_command, first)), folder / "said")
            assert code == 0, said
        target, outcome, rng = folder / work.output, Outcome(), random.Random(kind)
        put_old(folder, True)
        old = contents(target)
        begun = time.monotonic()
        code, said = finished(do, folder / "said")
        assert code == 0, said
        seconds, new = time.monotonic() - begun, contents(target)
        assert old != new and new
        events = events_of(do)
        outcome.figures |= {"seconds": round(seconds, 2), "file_events": events}
        put_old(folder, False)
        finished(do, folder / "said")
        names = {path.name for path in folder.iterdir()} | set(OLD)
        while outcome.tried < tries:
            there = rng.random() < 0.5
            put_old(folder, there)
            at = moment(rng, events, seconds)
            if not killed(do, **at):  # type: ignore[arg-type]
                continue  # it had ended before
            outcome.count("before_a_file_event" if "at_event" in at else "by_the_clock")
            found = contents(target)
            fault = None if found == new or found == (old if there else {}) else f"{len(found)} files that are neither"
            code, said = finished(do, folder / "said")
            if fault is None and (code != 0 or contents(target) != new):
                fault = f"run again: exit code {code}, {said[-300:]}"
            left = sorted({path.name for path in folder.iterdir()} - names)
            left += [path.name for path in (folder / "temporary").iterdir()]
            outcome.check(f"{kind} {outcome.tried} {at}", fault or (f"left behind: {left}" if left else None))
        return outcome


def try_training(tries: int) -> Outcome:
    """Kill runs and go on with them until they end; a run counts once, its kills are counted too."""
    from modlm.training.run import train

    outcome, rng = Outcome(), random.Random("train")
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        folder = Path(name)
        os.environ |= {"MODLM_CACHE": str(folder / "cache"), "MODLM_THREADS": "1"}
        write_texts(folder)
        config = tiny_config(folder, kind="hybrid", schedule__checkpoint_seconds=0.0, schedule__epochs=4)

        def do(run: Path) -> None:
            train(config, run, resume=True, device="cpu")

        for _ in range(2):  # the first one may compile
            shutil.rmtree(folder / "whole", ignore_errors=True)
            shutil.rmtree(folder / "cache", ignore_errors=True)
            begun = time.monotonic()
            code, said = finished(partial(do, folder / "whole"), folder / "said")
            assert code == 0, said
            seconds = time.monotonic() - begun
        shutil.rmtree(folder / "cache")
        events = events_of(partial(_again, do, folder))
        outcome.figures |= {"seconds": round(seconds, 2), "file_events": events}
        whole = run_contents(folder / "whole")
        while outcome.tried < tries:
            run = folder / "run"
            for place in (run, folder / "cache"):
                shutil.rmtree(place, ignore_errors=True)
            kills, fault = rng.randint(1, 4), None
            for _ in range(min(kills, tries - outcome.tried)):
                at = moment(rng, events, seconds)
                if not killed(partial(do, run), **at):  # type: ignore[arg-type]
                    break  # it had ended before
                outcome.count("before_a_file_event" if "at_event" in at else "by_the_clock")
                outcome.check("train", _unsound_model(run))
            code, said = finished(partial(do, run), folder / "said")
            if code != 0 or run_contents(run) != whole:
                fault = f"exit code {code}, differs in {_differing(run_contents(run), whole)}, {said[-300:]}"
            left = [path for place in (run, folder / "cache") for path in place.rglob(".*")]
            fault = fault or (f"left behind: {left}" if left else None)
            outcome.count("resumed_to_the_end")
            if fault:
                outcome.check("train, in the end", fault)
    return outcome


def _again(do: Callable[[Path], None], folder: Path) -> None:
    shutil.rmtree(folder / "run", ignore_errors=True)
    do(folder / "run")


def _unsound_model(run: Path) -> str | None:
    """What is wrong with the model of a run that was killed, if there is one."""
    if not (run / "model").exists():
        return None
    try:
        modlm.load(run, verify="full")
    except modlm.ModlmError as error:
        return str(error)
    return None


def run_contents(run: Path) -> dict[str, str]:
    """All of a run that does not depend on the clock."""
    found = contents(run, without=CLOCKED)
    found.pop("model/model.json", None)
    return {name: found[name] for name in found if not name.startswith("checkpoints/")}


def _differing(one: dict[str, str], other: dict[str, str]) -> list[str]:
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))


COMMANDS = {
    "count-memory": "counting in memory",
    "count-disk": "counting on disk",
    "count-spark": "counting with Spark",
    "save": "estimating and saving a model",
    "convert": "converting a model to ARPA",
    "convert-folder": "converting ARPA to a model",
    "prune": "pruning",
}
ROWS = {
    f"kill-{kind}": Row(
        f"kill -9 while {what}", partial(try_command, kind), small=3 if kind in FOREIGN else 10, full=100, unit="kills"
    )
    for kind, what in COMMANDS.items()
} | {"kill-train": Row("kill -9 while training, then --resume", try_training, small=10, full=100, unit="kills")}
