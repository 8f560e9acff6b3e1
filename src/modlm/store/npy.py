"""`.npy` files: written in one pass with their sha256, grown piece by piece, and mapped, to be filled or untrusted.

Only plain little-endian numbers in C order, with the header that numpy itself writes. A file is opened by saying what
it must hold; its header is compared, never interpreted, so no file can make us read more or other than asked for.
"""

from __future__ import annotations

import hashlib
import math
import mmap
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from modlm.ground.files import scratch_folder, sha256, take_room
from modlm.store.manifest import Record

AnyArray = NDArray[Any]

DTYPES = ("|b1", "|u1", "<u2", "<u4", "<u8", "<i4", "<i8", "<f2", "<f4", "<f8")
PIECE = 1 << 22  # bytes written and hashed together
KEPT = 16  # pieces of a mapped file that stay in memory while it is written to another
ROOM = 256  # bytes that a header is looked for in; ours have 128


DTypeName = str | list[list[str]]
"""A dtype as manifests spell it: `<u4`, or for records the names and dtypes of the fields."""


def dtype_name(array: AnyArray) -> DTypeName:
    """The dtype as manifests spell it, little-endian."""
    dtype = array.dtype.newbyteorder("<")
    return dtype.str if dtype.names is None else [[name, dtype[name].str] for name in dtype.names]


def dtype_of(name: object) -> np.dtype[Any]:
    """The dtype that a manifest names; ValueError when it is none of ours."""
    if isinstance(name, str) and name in DTYPES:
        return np.dtype(name)
    fields = name if isinstance(name, list) and 1 <= len(name) <= 16 else []
    pairs = [tuple(field) for field in fields if isinstance(field, list) and len(field) == 2]
    sound = all(isinstance(key, str) and key.isidentifier() and kind in DTYPES for key, kind in pairs)
    if not pairs or len(pairs) < len(fields) or not sound or len({key for key, _ in pairs}) < len(pairs):
        raise ValueError(f"its dtype is {str(name)[:80]!r}, neither one of {', '.join(DTYPES)} nor a record of them")
    return np.dtype(pairs)


def header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """The bytes before the data; their number does not depend on the length of a one-dimensional array."""
    stream = BytesIO()
    record = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, record)
    return stream.getvalue()


def write_npy(path: Path, array: AnyArray) -> Record:
    """Write the array; what a manifest says of the file."""
    dtype = dtype_of(dtype_name(array))
    digest = hashlib.sha256()
    with path.open("wb") as stream:
        start = header(dtype, array.shape)
        stream.write(start)
        digest.update(start)
        flat = np.ascontiguousarray(array).reshape(-1)
        step = max(1, PIECE // max(1, array.itemsize))
        for begin in range(0, len(flat), step):
            if begin % (KEPT * step) == 0:
                forget(array)
            piece = flat[begin : begin + step].astype(dtype, copy=False).view(np.uint8).data
            stream.write(piece)
            digest.update(piece)
        return _record(array, stream.tell(), digest.hexdigest())


def record_of(path: Path, array: AnyArray) -> Record:
    """What a manifest says of a file that was filled through its map."""
    if isinstance(array, np.memmap):
        array.flush()
    return _record(array, path.stat().st_size, sha256(path))


def _record(array: AnyArray, size: int, digest: str) -> Record:
    return {"bytes": size, "sha256": digest, "dtype": dtype_name(array), "shape": list(array.shape)}


def forget(array: AnyArray) -> None:
    """Let go of the memory that a mapped file takes; its contents stay in the file (and in the system's cache)."""
    under = _map_under(array)
    if under is not None and hasattr(mmap, "MADV_DONTNEED"):
        under.base.madvise(mmap.MADV_DONTNEED)


def _map_under(array: AnyArray) -> Any:
    """The `memmap` that an array is a part of, or None."""
    under: Any = array
    while isinstance(under, np.ndarray) and not isinstance(under.base, mmap.mmap):
        under = under.base
    private = getattr(under, "mode", "") == "c"  # what was written is nowhere else
    return under if isinstance(under, np.memmap) and not private else None


def is_mapped(array: AnyArray) -> bool:
    """Whether the array is in a file."""
    return _map_under(array) is not None


def in_pieces(low: int, high: int, *arrays: AnyArray, step: int = PIECE) -> Iterator[tuple[int, int]]:
    """Neighbouring ranges that cover low..high; after each, the arrays that are mapped are let go of."""
    for begin in range(low, high, step):
        yield begin, min(high, begin + step)
        for array in arrays:
            forget(array)


def equal(one: AnyArray, other: AnyArray) -> bool:
    """Whether two arrays as long hold the same; of mapped ones only a part is in memory at a time."""
    return all(np.array_equal(one[low:high], other[low:high]) for low, high in in_pieces(0, len(one), one, other))


def copy_to(out: AnyArray, array: AnyArray) -> None:
    """Write the array into one as long; of mapped ones only a part is in memory at a time."""
    for low, high in in_pieces(0, len(array), array, out):
        out[low:high] = array[low:high]


def zeros_beside(array: AnyArray, size: int, dtype: DTypeLike) -> AnyArray:
    """So many zeros; those beside a mapped array are in a file too, which has no name any more.

    It is where the array's own file was, if that has none either, else in the system's folder for such.
    """
    under = _map_under(array)
    if under is None:
        return np.zeros(size, dtype)
    own = Path(under.filename).parent
    with scratch_folder(None if own.exists() else own.parent) as folder:
        return np.asarray(new_npy(folder / "zeros.npy", dtype=dtype, shape=(size,)))


def set_aside(array: AnyArray, inside: Path) -> AnyArray:
    """The array, mapped from a file in a folder; the file has no name any more."""
    with scratch_folder(inside) as folder, NpyWriter(folder / "aside.npy", dtype_name(array)) as writer:  # type: ignore[arg-type]
        writer.append(array)
        return np.asarray(writer.finish(mode="r+"))


def open_npy(path: Path, *, dtype: DTypeLike, shape: tuple[int, ...], mode: Literal["r", "r+"] = "r") -> AnyArray:
    """The array, mapped; ValueError, saying what is wrong, when the file holds anything else."""
    dtype = np.dtype(dtype)
    with path.open("rb") as stream:
        start = stream.read(ROOM)
    length = 10 + int.from_bytes(start[8:10], "little")
    if start[:8] != b"\x93NUMPY\x01\x00" or length > len(start):
        raise ValueError("it does not begin like an .npy file")
    expected = header(dtype, shape)
    if start[10:length].rstrip() != expected[10:].rstrip():
        found = start[10:length].decode("ascii", "replace").strip()
        raise ValueError(f"its header says {found}, but a {dtype} array of shape {shape} is expected")
    bytes_needed = length + dtype.itemsize * int(np.prod(shape, dtype=object))
    if path.stat().st_size != bytes_needed:
        raise ValueError(f"it has {path.stat().st_size} bytes, but its header asks for {bytes_needed}")
    if bytes_needed == length:
        return np.empty(shape, dtype=dtype)
    mapped = np.memmap(path, dtype=dtype, mode=mode, offset=length, shape=shape)
    return np.asarray(mapped) if mode == "r" else mapped


def new_npy(path: Path, *, dtype: DTypeLike, shape: tuple[int, ...]) -> AnyArray:
    """An array of zeros in a new file, mapped to be written to; its room on the disk is taken at once."""
    kind = np.dtype(dtype)
    with path.open("w+b") as stream:  # where the system's call for room is made of others, those read, too
        take_room(stream, stream.write(header(kind, shape)) + kind.itemsize * math.prod(shape))
    return open_npy(path, dtype=dtype, shape=shape, mode="r+")


class NpyWriter:
    """A one-dimensional array that grows in a file; `finish` makes it whole and maps it, and leaving closes it."""

    def __init__(self, path: Path, dtype: str) -> None:
        self.path, self.dtype, self.length = path, dtype_of(dtype), 0
        self._stream = path.open("wb")
        self._stream.write(header(self.dtype, (0,)))

    def append(self, array: AnyArray) -> None:
        """Take the next part."""
        self._stream.write(np.ascontiguousarray(array, dtype=self.dtype).view(np.uint8).data)
        self.length += len(array)

    def finish(self, *, mode: Literal["r", "r+"] = "r") -> AnyArray:
        """The array, mapped, now that its length is known and stands in the header."""
        self._stream.seek(0)
        self._stream.write(header(self.dtype, (self.length,)))
        self._stream.close()
        return open_npy(self.path, dtype=self.dtype, shape=(self.length,), mode=mode)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stream.close()
