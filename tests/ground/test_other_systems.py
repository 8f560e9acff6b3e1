"""Windows and macOS, as far as Linux can play them: what only Linux or POSIX has is taken away, and all still works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tiny_runs import write_texts

ROOT = Path(__file__).parents[2]
WINDOWS = """
import ctypes, os, shutil, sys
shutil._use_fd_functions = False  # as there, where folders cannot be opened
for name in ("fcntl", "resource"):
    sys.modules[name] = None
own_open, own_library = os.open, ctypes.CDLL
def no_folders(path, *arguments, **more):
    if isinstance(path, (str, os.PathLike)) and os.path.isdir(path):
        raise PermissionError(13, "Permission denied", str(path))
    return own_open(path, *arguments, **more)
def named_library(name=None, *arguments, **more):
    if name is None:
        raise TypeError("expected str, bytes or os.PathLike object, not NoneType")
    return own_library(name, *arguments, **more)
"""
TAKEN = """
import modlm
{torch}
os.open, ctypes.CDLL = no_folders, named_library
for name in "sched_getaffinity sched_setaffinity posix_fallocate O_NOFOLLOW O_DIRECTORY fork forkpty".split():
    if hasattr(os, name):
        delattr(os, name)
def no_proc(event, arguments):
    if event == "open" and str(arguments[0]).startswith("/proc/"):
        raise FileNotFoundError(2, "No such file", str(arguments[0]))
sys.addaudithook(no_proc)
"""
MACOS = """
import ctypes, os, sys
no_folders, named_library = os.open, ctypes.CDLL
class Library(ctypes.CDLL):
    def __getattr__(self, name):
        if name in ("renameat2", "sched_getcpu"):
            raise AttributeError(name)
        return super().__getattr__(name)
named_library = Library
"""
COMMANDS = """
from modlm.cli.app import run
def well(*words):
    code = run(list(words))
    assert code == 0, (words, code)
well("ngram", "train.txt", "-o", "model", "--order", "3", "--arpa", "model.arpa", "--counts", "counts")
well("ngram", "train.txt", "-o", "model", "--order", "2", "--force")
well("count", "train.txt", "-o", "on-disk", "--engine", "disk")
well("eval", "model", "model.arpa", "valid.txt")
well("interpolate", "model", "model.arpa", "--tune", "valid.txt", "-o", "mixed")
well("inspect", "model")
assert run(["ngram", "train.txt", "-o", "model"]) == 1  # it exists
left = [name for name in os.listdir(".") if name.startswith(".")]
assert not left, left
"""
NETS = """
flags = ["--text", "train.txt", "--valid", "valid.txt", "-o", "run", "--hidden", "6", "--order", "2", "--device", "cpu"]
well("train", *flags, "--epochs", "1")
well("train", "--resume", "-o", "run", "--device", "cpu", "--set", "schedule.epochs=2")
well("eval", "run", "valid.txt")
from modlm.experiments.machine import processor
assert processor()
"""


def ran(folder: Path, script: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "MODLM_CACHE": str(folder / "cache-of-rows")}
    environment["TMPDIR"] = str(folder / "scratch")  # its own: without locks, a process beside it with locks sweeps it
    (folder / "scratch").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("system", [WINDOWS, MACOS], ids=["windows", "macos"])
def test_counting_works_without_what_linux_has(tmp_path: Path, system: str) -> None:
    write_texts(tmp_path)
    ran(tmp_path, system + TAKEN.format(torch="") + COMMANDS)


def test_training_works_without_what_linux_has(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs modlm[neural]")
    write_texts(tmp_path)
    start = COMMANDS.partition('well("ngram"')[0]
    ran(tmp_path, WINDOWS + TAKEN.format(torch="import torch") + start + NETS)


def test_the_server_starts_without_limits_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastapi", reason="the extra serve is not installed")
    from modlm.serve.limits import Limits
    from modlm.serve.running import with_files_for

    monkeypatch.setitem(sys.modules, "resource", None)
    assert with_files_for(Limits()) == Limits()
