"""Runs the blocks of a page in the working folder: commands in this process where that is the same and faster."""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.docs.blocks import Block, commands_of, difference

SOURCES = Path(__file__).parents[2] / "src"
PORT = "8765"  # what pages call the port; the tests take one that is free
PLAIN = re.compile(r"modlm (?!serve)[^|<>&;$`*]+")  # no shell is needed, and it ends by itself
PATIENCE = 120  # seconds until a server answers, on a machine that is busy


class Runner:
    """One page being run; `quick` uses the substitutions that blocks name, and this process for most commands."""

    def __init__(self, folder: Path, *, quick: bool) -> None:
        self.quick = quick
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.servers: list[subprocess.Popen[str]] = []
        self.left_out: list[str] = []
        programs = folder / ".programs"
        programs.mkdir()
        (programs / "modlm").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m modlm "$@"\n')
        (programs / "modlm").chmod(0o755)
        path = os.pathsep.join((str(programs), str(Path(sys.executable).parent), os.environ["PATH"]))
        self.environment = os.environ | {"PATH": path, "PYTHONPATH": str(SOURCES)}
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = str(free.getsockname()[1])

    def run(self, block: Block) -> None:
        """Run a block and compare; what it lacks to be run is noted."""
        missing = [name for name in block.remark("needs") if not self._is_here(name)]
        if missing:
            self.left_out.append(f"line {block.line}: no {', '.join(missing)}")
            return
        text = block.text(quick=self.quick).replace(PORT, self.port)
        if block.kind == "console":
            for command, shown in commands_of(text):
                self._check(block, command, shown, self._printed(command, shown))
        elif ">>>" in text:
            self._session(block, text)
        else:
            exec(compile(text, f"line {block.line}", "exec", dont_inherit=True), self.names)

    def close(self) -> None:
        """End the servers that the page started."""
        for server in self.servers:
            server.send_signal(signal.SIGINT)
        for server in self.servers:
            server.wait(timeout=PATIENCE)

    def _check(self, block: Block, command: str, shown: str, printed: str) -> None:
        tolerance = block.tolerance(quick=self.quick)
        if tolerance is None:
            assert printed.strip() or not shown.strip(), f"line {block.line}: {command}\nprinted nothing"
            return
        differs = difference(shown, printed, tolerance=tolerance)
        assert not differs, f"line {block.line}: {command}\n{differs}\n\nall that was printed:\n{printed}"

    def _printed(self, command: str, shown: str) -> str:
        if command.startswith("modlm serve"):
            return self._serve(command, shown.count("\n") + 1)
        one_line = command.replace("\\\n", " ")
        if self.quick and PLAIN.fullmatch(one_line):
            return _here(shlex.split(one_line)[1:])
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def _serve(self, command: str, lines: int) -> str:
        """A server runs until the page ends; what it prints when it is ready."""
        arguments = [*shlex.split(command)[1:], "--port", self.port]
        server = subprocess.Popen(
            [sys.executable, "-m", "modlm", *arguments], env=self.environment, stdout=subprocess.PIPE, text=True
        )
        self.servers.append(server)
        assert server.stdout is not None
        begun = time.monotonic()
        printed = "".join(server.stdout.readline() for _ in range(lines))
        assert printed and time.monotonic() - begun < PATIENCE, f"{command} did not begin to answer"
        return printed

    def _session(self, block: Block, text: str) -> None:
        """A session with >>>: every example prints what is shown."""
        page = doctest.DocTestParser().get_doctest(text, {}, "page", None, 0)
        for example in page.examples:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(
                    compile(example.source, f"line {block.line + example.lineno + 1}", "single", dont_inherit=True),
                    self.names,
                )
            self._check(block, example.source.strip(), example.want, out.getvalue())

    def _is_here(self, name: str) -> bool:
        return shutil.which(name) is not None or importlib.util.find_spec(name) is not None


def _here(arguments: list[str]) -> str:
    """What a command prints on standard output, run in this process."""
    from modlm.cli.app import run

    with _captured() as out:
        code = run(arguments)
    printed = out.getvalue().decode()
    assert code == 0, f"modlm {shlex.join(arguments)} ended with {code}\n{printed}"
    return printed


@contextlib.contextmanager
def _captured() -> Iterator[io.BytesIO]:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(stream):
        yield raw
    stream.detach()
