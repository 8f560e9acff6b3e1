"""Children that are forked from a warm process, so that many of them cost little, and what they leave on disk."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

FILE_EVENTS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.link", "ctypes.dlsym")
"""What Python tells its audit hooks about files, before each happens."""


def forked(work: Callable[[], object], *, kill_at_event: int = 0, output: Path | None = None) -> int:
    """The process id of a child that does the work; it may kill itself right before some event of its files."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        if output is not None:
            stream = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(stream, 1)
            os.dup2(stream, 2)
        if kill_at_event:
            sys.addaudithook(_killing(kill_at_event))
        done = work()
        code = done if isinstance(done, int) else 0
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        with suppress(BaseException):
            traceback.print_exc()
            sys.stderr.flush()
    finally:
        os._exit(code)


def _killing(events: int) -> Callable[[str, object], None]:
    left = events

    def hook(event: str, arguments: object) -> None:
        nonlocal left
        if event in FILE_EVENTS:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return hook


def events_of(work: Callable[[], object]) -> int:
    """How many events of files the work has, as a child tells that counts its own."""
    reading, writing = os.pipe()

    def counted() -> None:
        events = 0

        def hook(event: str, arguments: object) -> None:
            nonlocal events
            events += event in FILE_EVENTS

        sys.addaudithook(hook)
        work()
        os.write(writing, str(events).encode())

    child = forked(counted, output=Path(os.devnull))
    os.close(writing)
    with os.fdopen(reading) as told:
        events = int(told.read())
    os.waitpid(child, 0)
    return events


def killed(work: Callable[[], object], *, at_event: int = 0, after: float = 0.0) -> bool:
    """Do the work in a child that is killed; False if it had ended before."""
    child = forked(work, kill_at_event=at_event, output=Path(os.devnull))
    if not at_event:
        time.sleep(after)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def finished(work: Callable[[], object], output: Path) -> tuple[int, str]:
    """Exit code and output of a child that is left alone."""
    child = forked(work, output=output)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, output.read_text(errors="replace")


def contents(path: Path, *, without: tuple[str, ...] = ()) -> dict[str, str]:
    """Every file under a path, hidden ones too, by its sum; nothing where nothing is."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    return {
        str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.name not in without
    }


def moment(rng: random.Random, events: int, seconds: float) -> dict[str, float]:
    """When to kill: half of the times by the clock, half before some event of a file."""
    return {"at_event": rng.randint(1, events)} if rng.random() < 0.5 else {"after": rng.uniform(0, seconds)}
