"""Rows of n-grams as text, for ARPA and count files."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from modlm.formats.number_kernels import LONGEST_NUMBER, write_float32, write_integer
from modlm.ground.arrays import Bytes, Ids, Ints, kernel

LINE_END, SPACE, TAB = 10, 32, 9

ALL_WRITTEN, NO_ROOM, ODD_NUMBER = 0, 1, 2


@kernel
def words_length(ngrams: Ids, row: int, offsets: Ints) -> int:
    """Bytes of the row's words with a separator behind each."""
    length = 0
    for position in range(ngrams.shape[1]):
        word = np.int64(ngrams[row, position])
        length += offsets[word + 1] - offsets[word]
    return length


@kernel
def write_words(out: Bytes, at: int, ngrams: Ids, row: int, blob: Bytes, offsets: Ints) -> int:
    """Write the row's words at out[at:] with spaces between; where they end."""
    for position in range(ngrams.shape[1]):
        word = np.int64(ngrams[row, position])
        for source in range(offsets[word], offsets[word + 1] - 1):
            out[at] = blob[source]
            at += 1
        out[at] = SPACE
        at += 1
    return at - 1


@kernel
def write_arpa_rows(
    ngrams: Ids, probs: NDArray[np.float32], backoffs: NDArray[np.float32], row: int,
    blob: Bytes, offsets: Ints, out: Bytes,
) -> tuple[int, int, int]:  # fmt: skip
    """(next row, bytes written, why it ended) of ARPA rows from `row` on; no backoffs if their array is empty.

    Ids must be words of the blob. ODD_NUMBER: the next row has a number that is left to Python.
    """
    at = 0
    with_backoffs = len(backoffs) > 0
    while row < len(ngrams):
        if at + 2 * LONGEST_NUMBER + words_length(ngrams, row, offsets) + 3 > len(out):
            return row, at, NO_ROOM
        start = at
        at = write_float32(out, at, probs[row])
        if at < 0:
            return row, start, ODD_NUMBER
        out[at] = TAB
        at = write_words(out, at + 1, ngrams, row, blob, offsets)
        if with_backoffs:
            out[at] = TAB
            at = write_float32(out, at + 1, backoffs[row])
            if at < 0:
                return row, start, ODD_NUMBER
        out[at] = LINE_END
        at += 1
        row += 1
    return row, at, ALL_WRITTEN


@kernel
def write_count_rows(
    ngrams: Ids, counts: Ints, row: int, blob: Bytes, offsets: Ints, out: Bytes
) -> tuple[int, int, int]:
    """The same for rows `w1 ... wn<TAB>count`."""
    at = 0
    while row < len(ngrams):
        if at + LONGEST_NUMBER + words_length(ngrams, row, offsets) + 2 > len(out):
            return row, at, NO_ROOM
        at = write_words(out, at, ngrams, row, blob, offsets)
        out[at] = TAB
        at = write_integer(out, at + 1, counts[row])
        out[at] = LINE_END
        at += 1
        row += 1
    return row, at, ALL_WRITTEN
