"""Lines into fields, and words into a table that grows: the one of `text.word_table`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from modlm.arrays import Bytes, Ints, kernel
from modlm.text.text_kernels import (
    FILLED,
    LINE_END,
    LOW,
    PADDING,
    TAG,
    TYPES,
    U0,
    WANTED,
    Table,
    find_slot,
    scan_word,
)  # fmt: skip

Hashes = NDArray[np.uint64]

SPACE, TAB, RETURN = 32, 9, 13

FINE, EMPTY_FIELD, CONTROL = 0, 1, 2

FULL = -1


@kernel
def split_fields(text: Bytes, at: int, end: int, bounds: Ints, hashes: Hashes) -> tuple[int, int, int]:
    """(fields found, where the next line starts, FINE or what is wrong); bounds and hashes of as many as fit.

    Spaces, tabs and carriage returns in any number separate fields, except that nothing between two tabs, or before
    the first, is an EMPTY_FIELD: a word was lost there. CONTROL: NUL, vertical tab and form feed belong to no word.
    """
    count = 0
    after_tab = True
    while at < end:
        byte = text[at]
        if byte == LINE_END:
            return count, at + 1, FINE
        if byte == TAB:
            if after_tab:
                return count, at, EMPTY_FIELD
            after_tab = True
            at += 1
        elif byte == SPACE or byte == RETURN:
            at += 1
        else:
            after, hashed = scan_word(text, at)
            if after == at:
                return count, at, CONTROL
            if count < len(hashes):
                bounds[2 * count], bounds[2 * count + 1], hashes[count] = at, after, hashed
            count += 1
            after_tab = False
            at = after
    return count, at, FINE


@kernel
def intern_word(
    text: Bytes, start: int, end: int, hashed: np.uint64, blob: Bytes, offsets: Ints, table: Table, state: Ints
) -> int:
    """Index of the word text[start:end] in a growing table, entered if it is new; FULL if there is no room for it."""
    slot = find_slot(text, start, end, hashed, blob, offsets, table)
    if table[slot] != U0:
        return int(table[slot] & LOW) - 1
    types, filled = state[TYPES], state[FILLED]
    after = filled + end - start + 1
    if types + 1 >= len(offsets) or after + PADDING > len(blob) or 2 * (types + 1) > len(table):
        state[WANTED] = after + PADDING
        return FULL
    blob[filled : after - 1] = text[start:end]
    blob[after - 1] = LINE_END
    offsets[types + 1] = after
    table[slot] = (hashed & TAG) | np.uint64(types + 1)
    state[TYPES], state[FILLED] = types + 1, after
    return int(types)
