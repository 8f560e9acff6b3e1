"""Temporary places beside a target: claimed with a lock, and swept away by the next one when their process was killed.

A lock of the operating system (flock) ends with the process that holds it, however that ends, so a temporary place
without one belongs to nobody. Process ids would not tell: they are used again, and are not the same in all containers
that share a disk. Where there are no locks nothing is ever swept.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

NO_REPLACE, EXCHANGE = 1, 2  # flags of renameat2
HERE = -100  # AT_FDCWD: paths are relative to the working folder


def aside(target: Path, word: str) -> Path:
    """A name beside the target that nobody has; what the word is tells `sweep` what to do with it."""
    return target.parent / f".{target.name}.{word}-{os.urandom(4).hex()}"


def remove(path: Path) -> None:
    """Without asking, and without complaining if it is not there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def _handle(path: str | Path) -> int:
    """A handle to lock; of something else where there are no locks, since folders then cannot be opened either."""
    return os.open(path if fcntl is not None else os.devnull, os.O_RDONLY)


def _lock(handle: int, *, wait: bool) -> None:
    """BlockingIOError when another process has the lock and we do not wait; nothing where there are no locks."""
    if fcntl is None:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        raise
    except OSError:
        return


@contextlib.contextmanager
def locked(path: str | Path, *, wait: bool = False) -> Iterator[None]:
    """A lock on what is at the path now; BlockingIOError at once when another process has it and we do not wait."""
    handle = _handle(path)
    try:
        _lock(handle, wait=wait)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def claim(place: Path, *, folder: bool, mode: int = 0o777) -> Iterator[int]:
    """Make a file or folder that is ours; in the end, whatever is then at that place is removed.

    It is ours as long as somebody has the handle, be it a process that we started and that lives on.
    """
    try:
        handle = _made(place, folder=folder, mode=mode)
        try:
            yield handle
        finally:
            os.close(handle)
    finally:
        remove(place)


def _made(place: Path, *, folder: bool, mode: int) -> int:
    """A handle on the new file or folder, with the lock; somebody may sweep before the lock is ours: then once more."""
    while True:
        if folder:
            place.mkdir(mode)
        else:
            place.touch(mode & 0o666, exist_ok=False)
        try:
            handle = _handle(place)
        except FileNotFoundError:
            continue
        _lock(handle, wait=True)
        if place.exists():
            return handle
        os.close(handle)


def sweep(target: Path) -> None:
    """Remove what killed processes left beside a target; an old folder that had stepped aside comes back."""
    sweep_folder(target.parent, glob.escape(target.name))


def sweep_folder(folder: Path, names: str = "*") -> None:
    """The same for all targets in a folder; for one that holds nothing but things of ours."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError):
        for left in [*folder.glob(f".{names}.partial-*"), *folder.glob(f".{names}.old-*")]:
            with contextlib.suppress(OSError):
                _sweep_one(left, folder / left.name[1:].rpartition(".")[0])


def _sweep_one(left: Path, target: Path) -> None:
    handle = os.open(left, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if ".old-" in left.name and not target.exists():
            left.rename(target)
        else:
            remove(left)
    finally:
        os.close(handle)


def renamed(one: Path, other: Path, *, exchange: bool = False) -> bool:
    """Rename without replacing anything, or make two names change places, in one step; False where that is not done."""
    import ctypes  # only here: it is not small, and most commands write nothing

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):  # not Linux
        return False
    flag = EXCHANGE if exchange else NO_REPLACE
    done: int = rename(HERE, os.fsencode(one), HERE, os.fsencode(other), flag)
    return done == 0
