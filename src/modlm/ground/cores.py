"""On which cores threads run: the system decides, but for the moment in which a helper wakes up.

Linux wakes a thread where it slept last if that core is idle, and else where it was called from. A virtual machine's
idle core counts as taken away, so there a helper wakes on its caller's core, and one of the two waits until the other
has had its three milliseconds: as long as it takes to score fifty thousand words. So a helper is kept off the caller's
core until it runs: 16.4 to 20.8M words/s became 24.9 to 26.7M with two threads on PTB test
(`benchmarks/against_kenlm.py --only kernel`).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from contextlib import suppress


def allowed_cores() -> set[int]:
    """The cores that this thread may use; those of the machine where the system does not say."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


@functools.cache
def _asking() -> Callable[[], int] | None:
    """The system's call for the core of this thread, if it has one and threads can be told where to run."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    import ctypes

    return getattr(ctypes.CDLL(None), "sched_getcpu", None)


def keep_off_this_core(helpers: Iterable[int]) -> set[int]:
    """Have threads, known by the system's numbers, wake up elsewhere; what they may use when they are awake.

    Nothing is done, and nothing said, where there is no other core or the system does not allow it.
    """
    asking = _asking()
    if asking is None:
        return set()
    allowed = allowed_cores()
    others = allowed - {asking()}
    if not others:
        return set()
    with suppress(OSError):
        for helper in helpers:
            os.sched_setaffinity(helper, others)
    return allowed


def run_anywhere(allowed: set[int]) -> None:
    """The helper's own first step, which leaves the rest to the system."""
    if allowed:
        with suppress(OSError):
            os.sched_setaffinity(0, allowed)
