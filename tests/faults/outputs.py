"""Places that cannot be written to, texts that change while they are read, clocks that jump, and two writers at once.

Commands are those of `kills`. A failed one must end with code 1 and one line that says why, leave the old output as it
was, and nothing else; what succeeds must give the bytes that it always gives.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from tests.faults.kills import FOREIGN, Work, in_folder, prepare, put_old, run_contents
from tests.faults.outcome import Outcome, Row
from tests.faults.processes import contents, finished, forked

from modlm.cli.app import run as run_command
from modlm.model import ngram_training
from modlm.text import sources
from tiny_runs import tiny_config, write_texts

NOBODY = 65534


@contextmanager
def workshop(*, size: str = "", read_only: bool = False) -> Iterator[tuple[Path, Path, dict[str, Work]]]:
    """A folder with things to work on, the folder for outputs in it (a file system of its own if it has a size)."""
    with tempfile.TemporaryDirectory(prefix="outputs-") as name:
        folder, here = Path(name), Path.cwd()
        folder.chmod(0o755)
        place = folder / "place"
        place.mkdir()
        (folder / "temporary").mkdir()
        try:
            os.chdir(folder)
            works = {kind: work for kind, work in prepare(folder).items() if kind not in FOREIGN}
        finally:
            os.chdir(here)
        mounted = bool(size) and _mounted(place, size)
        try:
            yield folder, place, works
        finally:
            if mounted:
                subprocess.run(["umount", str(place)], check=False)


def _mounted(place: Path, size: str) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    return os.geteuid() == 0 and subprocess.run(command, check=False, capture_output=True).returncode == 0


def moved(work: Work, place: Path) -> Work:
    """The same work with its outputs in another place."""
    outputs = {"out", "out-counts", "out.arpa"}
    arguments = tuple(str(place / part) if part in outputs else part for part in work.arguments)
    return Work(arguments, str(place / work.output))


def do(folder: Path, work: Work, before: Callable[[], object] = lambda: None) -> tuple[int, str]:
    """The work in a child, after what comes before it there."""

    def child() -> object:
        before()
        return run_command(list(work.arguments))

    return finished(partial(in_folder, folder, child), folder / "said")


def judged(code: int, said: str, wanted: str, target: Path, old: dict[str, str], left: list[str]) -> str | None:
    """What is wrong with a failure."""
    if code != 1 or wanted not in said or len(said.strip().splitlines()) != 1:
        return f"exit code {code}, {said[-500:]!r}"
    if contents(target) != old:
        return f"{target.name} is not as it was"
    return f"left behind: {left}" if left else None


def names(*folders: Path) -> list[str]:
    return sorted(str(path) for folder in folders for path in folder.iterdir() if path.name != "said")


def try_full_disk(tries: int) -> Outcome:
    """Disks of all sizes up to what a command needs; by a limit on files where nothing can be mounted."""
    outcome, rng = Outcome(), random.Random("full")
    with workshop(size="64m") as (folder, place, works):
        real = os.path.ismount(place)
        outcome.figures["by"] = "a small tmpfs" if real else "RLIMIT_FSIZE"
        for number in range(tries):
            kind = rng.choice(sorted(works))
            work = moved(works[kind], place)
            put_old(folder, True)
            for old in ("out", "out-counts", "out.arpa"):
                remove(place / old)
                shutil.move(folder / old, place / old)
            target, before = Path(work.output), names(place)
            old_contents = contents(target)
            remove_others(place, target)
            before = names(place)
            room = rng.randint(0, 60_000)
            filler = place / "filler"
            if real:
                free = shutil.disk_usage(place).free
                with filler.open("wb") as stream:
                    stream.write(b"x" * max(0, free - room))
            code, said = do(folder, work, before=lambda limit=room: None if real else limited(limit))
            remove(filler)
            left = sorted(set(names(place)) ^ set(before)) + names(folder / "temporary")
            wanted = "the disk is full" if real else "larger than this file system or a limit"
            if code == 0:
                outcome.count("had_room")
                left = [name for name in left if not name.endswith(("/out", "/out-counts"))]
                outcome.check(f"{kind} {number}", f"left behind: {left}" if left else None)
            else:
                outcome.check(f"{kind} {number} {room}", judged(code, said, wanted, target, old_contents, left))
    return outcome


def try_full_cache(tries: int) -> Outcome:
    """Training whose rows find a disk too small for them: it says so once, and ends as it would have anyway."""
    from modlm.training.run import train

    outcome, rng = Outcome(), random.Random("cache")
    with workshop(size="64m") as (folder, place, _works):
        if not os.path.ismount(place):
            outcome.figures["skipped"] = "needs root"
            return outcome
        write_texts(folder)
        os.environ |= {"MODLM_CACHE": str(place / "cache"), "MODLM_THREADS": "1"}
        text = str(folder / "text")  # long enough for rows of many pages
        config = tiny_config(folder, kind="hybrid", text=text, schedule__epochs=1, schedule__batch_words=1000)
        whole: dict[str, str] = {}
        for number in range(tries + 1):
            for path in (folder / "run", place / "cache", place / "filler"):
                remove(path)
            room = rng.randint(0, 700_000) if whole else shutil.disk_usage(place).free
            (place / "filler").write_bytes(bytes(shutil.disk_usage(place).free - room))
            code, said = finished(partial(train, config, folder / "run", device="cpu"), folder / "said")
            found, told = run_contents(folder / "run"), said.count("MODLM_CACHE")
            if not whole:
                whole = found
                continue
            left = list((place / "cache").rglob(".*"))
            fault = f"exit code {code}, told {told} times, left {left}: {said[-500:]}"
            outcome.count("had_room", told == 0)
            outcome.check(f"{number} {room}", fault if code or found != whole or told > 1 or left else None)
    return outcome


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def remove_others(place: Path, target: Path) -> None:
    for path in place.iterdir():
        if path != target:
            remove(path)


def limited(size: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def try_denied(tries: int, *, read_only: bool) -> Outcome:
    """A folder of somebody else, or on a file system that is read-only."""
    outcome, rng = Outcome(), random.Random("denied")
    with workshop(size="64m" if read_only else "") as (folder, place, works):
        if read_only and not os.path.ismount(place):
            outcome.figures["skipped"] = "needs root"
            return outcome
        put_old(folder, True)
        for old in ("out", "out-counts", "out.arpa"):
            shutil.move(folder / old, place / old)
        if read_only:
            subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        else:
            place.chmod(0o555)
        (folder / "temporary").chmod(0o777)
        before = names(place)
        wanted = "the file system is read-only" if read_only else "permission was denied"
        become = (lambda: None) if read_only else as_nobody
        for number in range(tries):
            work = moved(works[rng.choice(sorted(works))], place)
            target = Path(work.output)
            old_contents = contents(target)
            code, said = do(folder, work, before=become)
            left = sorted(set(names(place)) ^ set(before)) + names(folder / "temporary")
            outcome.check(f"{number} {work.arguments}", judged(code, said, wanted, target, old_contents, left))
        if not read_only:
            place.chmod(0o755)
    return outcome


def as_nobody() -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


CHANGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "longer": lambda path: path.open("ab").write(b"more words\n"),
    "other": lambda path: path.write_bytes(path.read_bytes().swapcase()),
    "emptied": lambda path: path.write_bytes(b""),
}


def try_changing_text(tries: int) -> Outcome:
    """A text, plain or packed, is written to between two reads of it."""
    outcome, rng = Outcome(), random.Random("changing")
    with workshop() as (folder, _place, works):
        text = (folder / "text").read_bytes()
        for number in range(tries):
            put_old(folder, True)
            (folder / "text").write_bytes(text)
            os.utime(folder / "text", (0, 0))
            kind, how = rng.choice(("count-memory", "count-disk", "save")), rng.choice(sorted(CHANGES))
            target = folder / works[kind].output
            old, before = contents(target), names(folder)
            reads = rng.randint(1, 12)
            change = partial(changing, CHANGES[how], folder / "text", reads)
            code, said = do(folder, works[kind], before=change)
            left = sorted(set(names(folder)) ^ set(before)) + names(folder / "temporary")
            wanted = "it was written to while it was read"
            outcome.check(f"{kind} {how} {number}", judged(code, said, wanted, target, old, left))
    return outcome


def changing(change: Callable[[Path], object], path: Path, reads: int) -> None:
    """From now on in this process, the n-th read of a text is preceded by a change of the file."""
    read, left = sources._PlainReader.readinto, [reads]
    ngram_training.kind_of = lambda path: "text"  # without looking into it, which is a read too

    def readinto(self: Any, buffer: memoryview) -> int:
        left[0] -= 1
        if left[0] == 0:
            change(path)
        return read(self, buffer[:4096])

    sources._PlainReader.readinto = readinto  # type: ignore[method-assign]


def try_clock(tries: int) -> Outcome:
    """The clock of the day jumps by up to years, there and back, with every look at it; times of files with it."""
    from modlm.training.run import train

    outcome, rng = Outcome(), random.Random("clock")
    with workshop() as (folder, _place, works):
        os.environ |= {"MODLM_CACHE": str(folder / "cache"), "MODLM_THREADS": "1"}
        write_texts(folder)
        config = tiny_config(folder, kind="hybrid", schedule__checkpoint_seconds=0.0, schedule__epochs=2)
        wholes: dict[str, dict[str, str]] = {}
        for kind in ("count-disk", "prune", "train"):
            wholes[kind] = clocked(kind, folder, works, config, train, jumps=False, outcome=None)
        for number in range(tries):
            kind = ("count-disk", "prune", "train")[number % 3]
            for path in folder.rglob("*"):
                if rng.random() < 0.3:
                    os.utime(path, (rng.uniform(0, 4e9), rng.uniform(0, 4e9)))
            found = clocked(kind, folder, works, config, train, jumps=True, outcome=outcome)
            outcome.check(f"{kind} {number}", None if found == wholes[kind] else "another result")
    return outcome


def clocked(
    kind: str, folder: Path, works: dict[str, Work], config: Any, train: Any, *, jumps: bool, outcome: Outcome | None
) -> dict[str, str]:
    """What a command gives, with a clock that jumps or one that does not."""

    def before() -> None:
        if jumps:
            rng, now = random.Random(1), time.time()
            time.time = lambda: now + rng.uniform(-1e8, 1e8)
            time.time_ns = lambda: int(1e9 * time.time())

    remove(folder / "run")
    if kind == "train":
        remove(folder / "cache")

        def child() -> None:
            before()
            train(config, folder / "run", device="cpu")

        code, said = finished(child, folder / "said")
    else:
        code, said = do(folder, works[kind], before)
    return {"failed": said} if code else run_contents(folder / (works[kind].output if kind != "train" else "run"))


def try_two_writers(tries: int) -> Outcome:
    """Two processes write the same target at the same time, with and without --force; then two trainings."""
    from modlm.training.run import train

    outcome, rng = Outcome(), random.Random("two")
    with workshop() as (folder, _place, _works):
        os.environ["MODLM_CACHE"] = str(folder / "cache")
        write_texts(folder)
        config = tiny_config(folder, kind="neural", schedule__epochs=1)
        for number in range(tries):
            remove(folder / "run")
            if number % 4 == 3:
                jobs: list[Callable[[], object]] = [partial(train, config, folder / "run", device="cpu")] * 2
                fault = _race(jobs, folder, rng, lambda: (folder / "run" / "result.json").exists(), both=False)
                outcome.check(f"train {number}", fault)
                continue
            force, there = rng.random() < 0.5, rng.random() < 0.5
            put_old(folder, there and force)
            commands = [("ngram", text, "-o", "out", "--order", "3") for text in ("text", "other")]
            results = list[dict[str, str]]()
            for command in commands:
                alone = (*command[:3], "alone", *command[4:], "--force")
                assert do(folder, Work(alone, "alone"))[0] == 0
                results.append(contents(folder / "alone"))
            remove(folder / "alone")
            more = ("--force",) if force else ()
            jobs = [partial(in_folder, folder, partial(run_command, [*command, *more])) for command in commands]
            before = names(folder)
            fault = _race(jobs, folder, rng, lambda known=results: contents(folder / "out") in known, both=force)
            left = set(names(folder)) - {*before, str(folder / "out"), str(folder / "said-0"), str(folder / "said-1")}
            outcome.check(f"ngram {number} {force}", fault or (f"left behind: {left}" if left else None))
    return outcome


def _race(
    jobs: list[Callable[[], object]], folder: Path, rng: random.Random, sound: Callable[[], bool], *, both: bool
) -> str | None:
    """Two jobs at once: both end well, or one does and the other says why not."""
    children = []
    for number, job in enumerate(jobs):
        children.append(forked(job, output=folder / f"said-{number}"))
        time.sleep(rng.uniform(0, 0.02))
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    said = [(folder / f"said-{number}").read_text() for number in range(len(jobs))]
    reasons = ("already exists", "Another process is writing", "is not empty")
    failed = [text for code, text in zip(codes, said, strict=True) if code]
    with suppress(OSError):
        for number in range(len(jobs)):
            (folder / f"said-{number}").unlink()
    if (both and failed) or len(failed) == len(jobs) or not all(any(r in text for r in reasons) for text in failed):
        return f"exit codes {codes}, {failed}"
    return None if sound() else "what stands there is neither the one nor the other"


ROWS = {
    "disk-full": Row("the disk is full at some point of a command", try_full_disk, small=12, full=200),
    "cache-full": Row("the disk for the cache is full while training begins", try_full_cache, small=6, full=100),
    "read-only": Row("the output is on a read-only file system", partial(try_denied, read_only=True), 6, 60),
    "permission": Row("permission to write is denied", partial(try_denied, read_only=False), small=6, full=60),
    "changed-text": Row("a text is written to while it is read", try_changing_text, small=8, full=100),
    "clock": Row("the clock jumps by years at every look at it", try_clock, small=3, full=60),
    "two-writers": Row("two processes write the same target at once", try_two_writers, small=8, full=100),
}
