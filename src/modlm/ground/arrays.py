"""Array types, and the two ways in which this package goes fast: compiled kernels and threads over them.

A kernel is a plain function over arrays, compiled by numba on first use, kept in numba's on-disk cache, and run
without the interpreter lock; so threads run kernels truly side by side, and `numba.prange` with its own thread pool is
not needed. Only modules with kernels import numba, and they run when they are first used (`ground.deferred`), which
keeps `modlm --help` fast.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from modlm.ground.cores import allowed_cores, keep_off_this_core, run_anywhere
from modlm.ground.leftovers import locked

Bytes = NDArray[np.uint8]
Ids = NDArray[np.uint32]
"""Word ids or node ids."""
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
AnyFloats = NDArray[np.floating[Any]]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]
"""Bits, 64 in a number."""

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Item = TypeVar("Item")
Scalar = TypeVar("Scalar", bound=np.generic)


if TYPE_CHECKING:

    def int64(value: Any) -> int:
        """The number in 64 bits with a sign, as kernels must have it before they mix it with others."""

else:
    int64 = np.int64


def kernel(function: F) -> F:
    """The function compiled by numba: no Python objects, no interpreter lock, cached on disk."""
    return _compiled(function)


def inlined(function: F) -> F:
    """A kernel that is compiled into those that call it: for what runs at every word."""
    return _compiled(function, forceinline=True)


def piece(function: F) -> F:
    """A part of the kernels that call it: numba compiles it with them and not before, which takes half as long.

    Where many call it, or it calls many, `kernel` is better: each caller compiles its own.
    """
    return _compiled(function, inline="always")


def entry(function: Callable[..., Any], *types: Any) -> Callable[..., Any]:
    """The function compiled for arguments of these numba types, as Python calls it without looking at them first.

    That spares a fifth of a microsecond a call. It keeps the interpreter lock, so it may use Python's own functions.
    """
    dispatcher = _compiled(function, nogil=False)
    dispatcher.compile(types)  # type: ignore[attr-defined]
    compiled: Callable[..., Any] = dispatcher.overloads[types].entry_point  # type: ignore[attr-defined]
    return compiled


def _compiled(function: F, **options: bool | str) -> F:
    """Cached beside the module, or in the user's cache; where neither can be written to, compiled in every process."""
    import numba

    from modlm.ground.compiling import watch

    watch()
    compile_with = functools.partial(numba.njit, **({"nogil": True, "error_model": "numpy"} | options))
    try:
        dispatcher = compile_with(cache=True)(function)
    except RuntimeError:
        return cast("F", compile_with()(function))
    if not hasattr(dispatcher, "_cache"):  # NUMBA_DISABLE_JIT
        return cast("F", dispatcher)
    save, folder = dispatcher._cache.save_overload, dispatcher._cache.cache_path

    def save_alone(*arguments: Any) -> None:
        # Two processes that save at the same moment would take the same file for different types, and a full disk is
        # no reason to fail: what is not in the cache is compiled.
        with suppress(OSError):
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103
            with locked(folder, wait=True):
                save(*arguments)

    dispatcher._cache.save_overload = save_alone
    return cast("F", dispatcher)


def intrinsic(function: Callable[..., Any]) -> Any:
    """What kernels call as a function and the function given here writes as LLVM code."""
    from numba.extending import intrinsic as numba_intrinsic

    return numba_intrinsic(function)


def threads(asked: int | None = None) -> int:
    """How many threads to use: what was asked for, else MODLM_THREADS, else every core this process may use."""
    if asked is not None:
        return max(1, asked)
    setting = os.environ.get("MODLM_THREADS", "")
    if setting.isdecimal() and int(setting) > 0:
        return int(setting)
    return len(allowed_cores())


def in_parallel(tasks: Sequence[Callable[[], T]], *, workers: int | None = None) -> list[T]:
    """The results of the tasks, in order; tasks run on threads, so they should spend their time in kernels.

    The caller's thread is one of them, so that small work does not wait for a thread to wake up. A task that asks for
    more threads itself gets none: its own tasks run one after the other.
    """
    count = min(threads(workers), len(tasks))
    if count <= 1 or getattr(_INSIDE, "a_task", False):
        return [task() for task in tasks]
    results = cast("list[T]", [None] * len(tasks))
    waiting = iter(range(len(tasks)))  # shared: whoever is free takes the next

    def work() -> None:
        _INSIDE.a_task = True
        try:
            for place in waiting:
                results[place] = tasks[place]()
        except BaseException:  # Ctrl-C too: tasks that have not begun need not
            for _ in waiting:
                pass
            raise
        finally:
            _INSIDE.a_task = False

    pool, numbers = _pool(count - 1)
    allowed = keep_off_this_core(numbers)

    def help_out() -> None:
        run_anywhere(allowed)
        work()

    helpers = [pool.submit(help_out) for _ in range(count - 1)]
    try:
        work()
    finally:
        begun = [helper for helper in helpers if not helper.cancel()]
        wait(begun)  # tasks that run must end
    for helper in begun:
        helper.result()
    return results


_INSIDE = threading.local()


def alone(task: Callable[[Item], T]) -> Callable[[Item], T]:
    """The task as one that runs beside others of its kind: whatever it calls asks for no more threads."""

    @functools.wraps(task)
    def run(item: Item) -> T:
        before, _INSIDE.a_task = getattr(_INSIDE, "a_task", False), True
        try:
            return task(item)
        finally:
            _INSIDE.a_task = before

    return run


@functools.cache
def _pool(count: int) -> tuple[ThreadPoolExecutor, list[int]]:
    """Threads that wait for work, and the system's numbers of those that have begun.

    Starting them anew for each call would cost more than a small batch of sentences.
    """
    numbers = list[int]()

    def begin() -> None:
        numbers.append(threading.get_native_id())

    return ThreadPoolExecutor(count, thread_name_prefix="modlm-worker", initializer=begin), numbers


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not live on in a forked process


def even_ranges(total: int, parts: int) -> list[tuple[int, int]]:
    """Neighbouring ranges that cover 0..total, of almost the same length, none empty."""
    bounds = np.linspace(0, total, max(1, min(parts, total)) + 1).astype(np.int64)
    return [(int(start), int(end)) for start, end in pairwise(bounds) if end > start]


def joined(parts: list[NDArray[Scalar]]) -> NDArray[Scalar]:
    """All parts in one array; each is let go of as soon as it is copied."""
    if len(parts) == 1:
        return parts.pop()
    whole = np.empty(sum(map(len, parts)), dtype=parts[0].dtype)
    end = len(whole)
    while parts:
        part = parts.pop()
        whole[end - len(part) : end] = part
        end -= len(part)
    return whole


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The array, not to be written through; kernels then see the same type whether it was mapped from a file or not."""
    view = array.view()
    view.flags.writeable = False
    return view
