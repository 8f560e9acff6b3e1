"""Bytes to ids: the tokenizer, the hash table of words, and the loops over them.

Text comes as an array of bytes in which `data[:size]` ends with a line end and eight more bytes can be read, so that a
word always ends before the array does and eight bytes are loaded at a time without looking. Words stand in a table of
three arrays:

    blob     the words, each with a line end behind it, and eight more readable bytes
    offsets  where each word begins; `offsets[i + 1] - 1` is where word i ends
    table    open addressing, a power of two, never more than half full: 32 bits of hash over (id + 1), 0 = empty

The upper half of the hash is kept in the table, so that other words on the way are passed without touching the blob.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from modlm.ground.arrays import Bytes, Ids, Ints, kernel, piece
from modlm.ground.memory_kernels import eight_bytes
from modlm.text.sources import PADDING as PADDING

Table = NDArray[np.uint64]

DONE, RESERVED, NO_UNKNOWN, FULL = 0, 1, 2, 3
"""How a loop ended: at the end of the text, at a boundary name, at `<unk>` where it is forbidden, for lack of room."""

AT, WROTE, UNKNOWNS, TYPES, FILLED, WANTED = 0, 1, 2, 3, 4, 5
STATE = 6
"""Places in the state array: position in the text, ids written, unknown words; words in the table, bytes in the blob,
and bytes the blob should have room for (the last three only when collecting)."""

LINE_END = 10
START_WORD = np.uint64(0x3E733C)  # the bytes of <s>
UNKNOWN_WORD = np.uint64(0x3E6B6E753C)  # those of <unk>
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, odd
TAG = np.uint64(0xFFFFFFFF00000000)
LOW = np.uint64(0xFFFFFFFF)
EIGHTY = np.uint64(0x8080808080808080)
TWENTY_ONE = np.uint64(0x2121212121212121)
ONES = np.uint64(0x0101010101010101)
U0, U1, U7, U32, U56 = np.uint64(0), np.uint64(1), np.uint64(7), np.uint64(32), np.uint64(56)


@piece
def is_space(byte: int) -> bool:
    """Space, tab, line end, vertical tab, form feed, carriage return, NUL."""
    return byte == 32 or (9 <= byte <= 13) or byte == 0


@piece
def scan_word(data: Bytes, position: int) -> tuple[int, np.uint64]:
    """Where the word at `position` ends, and its hash; the end is `position` itself when no word is there.

    The first byte below 0x21 is found eight bytes at a time. Control characters that are no white space belong to
    words; they are rare, and such a word is walked byte by byte.
    """
    end = position
    hashed = MULTIPLIER
    while True:
        chunk = eight_bytes(data, end)
        stops = (chunk - TWENTY_ONE) & ~chunk & EIGHTY
        first = stops & (U0 - stops)  # the lowest is exact; borrows reach only those above
        if first != U0:
            length = int((((first - U1) & ONES) * ONES) >> U56) - 1
            if not is_space(data[end + length]):
                break
            if length > 0:
                hashed = mix(hashed, chunk & ((first >> U7) - U1))
            return end + length, hashed
        hashed = mix(hashed, chunk)
        end += 8
    while not is_space(data[end]):
        end += 1
    return end, hash_word(data, position, end)


@piece
def mix(hashed: np.uint64, chunk: np.uint64) -> np.uint64:
    """The hash after eight more bytes."""
    product = (hashed ^ chunk) * MULTIPLIER
    return product ^ (product >> U32)


@piece
def hash_word(data: Bytes, start: int, end: int) -> np.uint64:
    """The hash of data[start:end], as `scan_word` gives it; no word holds NUL, so zeros fill up the last chunk."""
    hashed = MULTIPLIER
    while start < end:
        hashed = mix(hashed, first_bytes(eight_bytes(data, start), end - start))
        start += 8
    return hashed


@piece
def first_bytes(chunk: np.uint64, length: int) -> np.uint64:
    """The chunk with all but its first `length` bytes set to zero."""
    return chunk if length >= 8 else chunk & ((U1 << np.uint64(8 * length)) - U1)


@piece
def same_word(data: Bytes, start: int, end: int, blob: Bytes, at: int) -> bool:
    """Whether the word of that length at blob[at] is data[start:end]."""
    while start < end:
        difference = eight_bytes(data, start) ^ eight_bytes(blob, at)
        if first_bytes(difference, end - start) != U0:
            return False
        start += 8
        at += 8
    return True


@piece
def find_slot(
    data: Bytes, start: int, end: int, hashed: np.uint64, blob: Bytes, offsets: Ints, table: Table
) -> np.uint64:
    """The slot that holds data[start:end], or the empty slot where it belongs."""
    mask = np.uint64(len(table) - 1)
    slot = hashed & mask
    while True:
        entry = table[slot]
        if entry == U0:
            return slot
        if ((entry ^ hashed) & TAG) == U0:
            word = int(entry & LOW) - 1
            at = offsets[word]
            if offsets[word + 1] - 1 - at == end - start and same_word(data, start, end, blob, at):
                return slot
        slot = (slot + U1) & mask


@piece
def find_word(data: Bytes, start: int, end: int, hashed: np.uint64, blob: Bytes, offsets: Ints, table: Table) -> int:
    """The id of data[start:end], or -1."""
    return int(table[find_slot(data, start, end, hashed, blob, offsets, table)] & LOW) - 1


@kernel
def build_table(blob: Bytes, offsets: Ints, table: Table) -> tuple[int, int]:
    """Fill the empty table with all words; the ids of two equal words if there are such, else (-1, -1)."""
    for word in range(len(offsets) - 1):
        start, end = offsets[word], offsets[word + 1] - 1
        hashed = hash_word(blob, start, end)
        slot = find_slot(blob, start, end, hashed, blob, offsets, table)
        if table[slot] != U0:
            return int(table[slot] & LOW) - 1, word
        table[slot] = (hashed & TAG) | np.uint64(word + 1)
    return -1, -1


@piece
def word_id(
    data: Bytes, start: int, end: int, hashed: np.uint64, blob: Bytes, offsets: Ints, table: Table, unknown_name: bool
) -> int:
    """The id of data[start:end], 0 when it is unknown; -RESERVED or -NO_UNKNOWN when it may not stand in a text."""
    word = find_word(data, start, end, hashed, blob, offsets, table)
    if word > 1:
        return word
    if word == 1 or (word < 0 and end - start == 3 and hashed == mix(MULTIPLIER, START_WORD)):
        return -RESERVED
    return 0 if word < 0 or unknown_name else -NO_UNKNOWN


@piece
def end_line(out: Ids, wrote: int, start_id: int, more: bool) -> int:
    """Write `</s>`, and the `<s>` of the next line if there is one; how many ids there are then."""
    out[wrote] = 1
    if more:
        out[wrote + 1] = start_id
    return wrote + (2 if more else 1)


@kernel
def encode_lines(
    blob: Bytes, offsets: Ints, table: Table, start_id: int,
    data: Bytes, size: int, unknown_name: bool, out: Ids, state: Ints,
) -> int:  # fmt: skip
    """Write `<s> w ... </s>` for every line; `out` has room for a word in every two bytes and two ids a line."""
    position, wrote, unknowns, status = 0, 0, 0, DONE
    out[wrote] = start_id
    wrote += 1
    while position < size:
        end, hashed = scan_word(data, position)
        if end > position:
            word = word_id(data, position, end, hashed, blob, offsets, table, unknown_name)
            if word <= 0:
                if word < 0:
                    status = -word
                    break
                unknowns += 1
            out[wrote] = word
            wrote += 1
        position = end + 1
        if data[end] == LINE_END:
            wrote = end_line(out, wrote, start_id, position < size)
    state[AT], state[WROTE], state[UNKNOWNS] = position, wrote, unknowns
    return status


@kernel
def collect_lines(
    blob: Bytes, offsets: Ints, table: Table, counts: Ints,
    data: Bytes, size: int, unknown_name: bool, out: Ids, state: Ints,
) -> int:  # fmt: skip
    """The same with a table that grows: ids 0 `<unk>`, 1 `</s>`, 2 `<s>`, then words as they are first seen, counted.

    Ends with FULL before a word for which there is no room; give it more and call again with the same state.
    """
    position, wrote, types, filled = state[AT], state[WROTE], state[TYPES], state[FILLED]
    status = DONE
    if wrote == 0:
        out[wrote] = 2
        wrote += 1
    while position < size:
        end, hashed = scan_word(data, position)
        if end > position:
            slot = find_slot(data, position, end, hashed, blob, offsets, table)
            entry = table[slot]
            if entry == U0:
                after = filled + end - position + 1
                if 2 * (types + 1) > len(table) or types + 1 >= len(offsets) or after + PADDING > len(blob):
                    state[WANTED] = after + PADDING
                    status = FULL
                    break
                for i in range(position, end):  # a slice would cost 3 seconds of compiling numba's messages
                    blob[filled + i - position] = data[i]
                blob[after - 1] = LINE_END
                offsets[types + 1] = after
                entry = (hashed & TAG) | np.uint64(types + 1)
                table[slot] = entry
                counts[types] = 0
                filled = after
                types += 1
            word = int(entry & LOW) - 1
            if word <= 2 and (word > 0 or not unknown_name):
                status = NO_UNKNOWN if word == 0 else RESERVED
                break
            counts[word] += 1
            out[wrote] = word
            wrote += 1
        position = end + 1
        if data[end] == LINE_END:
            wrote = end_line(out, wrote, 2, position < size)
    state[AT], state[WROTE], state[TYPES], state[FILLED] = position, wrote, types, filled
    return status


@piece
def intern_word(
    data: Bytes, start: int, end: int, hashed: np.uint64, blob: Bytes, offsets: Ints, table: Table, state: Ints
) -> int:
    """The id of data[start:end] in a table that grows, entered if it is new; -FULL if there is no room for it.

    `collect_lines` does the same with its numbers at hand: called for every word of a text, this takes twice as long.
    """
    slot = find_slot(data, start, end, hashed, blob, offsets, table)
    if table[slot] != U0:
        return int(table[slot] & LOW) - 1
    types, filled = state[TYPES], state[FILLED]
    after = filled + end - start + 1
    if 2 * (types + 1) > len(table) or types + 1 >= len(offsets) or after + PADDING > len(blob):
        state[WANTED] = after + PADDING
        return -FULL
    for i in range(start, end):
        blob[filled + i - start] = data[i]
    blob[after - 1] = LINE_END
    offsets[types + 1] = after
    table[slot] = (hashed & TAG) | np.uint64(types + 1)
    state[TYPES], state[FILLED] = types + 1, after
    return int(types)


@kernel
def absorb_words(
    other_blob: Bytes, other_offsets: Ints, other_counts: Ints,
    blob: Bytes, offsets: Ints, table: Table, counts: Ints, state: Ints, mapping: Ids,
) -> None:  # fmt: skip
    """Add another table's words and counts; `mapping` gets their ids here. There must be room for all of them."""
    for word in range(len(other_offsets) - 1):
        start, end = other_offsets[word], other_offsets[word + 1] - 1
        hashed = hash_word(other_blob, start, end)
        here = intern_word(other_blob, start, end, hashed, blob, offsets, table, state)
        counts[here] += other_counts[word]
        mapping[word] = here


@kernel
def map_words(
    my_blob: Bytes, my_offsets: Ints, blob: Bytes, offsets: Ints, table: Table, absent: int, mapping: Ids
) -> None:
    """For each word of one table its id in another, or `absent`."""
    for word in range(len(my_offsets) - 1):
        start, end = my_offsets[word], my_offsets[word + 1] - 1
        found = find_word(my_blob, start, end, hash_word(my_blob, start, end), blob, offsets, table)
        mapping[word] = found if found >= 0 else absent


@kernel
def gather_words(blob: Bytes, offsets: Ints, order: Ints, out: Bytes) -> None:
    """Write the words with their line ends one behind the other in the given order."""
    at = 0
    for word in order:
        start, end = offsets[word], offsets[word + 1]
        for i in range(start, end):
            out[at + i - start] = blob[i]
        at += end - start


@kernel
def translate(ids: Ids, mapping: Ids, out: Ids) -> None:
    """out[i] = mapping[ids[i]]; the ids must lie inside the mapping."""
    for i in range(len(ids)):
        out[i] = mapping[ids[i]]


@kernel
def spell_unknown(data: Bytes, size: int, ids: Ids, start: int, out: Ids) -> int:
    """Write `<s> b ... </s>` with byte + 1 for each word of the text whose id is 0; no bytes for the name `<unk>`.

    The ids are those of the text, `<s> w ... </s>` a line. How much was written.
    """
    position, place, wrote = 0, 0, 0
    while position < size:
        end, _ = scan_word(data, position)
        if end > position:
            place += 1
            if ids[place] == 0:
                out[wrote] = start
                wrote += 1
                if end - position != 5 or first_bytes(eight_bytes(data, position), 5) != UNKNOWN_WORD:
                    for i in range(position, end):
                        out[wrote] = np.uint32(data[i]) + np.uint32(1)
                        wrote += 1
                out[wrote] = 1
                wrote += 1
        position = end + 1
        if data[end] == LINE_END:
            place += 2  # the end of the line and the start of the next
    return wrote
