"""What the machine can do at best, measured in the same run with numpy alone."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from modlm.ground.arrays import even_ranges, in_parallel
from side_by_side.timing import clocked

LARGE = 512 << 20  # beyond any cache but the largest
SMALL = 4 << 20  # for trying the script
REPEATS = 5


@cache
def copy_bandwidth(threads: int, *, quick: bool = False) -> float:
    """Bytes a second, read and written both counted, of copying a large array with so many threads."""
    source = np.ones(SMALL if quick else LARGE, np.uint8)
    target = np.zeros_like(source)
    tasks = [partial(np.copyto, target[a:b], source[a:b]) for a, b in even_ranges(len(source), threads)]
    best = min(clocked(lambda: in_parallel(tasks, workers=threads))() for _ in range(REPEATS))
    return 2 * len(source) / best


@cache
def random_read_seconds(model_bytes: int, *, quick: bool = False) -> float:
    """Seconds for one of many independent random reads from an array of a model's size, on one thread."""
    length = max(1024, min(model_bytes, SMALL if quick else LARGE) // 8)
    table = np.ones(length, np.uint64)
    places = np.random.default_rng(1).integers(0, length, 100_000 if quick else 4_000_000)
    out = np.empty(len(places), np.uint64)
    best = min(clocked(lambda: np.take(table, places, out=out, mode="clip"))() for _ in range(REPEATS))
    return best / len(places)


def row_copy_seconds(rows: int, columns: int) -> float:
    """Seconds a row for filling a (rows, columns) float32 array with copies of one row, on one thread."""
    row, out = np.ones(columns, np.float32), np.zeros((rows, columns), np.float32)
    return min(clocked(lambda: np.copyto(out, row))() for _ in range(REPEATS)) / rows
