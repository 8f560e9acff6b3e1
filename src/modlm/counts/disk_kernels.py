"""Kernels of the disk engine: windows of words packed into 64-bit keys, merging sorted runs of them, reading tries off.

A window is the `order` words that begin at a position, cut at the sentence end. Each word is a field of `bits` bits
that holds word + 1, and 0 behind the end; as many fields as fit make one key. A row is a window's few keys, by which
rows compare as windows do, and in its last column how often the window occurs.
"""

from __future__ import annotations

import numpy as np

from modlm.counts.sort_kernels import words_left
from modlm.ground.arrays import Ids, Ints, int64, kernel

Rows = np.ndarray  # (rows, keys and count), uint64


@kernel
def same_window(a_UK: Rows, i: int, b_UK: Rows, j: int) -> bool:
    for k in range(a_UK.shape[1] - 1):
        if a_UK[i, k] != b_UK[j, k]:
            return False
    return True


@kernel
def pack_windows(
    ids: Ids, positions: Ids, begin: int, core: int, order: int, bits: int, end: int, filled: int, rows_UK: Rows
) -> tuple[int, int]:  # fmt: skip
    """Windows of sorted positions as rows, equal ones counted together, until the rows are full.

    Positions from `core` on belong to the next block and are left out. Returns the next place and the rows filled.
    """
    fields, count = 64 // bits, rows_UK.shape[1] - 1
    i = begin
    while i < len(positions):
        position = int64(positions[i])
        if position < core:
            if filled == len(rows_UK):
                return i, filled
            words = words_left(ids, position, order, end)
            for k in range(count):
                key = np.uint64(0)
                for n in range(k * fields, min(order, (k + 1) * fields)):
                    key <<= np.uint64(bits)
                    if n < words:
                        key |= np.uint64(ids[position + n]) + np.uint64(1)
                rows_UK[filled, k] = key
            if filled > 0 and same_window(rows_UK, filled - 1, rows_UK, filled):
                rows_UK[filled - 1, count] += np.uint64(1)
            else:
                rows_UK[filled, count] = 1
                filled += 1
        i += 1
    return i, filled


@kernel
def comes_before(rows_RBK: np.ndarray, place: Ints, a: int, b: int) -> bool:
    """Whether the next row of run a is smaller than that of run b."""
    for k in range(rows_RBK.shape[2] - 1):
        x, y = rows_RBK[a, place[a], k], rows_RBK[b, place[b], k]
        if x != y:
            return bool(x < y)
    return False


@kernel
def sift(heap: Ints, live: int, top: int, rows_RBK: np.ndarray, place: Ints) -> None:
    """Let a run sink in the heap until both below it come later."""
    while 2 * top + 1 < live:
        child = 2 * top + 1
        if child + 1 < live and comes_before(rows_RBK, place, heap[child + 1], heap[child]):
            child += 1
        if not comes_before(rows_RBK, place, heap[child], heap[top]):
            return
        heap[top], heap[child] = heap[child], heap[top]
        top = child


@kernel
def make_heap(heap: Ints, live: int, rows_RBK: np.ndarray, place: Ints) -> None:
    """Put the run with the smallest row on top."""
    for top in range(live // 2 - 1, -1, -1):
        sift(heap, live, top, rows_RBK, place)


@kernel
def merge_runs(
    heap: Ints, live: int, rows_RBK: np.ndarray, place: Ints, size: Ints, filled: int, out_UK: Rows
) -> tuple[int, bool]:  # fmt: skip
    """Take the smallest rows of all runs until the output is full or the run on top of the heap has no more rows.

    Equal windows become one row, their counts added. Returns the rows filled, and whether it was a run that ended.
    """
    count = out_UK.shape[1] - 1
    while True:
        run = heap[0]
        row = place[run]
        if filled > 0 and same_window(rows_RBK[run], row, out_UK, filled - 1):
            out_UK[filled - 1, count] += rows_RBK[run, row, count]
        elif filled == len(out_UK):
            return filled, False
        else:
            for k in range(count + 1):
                out_UK[filled, k] = rows_RBK[run, row, k]
            filled += 1
        place[run] += 1
        if place[run] == size[run]:
            return filled, True
        sift(heap, live, 0, rows_RBK, place)


@kernel
def read_off(
    rows_UK: Rows, order: int, bits: int, start: int, window: Ints, total: np.ndarray, nodes: Ints,
    unigrams: np.ndarray, unigram_first: np.ndarray, words_NU: np.ndarray, first_NU: np.ndarray,
    frequencies_NU: np.ndarray, opened: Ints, closed: Ints,
) -> None:  # fmt: skip
    """Read n-grams off sorted windows, from where the windows before ended.

    window holds the last window (word + 1, 0 behind its end), total[n] the count so far of its n-gram, nodes[n] how
    many n-grams there were. New ones are written to row n of the tables: word and first follower when it begins
    (opened[n] of them), frequency when it ends (closed[n]). Unigrams have tables with a place for every word.
    """
    fields, last = 64 // bits, rows_UK.shape[1] - 1
    mask = np.uint64((1 << bits) - 1)
    for i in range(len(rows_UK)):
        count = rows_UK[i, last]
        changed = False
        for n in range(1, order + 1):
            key, place = (n - 1) // fields, (n - 1) % fields
            behind = min(fields, order - key * fields) - 1 - place
            field = int64((rows_UK[i, key] >> np.uint64(bits * behind)) & mask)
            if changed or field != window[n]:
                if n == 1:
                    for word in range(window[1], field):
                        unigram_first[word] = nodes[2]
                else:
                    if window[n] > 0:
                        frequencies_NU[n, closed[n]] = total[n]
                        closed[n] += 1
                    if field > 0:
                        words_NU[n, opened[n]] = field - 1
                        first_NU[n, opened[n]] = nodes[n + 1]
                        opened[n] += 1
                        nodes[n] += 1
                total[n] = 0
                window[n] = field
                changed = True
            if field > 0 and field - 1 != start:
                if n == 1:
                    unigrams[field - 1] += count
                else:
                    total[n] += count
