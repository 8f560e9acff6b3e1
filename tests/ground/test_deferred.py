"""Kernel modules can be imported anywhere, and run when a name in them is first asked for."""

from __future__ import annotations

import subprocess
import sys

NOTHING_RUNS = """
import importlib, pkgutil, sys
import modlm, modlm.counts, modlm.formats, modlm.text
for package in (modlm.counts, modlm.formats, modlm.formats.arpa, modlm.text):
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(found.name)
assert "modlm.counts.trie_kernels" in sys.modules and not hasattr(sys.modules["modlm.counts.trie_kernels"], "__odd__")
assert "numba" not in sys.modules, "something asked for a kernel"
"""

THREADS_ASK = """
import threading
from modlm.counts import trie_kernels
found, barrier = [], threading.Barrier(8)
def ask():
    barrier.wait()
    found.append((trie_kernels.check_suffixes, trie_kernels.NONE))
threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(found) == 8 and len(set(map(id, (kernel for kernel, _ in found)))) == 1
try:
    trie_kernels.no_such_kernel
except AttributeError as error:
    assert "no_such_kernel" in str(error)
"""

FAILS_ONCE = """
import sys
from modlm.counts import merge_kernels
sys.modules["numba"] = None
try:
    merge_kernels.followers
except ImportError:
    pass
del sys.modules["numba"]
assert callable(merge_kernels.followers)
"""


def run(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_importing_the_counting_half_asks_for_no_kernel() -> None:
    run(NOTHING_RUNS)


def test_threads_that_ask_at_the_same_time_get_the_same_kernels() -> None:
    run(THREADS_ASK)


def test_a_module_that_could_not_run_is_tried_again() -> None:
    run(FAILS_ONCE)
