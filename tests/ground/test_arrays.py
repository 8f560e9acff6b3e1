"""Threads, ranges and kernels."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import threading
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.ground import cores
from modlm.ground.arrays import even_ranges, in_parallel, kernel, threads


@given(total=st.integers(0, 10_000), parts=st.integers(-1, 50))
def test_even_ranges_cover_everything_once_and_differ_by_one_at_most(total: int, parts: int) -> None:
    ranges = even_ranges(total, parts)
    assert len(ranges) == (min(max(1, parts), total) if total else 0)
    if ranges:
        assert (ranges[0][0], ranges[-1][1]) == (0, total)
        assert all(left[1] == right[0] for left, right in pairwise(ranges))
        lengths = [end - start for start, end in ranges]
        assert min(lengths) > 0
        assert max(lengths) - min(lengths) <= 1


def test_the_number_of_threads_is_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODLM_THREADS", "5")
    assert threads(3) == 3
    assert threads(0) == 1
    assert threads() == 5


@pytest.mark.parametrize("setting", ["", "0", "-2", "many", "²"])
def test_a_senseless_number_of_threads_means_all_cores(monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    monkeypatch.setenv("MODLM_THREADS", setting)
    assert 1 <= threads() <= (os.cpu_count() or 1)


def test_results_come_in_the_order_of_the_tasks() -> None:
    first_may_go = threading.Event()

    def slow() -> str:
        assert first_may_go.wait(10)
        return "slow"

    def quick() -> str:
        first_may_go.set()
        return "quick"

    assert in_parallel([slow, quick], workers=2) == ["slow", "quick"]
    assert in_parallel([], workers=2) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_task_reaches_the_caller(workers: int) -> None:
    def fail() -> int:
        raise ValueError("in the task")

    with pytest.raises(ValueError, match="in the task"):
        in_parallel([fail, lambda: 1], workers=workers)


def test_the_callers_thread_takes_tasks_too() -> None:
    both = threading.Barrier(2, timeout=10)

    def who() -> int:
        both.wait()  # so that neither thread takes both
        return threading.get_ident()

    found = in_parallel([who, who], workers=2)
    assert threading.get_ident() in found and len(set(found)) == 2


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads cannot be told where to run here")
def test_a_helper_wakes_on_another_core_and_may_then_run_on_all(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[tuple[bool, set[int]]]()
    own = threading.get_native_id()
    set_affinity = os.sched_setaffinity

    def note(thread: int, allowed: set[int]) -> None:
        asked.append((thread not in (0, own), set(allowed)))
        with suppress(OSError):
            set_affinity(thread, allowed)

    both = threading.Barrier(2, timeout=10)
    in_parallel([both.wait, both.wait], workers=2)  # from here on there is a helper
    monkeypatch.setattr(os, "sched_setaffinity", note)
    monkeypatch.setattr(cores, "allowed_cores", lambda: {0, 1})
    monkeypatch.setattr(cores, "_asking", lambda: lambda: 1)
    in_parallel([both.wait, both.wait], workers=2)
    assert asked == [(True, {0}), (False, {0, 1})]
    asked.clear()
    monkeypatch.setattr(cores, "allowed_cores", lambda: {1})
    in_parallel([both.wait, both.wait], workers=2)  # more threads than cores: the system shares it
    assert asked == []


def test_where_threads_cannot_be_told_where_to_run_tasks_run_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: int, allowed: set[int]) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setaffinity", refuse, raising=False)
    monkeypatch.setattr(cores, "allowed_cores", lambda: {0, 1})
    assert in_parallel([lambda: 1, lambda: 2], workers=2) == [1, 2]


def test_tasks_of_a_task_run_on_its_own_thread() -> None:
    both = threading.Barrier(2, timeout=10)

    def outer() -> bool:
        both.wait()
        return set(in_parallel([threading.get_ident] * 3, workers=3)) == {threading.get_ident()}

    assert in_parallel([outer, outer], workers=2) == [True, True]


def test_after_an_error_no_more_tasks_begin() -> None:
    begun = []

    def fail() -> None:
        raise ValueError("in the task")

    def slow() -> None:
        begun.append(1)
        threading.Event().wait(0.2)

    with pytest.raises(ValueError, match="in the task"):
        in_parallel([fail, *[slow] * 50], workers=2)
    assert len(begun) <= 2


def _ratio(counts: np.ndarray, total: float) -> float:
    return float(counts.sum() / total)


def test_a_kernel_computes_what_its_python_does_and_divides_by_zero_as_numpy_does() -> None:
    compiled = kernel(_ratio)
    counts = np.arange(5, dtype=np.float64)
    assert compiled(counts, 2.0) == _ratio(counts, 2.0) == 5.0
    assert compiled(counts, 0.0) == np.inf


def run_kernel(tmp_path: Path, body: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A process of its own in which a module has one kernel, `double`."""
    (tmp_path / "own_kernels.py").write_text(
        "from modlm.ground.arrays import kernel\n\n\n@kernel\ndef double(array):\n    return 2 * array[0]\n"
    )
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    return subprocess.run(
        [sys.executable, "-c", "import numpy as np\nfrom own_kernels import double\n" + body],
        env={**os.environ, "PYTHONPATH": paths, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_kernel_works_where_nothing_can_be_cached(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run_kernel(
        tmp_path,
        "print(double(np.ones(1)))",
        NUMBA_CACHE_LOCATOR_CLASSES="ZipCacheLocator",
        HOME=str(tmp_path / "file"),
    )
    assert done.stdout == "2.0\n", done.stderr


def test_a_full_disk_for_the_cache_is_no_reason_to_fail(tmp_path: Path) -> None:
    limited = "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    limited += "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\nprint(double(np.ones(1)))"
    done = run_kernel(tmp_path, limited, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout == "2.0\n", done.stderr


def test_numba_has_the_private_parts_that_a_kernel_is_saved_through() -> None:
    """Seen with numba 0.68.1: `_cache.save_overload(signature, data)` and `_cache.cache_path`, which `kernel` wraps."""
    from numba.core.caching import FunctionCache

    assert list(inspect.signature(FunctionCache.save_overload).parameters) == ["self", "sig", "data"]
    assert isinstance(inspect.getattr_static(FunctionCache, "cache_path"), property)


def test_a_kernel_is_saved_by_one_process_at_a_time(tmp_path: Path) -> None:
    body = "import fcntl\nheld = []\nlock = fcntl.flock\nfcntl.flock = lambda *how: (held.append(how), lock(*how))\n"
    body += "double(np.ones(1))\nprint([how == fcntl.LOCK_EX for _, how in held])"
    done = run_kernel(tmp_path, body, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout == "[True]\n", done.stderr
