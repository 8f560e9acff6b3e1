"""Lines into fields."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from modlm.ground.arrays import Bytes, Ints, kernel
from modlm.text.text_kernels import LINE_END, scan_word

Hashes = NDArray[np.uint64]

SPACE, TAB, RETURN = 32, 9, 13

FINE, EMPTY_FIELD, CONTROL = 0, 1, 2


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
