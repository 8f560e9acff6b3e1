"""Kernels are compiled when they are first used on a machine: said once, on all cores, without the garbage collector.

numba compiles on one core at a time in a process. `kernels.json` has the types with which each command calls its
kernels, in the order of need (`tools/kernels.py` writes it): a helper process begins at the end of that list while the
command begins at its start, and what one has compiled the other finds in the cache. `modlm warm` compiles all of it.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from modlm.ground.cores import allowed_cores
from modlm.ground.progress import watched

Kernel = tuple[str, str, str]
"""Its module, its name, and the types of its arguments as numba writes them."""
FEW = 4  # kernels that are not worth another process, which takes half a second to begin
SAID = "modlm: compiling for this machine, which happens once and takes some seconds …"


class Compiling:
    """What this process knows of its own compiling."""

    command = ""
    """The command that runs; nothing in a program of others."""
    depth, collected, begun = 0, False, False

    def on_start(self) -> None:
        """A kernel is about to be compiled, perhaps inside another."""
        if self.depth == 0:
            self.collected = gc.isenabled()
            gc.disable()  # it looks at a million objects again and again, and finds nothing: a seventh of all the time
            if self.command and not self.begun:
                self.begun = True
                self._ask_for_help()
        self.depth += 1

    def on_end(self) -> None:
        """It has been."""
        self.depth -= 1
        if self.depth == 0 and self.collected:
            gc.enable()

    def _ask_for_help(self) -> None:
        if watched():
            print(SAID, file=sys.stderr, flush=True)
        if len(kernels(self.command)) > FEW and len(allowed_cores()) > 1:
            helper = start_helper(self.command, 0, 1)
            atexit.register(helper.kill)  # whatever it has not done is not needed any more


STATE = Compiling()


@functools.cache
def watch() -> None:
    """Hear of compiling from now on; called where numba has been imported."""
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]  # numba is not typed
        def notify(self, found: Any) -> None:
            if STATE.depth or found.data["dispatcher"].py_func.__module__.startswith("modlm."):
                STATE.on_start() if found.is_start else STATE.on_end()

        on_start = on_end = lambda self, found: None

    event.register("numba:compile", Listener())


def kernels(*commands: str) -> list[Kernel]:
    """What these commands compile, or all of them, each kernel once, in the order of need."""
    table = json.loads((Path(__file__).parent / "kernels.json").read_text(encoding="utf-8"))
    return list(dict.fromkeys(tuple(one) for name in commands or table for one in table.get(name, ())))


def compile_kernels(chosen: Sequence[Kernel]) -> None:
    """Have them in the cache; those that the list has and the program does not are left out."""
    from numba.core import types

    for module, name, signature in chosen:
        kernel = getattr(importlib.import_module(module), name, None)
        if kernel is not None:
            kernel.compile(eval(signature, vars(types)))


def start_helper(command: str, number: int, count: int) -> subprocess.Popen[bytes]:
    """A process that compiles every so many-th kernel of a command (or of all), the last ones first."""
    arguments = [sys.executable, "-m", "modlm.ground.compiling", command, str(number), str(count)]
    return subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    asked, place, helpers = sys.argv[1:]
    gc.disable()
    compile_kernels(kernels(*filter(None, [asked]))[::-1][int(place) :: int(helpers)])
