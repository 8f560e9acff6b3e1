"""Lines `w1 w2 ... wn<TAB>count` in bulk, of any orders mixed."""

from __future__ import annotations

from modlm.formats.arpa.header import MAX_ORDER
from modlm.formats.word_kernels import RETURN, SPACE, TAB
from modlm.ground.arrays import Bytes, Ids, Ints, kernel
from modlm.text.text_kernels import LINE_END, WANTED, Table, intern_word, scan_word

END_OF_BLOCK, NO_ROOM = 0, 1
NO_TAB, NO_WORDS, TOO_MANY_WORDS, CONTROL, START_INSIDE = 10, 11, 12, 13, 14
BAD_COUNT, ZERO, TOO_LARGE, EXTRA = 15, 16, 17, 18

MAX_COUNT = 2**63 - 1

UNKNOWN, END, START = 0, 1, 2
FIRST_ALIAS = 3
"""Places 3, 4 and 5 of the table are other names for 0, 1 and 2."""


@kernel
def read_count(text: Bytes, at: int, end: int) -> tuple[int, int, int]:
    """(count, where it ends, 0 or what is wrong) of the digits at text[at:]."""
    value = 0
    start = at
    while at < end and 48 <= text[at] <= 57:
        digit = int(text[at]) - 48
        if value > (MAX_COUNT - digit) // 10:
            return 0, at, TOO_LARGE
        value = value * 10 + digit
        at += 1
    if at == start:
        return 0, at, BAD_COUNT
    return value, at, 0


@kernel
def read_words(
    text: Bytes, at: int, end: int, blob: Bytes, offsets: Ints, table: Table, state: Ints, flat: Ids, used: int
) -> tuple[int, int, int]:
    """(words, where the tab stands, 0 or what is wrong); places of the words go to flat[used:]."""
    words = 0
    previous = START
    while at < end:
        byte = text[at]
        if byte == TAB:
            return words, at, (0 if words > 0 else NO_WORDS)
        if byte == LINE_END:
            return words, at, NO_TAB
        if byte == SPACE or byte == RETURN:
            at += 1
            continue
        after, hashed = scan_word(text, at)
        if after == at:
            return words, at, CONTROL
        if words == MAX_ORDER:
            return words, at, TOO_MANY_WORDS
        if used + words >= len(flat):
            return words, at, NO_ROOM
        index = intern_word(text, at, after, hashed, blob, offsets, table, state)
        if index < 0:
            return words, at, NO_ROOM
        if FIRST_ALIAS <= index < 2 * FIRST_ALIAS:
            index -= FIRST_ALIAS
        if index == START and previous != START:
            return words, at, START_INSIDE
        flat[used + words] = index
        previous = index
        words += 1
        at = after
    return words, at, NO_TAB


@kernel
def read_count_lines(
    text: Bytes, at: int, end: int,
    blob: Bytes, offsets: Ints, table: Table, totals: Ints, state: Ints,
    flat: Ids, orders: Ints, counts: Ints,
) -> tuple[int, int, int, int, int, int]:  # fmt: skip
    """(where it stopped, lines taken, rows, words, why, the byte in question).

    Row i has orders[i] words, which follow those of row i - 1 in `flat`, and counts[i]. Blank lines are passed over.
    Counts of unigrams are summed in `totals` too.
    """
    lines, rows, used = 0, 0, 0
    state[WANTED] = 0
    while at < end:
        if rows >= len(orders):
            return at, lines, rows, used, NO_ROOM, at
        first = at
        while first < end and (text[first] == SPACE or text[first] == RETURN):
            first += 1
        if first < end and text[first] == LINE_END:
            at = first + 1
            lines += 1
            continue
        words, after, code = read_words(text, first, end, blob, offsets, table, state, flat, used)
        if code != 0:
            return at, lines, rows, used, code, after
        start = after + 1
        count, after, code = read_count(text, start, end)
        while after < end and (text[after] == SPACE or text[after] == RETURN):
            after += 1
        if code == 0 and (after >= end or text[after] != LINE_END):
            code = EXTRA if after < end and text[after] == TAB else BAD_COUNT
        if code == 0 and count == 0:
            code = ZERO
        if code == 0 and words == 1:
            if totals[flat[used]] > MAX_COUNT - count:
                code = TOO_LARGE
            else:
                totals[flat[used]] += count
        if code != 0:
            return at, lines, rows, used, code, start
        orders[rows] = words
        counts[rows] = count
        rows += 1
        used += words
        lines += 1
        at = after + 1
    return at, lines, rows, used, END_OF_BLOCK, at
