"""Rows of an ARPA section in bulk: `log10-probability word ... word [log10-backoff]`, a line each.

A kernel takes rows from text[at:end] until something needs Python: the block is used up, the section has its rows, an
array is full, a line is blank or a section mark, or a row is wrong. It returns `(at, row, longs, code, start, end)`:
where it stopped (the start of the line in question), the next row to fill, how many numbers it left to float(), why it
stopped, and the bytes of the field in question.
"""

from __future__ import annotations

import numpy as np

from modlm.formats.arpa.header import TOLERANCE
from modlm.formats.number_kernels import EXACT, LONG, read_decimal
from modlm.formats.word_kernels import FINE, Hashes, split_fields
from modlm.ground.arrays import Bytes, Floats, Ids, Ints, kernel
from modlm.text.text_kernels import Table, find_word, intern_word

Stop = tuple[int, int, int, int, int, int]

# Why a kernel stopped; EMPTY_FIELD and CONTROL of word_kernels are two more.
END_OF_BLOCK, SECTION_FULL, NO_ROOM, NO_WORD_ROOM, NOT_A_ROW = 10, 11, 12, 13, 14
BAD_PROBABILITY, POSITIVE, BAD_BACKOFF, TOP_BACKOFF, TOO_FEW, TOO_MANY = 20, 21, 22, 23, 24, 25
UNKNOWN_WORD, REPEATED_WORD, START_INSIDE = 26, 27, 28


@kernel
def read_number(
    text: Bytes, start: int, end: int, place: int, longs_L3: Ints, longs: int
) -> tuple[float, int, bool]:  # fmt: skip
    """(value, longs, whether it is a number); one that is left to float() is noted under its place, and 0 for now."""
    value, how = read_decimal(text, start, end)
    if how == LONG:
        longs_L3[longs, 0], longs_L3[longs, 1], longs_L3[longs, 2] = place, start, end
        return 0.0, longs + 1, True
    return value, longs, how == EXACT


@kernel
def read_numbers(
    text: Bytes, bounds: Ints, count: int, order: int, top: bool,
    row: int, probs: Floats, backoffs: Floats, longs_L3: Ints, longs: int,
) -> tuple[int, int, int]:  # fmt: skip
    """(longs, FINE or what is wrong, index of the wrong field) after reading the row's two numbers."""
    value, longs, fine = read_number(text, bounds[0], bounds[1], 2 * row, longs_L3, longs)
    if not fine or value > TOLERANCE:
        return longs, POSITIVE if fine else BAD_PROBABILITY, 0
    probs[row], backoffs[row] = min(value, 0.0), 0.0
    if count == order + 2:
        start, end = bounds[2 * order + 2], bounds[2 * order + 3]
        value, longs, fine = read_number(text, start, end, 2 * row + 1, longs_L3, longs)
        if not fine or (top and value != 0.0):
            return longs, TOP_BACKOFF if fine else BAD_BACKOFF, order + 1
        backoffs[row] = value
    return longs, FINE, 0


@kernel
def row_at(text: Bytes, at: int, end: int, order: int, bounds: Ints, hashes: Hashes) -> tuple[int, int, int]:
    """(fields found, where the next line starts, FINE or why this is no row)."""
    if text[at] == 92:  # backslash
        return 0, at, NOT_A_ROW
    count, after, code = split_fields(text, at, end, bounds, hashes)
    if code != FINE:
        return count, after, code
    if count == 0:
        return 0, at, NOT_A_ROW
    if count < order + 1:
        return count, after, TOO_FEW
    if count > order + 2:
        return count, after, TOO_MANY
    return count, after, FINE


@kernel
def read_rows(
    text: Bytes, at: int, end: int, limit: int, top: bool,
    blob: Bytes, offsets: Ints, table: Table, counts: Ints, state: Ints, id_of: Ids, start_id: int,
    ngrams: Ids, probs: Floats, backoffs: Floats, row: int, longs_L3: Ints,
) -> Stop:  # fmt: skip
    """Rows of one order. The words of longer n-grams get the ids that `id_of` has for their places in the table.

    Those of unigrams enter the table, with count 1, and `ngrams` gets their places.
    """
    order = ngrams.shape[1]
    bounds, hashes = np.zeros(2 * (order + 2), np.int64), np.zeros(order + 2, np.uint64)
    longs = 0
    while at < end:
        if row >= limit:
            return at, row, longs, SECTION_FULL, at, at
        if row >= len(probs) or longs + 2 > len(longs_L3):
            return at, row, longs, NO_ROOM, at, at
        count, after, code = row_at(text, at, end, order, bounds, hashes)
        if code != FINE:
            return at, row, longs, code, at, after
        before = longs
        longs, code, field = read_numbers(text, bounds, count, order, top, row, probs, backoffs, longs_L3, longs)
        if code != FINE:
            return at, row, before, code, bounds[2 * field], bounds[2 * field + 1]
        previous = start_id
        for position in range(order):
            first, last = bounds[2 * position + 2], bounds[2 * position + 3]
            if order == 1:
                index = intern_word(text, first, last, hashes[1], blob, offsets, table, state)
                if index < 0:
                    return at, row, before, NO_WORD_ROOM, at, at
                if counts[index] > 0:
                    return at, row, before, REPEATED_WORD, first, last
                counts[index] = 1
                ngrams[row, 0] = index
                break
            index = find_word(text, first, last, hashes[position + 1], blob, offsets, table)
            if index < 0:
                return at, row, before, UNKNOWN_WORD, first, last
            word = int(id_of[index])
            if word == start_id and previous != start_id:
                return at, row, before, START_INSIDE, first, last
            ngrams[row, position] = word
            previous = word
        at = after
        row += 1
    return at, row, longs, END_OF_BLOCK, at, at
