"""Rows of an ARPA section in bulk: `log10-probability word ... word [log10-backoff]`, a line each.

A kernel takes rows from text[at:end] until something needs Python: the block is used up, the section has its rows, an
array is full, a line is blank or a section mark, or a row is wrong. It returns `(at, row, longs, code, start, end)`:
where it stopped (the start of the line in question), the next row to fill, how many numbers it left to float(), why it
stopped, and the bytes of the field in question.
"""

from __future__ import annotations

import numpy as np

from modlm.arrays import Bytes, Floats, Ids, Ints, kernel
from modlm.formats.arpa_header import TOLERANCE
from modlm.formats.number_kernels import EXACT, LONG, read_decimal
from modlm.formats.word_kernels import FINE, FULL, Hashes, intern_word, split_fields
from modlm.text.text_kernels import Table, find_word

Stop = tuple[int, int, int, int, int, int]

# Why a kernel stopped; EMPTY_FIELD and CONTROL of word_kernels are two more.
END_OF_BLOCK, SECTION_FULL, NO_ROOM, NO_WORD_ROOM, NOT_A_ROW = 10, 11, 12, 13, 14
BAD_PROBABILITY, POSITIVE, BAD_BACKOFF, TOP_BACKOFF, TOO_FEW, TOO_MANY = 20, 21, 22, 23, 24, 25
UNKNOWN_WORD, REPEATED_WORD, START_INSIDE = 26, 27, 28


@kernel
def read_numbers(
    text: Bytes, bounds: Ints, count: int, order: int, top: bool,
    row: int, probs: Floats, backoffs: Floats, longs_L3: Ints, longs: int,
) -> tuple[int, int, int]:  # fmt: skip
    """(longs, FINE or what is wrong, index of the wrong field) after reading the row's two numbers."""
    value, how = read_decimal(text, bounds[0], bounds[1])
    if how == EXACT:
        if value > TOLERANCE:
            return longs, POSITIVE, 0
        probs[row] = min(value, 0.0)
    elif how == LONG:
        longs_L3[longs, 0], longs_L3[longs, 1], longs_L3[longs, 2] = 2 * row, bounds[0], bounds[1]
        longs += 1
    else:
        return longs, BAD_PROBABILITY, 0
    backoffs[row] = 0.0
    last = order + 1
    if count == order + 2:
        value, how = read_decimal(text, bounds[2 * last], bounds[2 * last + 1])
        if how == EXACT:
            if top and value != 0.0:
                return longs, TOP_BACKOFF, last
            backoffs[row] = value
        elif how == LONG:
            longs_L3[longs, 0], longs_L3[longs, 1], longs_L3[longs, 2] = (
                2 * row + 1, bounds[2 * last], bounds[2 * last + 1],
            )  # fmt: skip
            longs += 1
        else:
            return longs, BAD_BACKOFF, last
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
def read_unigrams(
    text: Bytes, at: int, end: int, limit: int, top: bool,
    blob: Bytes, offsets: Ints, table: Table, counts: Ints, state: Ints,
    ngrams: Ids, probs: Floats, backoffs: Floats, row: int, longs_L3: Ints,
) -> Stop:  # fmt: skip
    """Unigram rows; their words enter the table, with count 1, and `ngrams` gets their places in it."""
    bounds, hashes = np.zeros(6, np.int64), np.zeros(3, np.uint64)
    longs = 0
    while at < end:
        if row >= limit:
            return at, row, longs, SECTION_FULL, at, at
        if row >= len(probs) or longs + 2 > len(longs_L3):
            return at, row, longs, NO_ROOM, at, at
        count, after, code = row_at(text, at, end, 1, bounds, hashes)
        if code != FINE:
            return at, row, longs, code, at, after
        before = longs
        longs, code, field = read_numbers(text, bounds, count, 1, top, row, probs, backoffs, longs_L3, longs)
        if code != FINE:
            return at, row, before, code, bounds[2 * field], bounds[2 * field + 1]
        index = intern_word(text, bounds[2], bounds[3], hashes[1], blob, offsets, table, state)
        if index == FULL:
            return at, row, before, NO_WORD_ROOM, at, at
        if counts[index] > 0:
            return at, row, before, REPEATED_WORD, bounds[2], bounds[3]
        counts[index] = 1
        ngrams[row, 0] = index
        at = after
        row += 1
    return at, row, longs, END_OF_BLOCK, at, at


@kernel
def read_ngrams(
    text: Bytes, at: int, end: int, limit: int, top: bool,
    blob: Bytes, offsets: Ints, table: Table, id_of: Ids, start_id: int,
    ngrams: Ids, probs: Floats, backoffs: Floats, row: int, longs_L3: Ints,
) -> Stop:  # fmt: skip
    """Rows of a higher order; id_of gives the id of each word of the table."""
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
