"""Rows of ids in the order of the ids: the first column leads."""

from __future__ import annotations

import numpy as np

from modlm.ground.arrays import Ids, Ints


def sorting(rows: Ids, largest: int) -> Ints:
    """Places of the rows in their order; ids go up to the largest, so that several columns fit into one number."""
    bits = largest.bit_length()
    fields = 64 // bits
    keys = []
    for begin in range(0, rows.shape[1], fields):
        key = np.zeros(len(rows), dtype=np.uint64)
        for column in range(begin, min(begin + fields, rows.shape[1])):
            key = (key << np.uint64(bits)) | rows[:, column]
        keys.append(key)
    return np.argsort(keys[0], kind="stable") if len(keys) == 1 else np.lexsort(keys[::-1])


def group_starts(rows: Ids) -> Ints:
    """Where a new row begins among sorted ones."""
    new = np.ones(len(rows), dtype=np.bool_)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return np.flatnonzero(new)
