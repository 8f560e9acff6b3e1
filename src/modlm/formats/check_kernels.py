"""N-grams as 64-bit fingerprints in an open-addressing table: a slot is a fingerprint, 0 is empty."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from modlm.arrays import Ids, kernel

Fingerprints = NDArray[np.uint64]

SEED = np.uint64(0x243F6A8885A308D3)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
S30, S27, S31, ONE = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(1)


@kernel
def fingerprint(ngrams: Ids, row: int, words: int) -> np.uint64:
    """Of the first `words` words of a row, never 0; each word goes through the mixing of splitmix64."""
    code = SEED
    for position in range(words):
        code = (code ^ np.uint64(ngrams[row, position])) * SEED
        code = (code ^ (code >> S30)) * FIRST
        code = (code ^ (code >> S27)) * SECOND
        code = code ^ (code >> S31)
    return code | ONE if code == 0 else code


@kernel
def same_row(ngrams: Ids, one: int, other: int) -> bool:
    """Whether two rows hold the same n-gram."""
    for position in range(ngrams.shape[1]):
        if ngrams[one, position] != ngrams[other, position]:
            return False
    return True


@kernel
def enter_rows(ngrams: Ids, slots: Fingerprints) -> tuple[int, int]:
    """Fill the empty slots (more than there are rows, a power of two); two equal rows if there are such, else (-1, -1).

    A fingerprint that is already there is a repeated n-gram only if an equal row stands above.
    """
    mask = np.uint64(len(slots) - 1)
    for row in range(len(ngrams)):
        code = fingerprint(ngrams, row, ngrams.shape[1])
        slot = code & mask
        while slots[slot] != 0:
            if slots[slot] == code:
                for other in range(row):
                    if same_row(ngrams, other, row):
                        return other, row
                break
            slot = (slot + ONE) & mask
        slots[slot] = code
    return -1, -1


@kernel
def first_without_context(ngrams: Ids, start: int, end: int, slots: Fingerprints) -> int:
    """The first row of start..end whose words but the last have no slot, or -1."""
    mask = np.uint64(len(slots) - 1)
    for row in range(start, end):
        code = fingerprint(ngrams, row, ngrams.shape[1] - 1)
        slot = code & mask
        while slots[slot] != code:
            if slots[slot] == 0:
                return row
            slot = (slot + ONE) & mask
    return -1
