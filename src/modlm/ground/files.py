"""Files and folders: written aside and renamed, so that a name that exists is always a whole thing.

`new_folder` and `new_file` give a temporary place beside the target. Leaving the block normally renames it into place;
an exception (Ctrl-C too) removes it and leaves whatever stood there before untouched. Disk full, read-only targets and
the like come out as `OutputError`; errors about other files, an input that is missing say, pass through unchanged.
Links are followed. Devices and pipes (/dev/null, /dev/stdout) are written to directly: they must never be replaced.

A temporary place is locked by the process that fills it. One that is not is left from a process that was killed, and
whoever writes to the same target next removes it (`modlm.ground.leftovers`).
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from modlm.errors import OutputError
from modlm.ground.leftovers import aside, claim, locked, remove, renamed, sweep

REASONS = {
    errno.ENOSPC: "the disk is full; free some space or choose another place",
    errno.EDQUOT: "your disk quota is used up; free some space or choose another place",
    errno.EROFS: "the file system is read-only; choose another place",
    errno.EACCES: "permission was denied; choose a place you may write to",
    errno.EPERM: "permission was denied; choose a place you may write to",
    errno.ENOENT: "the folder above it does not exist; create it first",
    errno.ENOTDIR: "part of its path is a file, not a folder; choose another place",
    errno.EISDIR: "it is a folder; give the name of a file",
    errno.EFBIG: "the file would be larger than this file system or a limit (ulimit -f) allows; choose another place",
}

PIECE = 1 << 20  # bytes of zeros written together


def output_error(target: Path, error: OSError) -> OutputError:
    """The error with which every failed write ends: the target, the reason, the way out."""
    reason = REASONS.get(error.errno or 0, error.strerror or str(error))
    return OutputError(f"Cannot write {target}: {reason}.")


def _exists(target: Path) -> OutputError:
    return OutputError(f"{target} already exists. Choose another name, or have it overwritten.")


def _is_about(error: OSError, target: Path, temporary: Path) -> bool:
    """Whether a failed call was about our output: a full disk, or a name on the way to it or inside it."""
    if isinstance(error, BrokenPipeError):  # whoever reads what we print went away
        return False
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG) or not isinstance(error.filename, str):
        return True
    path = Path(error.filename).absolute()
    return path in (target, temporary) or path in target.parents or temporary in path.parents


def _put_in_place(finished: Path, target: Path, *, overwrite: bool) -> None:
    """Give a finished thing its name, in one step where the system can; the old one, if any, is then at `finished`."""
    if not overwrite:
        if not renamed(finished, target):
            if target.exists():  # since we looked last: another process was faster
                raise _exists(target)
            finished.rename(target)
    elif not (target.is_dir() and not target.is_symlink()):
        finished.replace(target)
    elif not renamed(finished, target, exchange=True):
        old = aside(target, "old")
        with locked(target):  # in two steps: the old folder comes back if we cannot go on (`sweep`, if killed)
            target.rename(old)
            try:
                finished.rename(target)
            except OSError:
                old.rename(target)
                raise
            remove(old)


@contextlib.contextmanager
def _written_aside(target: Path, *, folder: bool, overwrite: bool) -> Iterator[Path]:
    if target.exists() and not target.is_dir() and not target.is_file():
        with _reported(target, temporary=target):
            yield target
        return
    place = target.resolve() if target.is_symlink() else target.absolute()
    sweep(place)
    if target.exists() and not overwrite:
        raise _exists(target)
    if target.exists() and target.is_dir() != folder:
        kind, other = ("folder", "file") if folder else ("file", "folder")
        raise OutputError(f"{target} is a {other}, but a {kind} is to be written there. Choose another name.")
    temporary = aside(place, "partial")
    with _reported(place, temporary=temporary):
        if folder:
            place.parent.mkdir(parents=True, exist_ok=True)
        with claim(temporary, folder=folder):
            yield temporary
            _put_in_place(temporary, place, overwrite=overwrite)


@contextlib.contextmanager
def _reported(target: Path, *, temporary: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if not _is_about(error, target, temporary):
            raise
        raise output_error(target, error) from error


def new_folder(target: str | Path, *, overwrite: bool = False) -> contextlib.AbstractContextManager[Path]:
    """A folder to fill; it gets its name when the block ends well. Folders above it are made."""
    return _written_aside(Path(target), folder=True, overwrite=overwrite)


def new_file(target: str | Path, *, overwrite: bool = True) -> contextlib.AbstractContextManager[Path]:
    """A file path to write; it gets its name when the block ends well."""
    return _written_aside(Path(target), folder=False, overwrite=overwrite)


@contextlib.contextmanager
def scratch_folder(inside: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """A new folder that is removed when the block ends, however it ends; by default in the system's folder for such.

    What killed processes left there goes first.
    """
    with lent_folder(inside) as (folder, _):
        yield folder


@contextlib.contextmanager
def lent_folder(inside: str | os.PathLike[str] | None = None) -> Iterator[tuple[Path, int]]:
    """The same for a process that we start, too: while it has the handle nobody sweeps, even when we were killed."""
    import tempfile  # and hashlib below: a fifth of what `modlm --help` would load, and few commands come here

    place = Path(inside or tempfile.gettempdir()).absolute()
    sweep(place / "modlm")
    temporary = aside(place / "modlm", "partial")
    with _reported(place, temporary=temporary), claim(temporary, folder=True, mode=0o700) as handle:
        yield temporary, handle


@contextlib.contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """As long as the block runs, no other process may write here; the second one to ask is told so."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(folder))
        except BlockingIOError:
            raise OutputError(
                f"Another process is writing to {folder}. Wait until it has ended, or choose another place."
            ) from None
        yield


def take_room(stream: BinaryIO, size: int) -> None:
    """Let a new file have so many bytes, zeros behind those written so far, and all of their room on the disk.

    A file that is to be filled through a map needs this first: a full disk is an OSError here, but the end of the
    process (SIGBUS) when the map is written to.
    """
    stream.flush()
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(stream.fileno(), 0, size)
            return
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # not all file systems can
                raise
    for begin in range(stream.tell(), size, PIECE):
        stream.write(bytes(min(PIECE, size - begin)))


def sha256(path: Path) -> str:
    """The file's sha256 in hexadecimal, read in one pass without holding the file in memory."""
    import hashlib

    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def folder_bytes(folder: Path) -> int:
    """The size of all files in a folder; those that another process removes meanwhile count or not."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total
