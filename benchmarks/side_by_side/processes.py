"""Whole commands, measured: wall time, CPU time, peak memory, and what they printed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

LAUNCHER = Path(__file__).with_name("launcher.py")


class CommandError(Exception):
    """A measured command that did not end well."""


@dataclass(frozen=True, slots=True)
class Finished:
    """What one run of a command took."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    output: str
    errors: str


@dataclass(slots=True)
class Shell:
    """Runs commands in one folder, so that they can be shown with bare file names, and remembers them."""

    folder: Path
    commands: dict[str, None] = field(default_factory=dict)
    """In the order of their first run."""

    def run(
        self, command: Sequence[str | Path], *, threads: int | None = None, stdin: str = "", stdout: str = "",
        show: bool = True,
    ) -> Finished:  # fmt: skip
        """Run it to its end; `stdin` and `stdout` name files in the folder, `threads` sets MODLM_THREADS."""
        if show:
            self.commands.setdefault(shown(command, threads=threads, stdin=stdin, stdout=stdout))
        report, output, errors = (self.folder / f".run.{name}" for name in ("json", "out", "err"))
        given = self.folder / stdin if stdin else Path(os.devnull)
        written = self.folder / stdout if stdout else output
        wrapped = [sys.executable, "-S", "-E", LAUNCHER, report, given, written, errors, *command]
        environment = os.environ | {"MODLM_PROGRESS": "0"} | ({"MODLM_THREADS": str(threads)} if threads else {})
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # pip leaves modules compiled; so must an editable install
        subprocess.run(wrapped, cwd=self.folder, env=environment, check=True)
        found = json.loads(report.read_text())
        said = errors.read_text(errors="replace")
        if found["code"] != 0:
            raise CommandError(f"{shown(command, stdin=stdin)} ended with code {found['code']}:\n{said[-2000:]}")
        printed = "" if stdout else output.read_text(errors="replace")
        return Finished(found["seconds"], found["cpu_seconds"], found["peak_bytes"], printed, said)


def shown(command: Sequence[str | Path], *, threads: int | None = None, stdin: str = "", stdout: str = "") -> str:
    """A command as one would type it."""
    words = [Path(command[0]).name, *map(str, command[1:])]
    if words[1:2] == ["-c"] and words[2:3] == [MODLM_MAIN]:
        words = ["modlm", *words[3:]]
    before = f"MODLM_THREADS={threads} " if threads else ""
    return before + shlex.join(words) + (f" < {stdin}" if stdin else "") + (f" > {stdout}" if stdout else "")


MODLM_MAIN = "from modlm.cli import main; main()"


def modlm_command() -> list[str | Path]:
    """The `modlm` of this environment; without one, the same through Python."""
    script = Path(sys.executable).with_name("modlm")
    return [script] if script.is_file() else [sys.executable, "-c", MODLM_MAIN]


def counted(count: int, thing: str) -> str:
    """1 core, 2 cores."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


@contextmanager
def cores(count: int) -> Iterator[None]:
    """Only so many cores for what is started in the block, where the system can say so; and so many threads of ours."""
    before = os.environ.get("MODLM_THREADS")
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    os.environ["MODLM_THREADS"] = str(count)
    try:
        if allowed:
            os.sched_setaffinity(0, sorted(allowed)[:count])
        yield
    finally:
        if allowed:
            os.sched_setaffinity(0, allowed)
        if before is None:
            del os.environ["MODLM_THREADS"]
        else:
            os.environ["MODLM_THREADS"] = before
