"""Sorted runs of windows in files, and the one sorted sequence that they make together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from modlm.counts import disk_kernels
from modlm.ground.arrays import Ids
from modlm.text.vocabulary import END

RowsUK = NDArray[np.uint64]
"""Windows as `disk_kernels` packs them, the count in the last column."""

FAN_IN = 64  # runs merged at a time
OUT_ROWS = 1 << 18  # rows that go out together


def packing(order: int, vocab_size: int) -> tuple[int, int]:
    """Bits of a word in a key, and columns of a row: its keys and the count."""
    bits = int(vocab_size + 1).bit_length()
    return bits, -(-order // (64 // bits)) + 1


def windows_of(ids: Ids, positions: Ids, core: int, *, order: int, vocab_size: int) -> Iterator[RowsUK]:
    """The windows at sorted positions of a text, those before `core`; a piece is good until the next one comes."""
    bits, columns = packing(order, vocab_size)
    begin = 0

    def fill(filled: int, rows_UK: RowsUK) -> tuple[int, bool]:
        nonlocal begin
        begin, filled = disk_kernels.pack_windows(ids, positions, begin, core, order, bits, END, filled, rows_UK)
        return filled, begin < len(positions)

    return _in_pieces(fill, columns)


def _in_pieces(fill: Callable[[int, RowsUK], tuple[int, bool]], columns: int) -> Iterator[RowsUK]:
    """What `fill` gives, until it says that there is no more; the last row is kept back, since it may grow."""
    rows_UK = np.empty((OUT_ROWS, columns), dtype=np.uint64)
    filled, more = 0, True
    while more:
        filled, more = fill(filled, rows_UK)
        kept = 1 if more and filled > 0 else 0
        if filled > kept:
            yield rows_UK[: filled - kept]
        rows_UK[:kept] = rows_UK[filled - kept : filled]
        filled = kept


def write_run(path: Path, pieces: Iterable[RowsUK]) -> Path:
    """A run as a file of its rows."""
    with path.open("wb") as stream:
        for rows_UK in pieces:
            stream.write(rows_UK.data)
    return path


def merged(runs: Sequence[Path], *, columns: int, memory: int) -> Iterator[RowsUK]:
    """All runs as one sorted sequence without repeats; each file is removed when it has been read.

    With very many runs, groups of them are merged into longer ones first.
    """
    round_ = 0
    while len(runs) > FAN_IN:
        groups = [runs[i : i + FAN_IN] for i in range(0, len(runs), FAN_IN)]
        runs = [
            write_run(group[0].with_suffix(f".{round_}"), merged(group, columns=columns, memory=memory))
            for group in groups
        ]
        round_ += 1
    return _merged(runs, columns=columns, memory=memory)


def _merged(runs: Sequence[Path], *, columns: int, memory: int) -> Iterator[RowsUK]:
    room = max(1024, min(1 << 20, memory // (8 * columns * max(1, len(runs)))))
    rows_RBK = np.empty((len(runs), room, columns), dtype=np.uint64)
    place, size = np.zeros(len(runs), dtype=np.int64), np.zeros(len(runs), dtype=np.int64)
    with ExitStack() as stack:
        streams = [stack.enter_context(path.open("rb")) for path in runs]
        for run, stream in enumerate(streams):
            size[run] = _read(stream, rows_RBK[run])
        heap = np.flatnonzero(size > 0)
        live = len(heap)
        disk_kernels.make_heap(heap, live, rows_RBK, place)

        def fill(filled: int, out_UK: RowsUK) -> tuple[int, bool]:
            nonlocal live
            while live > 0:
                filled, ended = disk_kernels.merge_runs(heap, live, rows_RBK, place, size, filled, out_UK)
                if not ended:
                    return filled, True
                top = heap[0]
                place[top], size[top] = 0, _read(streams[top], rows_RBK[top])
                if size[top] == 0:
                    live -= 1
                    heap[0] = heap[live]
                disk_kernels.make_heap(heap, live, rows_RBK, place)
            return filled, False

        yield from _in_pieces(fill, columns)
    for path in runs:
        path.unlink()


def _read(stream: BinaryIO, rows_BK: RowsUK) -> int:
    """Fill the buffer from a run; the rows read."""
    return stream.readinto(rows_BK.view(np.uint8).reshape(-1).data) // (8 * rows_BK.shape[1])  # type: ignore[attr-defined,no-any-return]
