"""Rows of words in a table by their hash, and the pass over an index that looks its own rows up in it."""

from __future__ import annotations

import numpy as np

from modlm.counts.suffix_kernels import BREAK, END, number
from modlm.ground.arrays import Ids, Ints, Words, inlined, int64, kernel

FACTOR = np.uint64(0x9E3779B97F4A7C15)
TRIED = 64  # places of the index at which a row is taken up again, to find longer stretches


@inlined
def slot_of(value: np.uint64, size: int) -> int:
    """Where a hash belongs in a table of 2^n places."""
    mixed = (value ^ (value >> np.uint64(29))) * FACTOR
    return int64((mixed >> np.uint64(32)) & np.uint64(size - 1))


@inlined
def same(sought: Ids, first: int, second: int, length: int) -> bool:
    """Whether two rows of a text are the same words."""
    for at in range(length):
        if sought[first + at] != sought[second + at]:
            return False
    return True


@kernel
def note_rows(sought: Ids, length: int, unknown: int, heads: Ints, chain: Ints) -> None:
    """Put every row of a text into the table: `heads` has the last with some words, `chain` the one before it."""
    since, value = 0, np.uint64(0)
    oldest = power(length)
    for t in range(len(sought)):
        value = value * FACTOR + np.uint64(sought[t]) + np.uint64(1)
        if t >= length:
            value -= (np.uint64(sought[t - length]) + np.uint64(1)) * oldest
        since = 0 if sought[t] == unknown else since + 1
        first = t - length + 1
        if first < 0:
            continue
        chain[first] = -1
        if since >= length:
            slot = slot_of(value, len(heads))
            while heads[slot] >= 0 and not same(sought, heads[slot], first, length):
                slot = (slot + 1) & (len(heads) - 1)
            chain[first] = heads[slot]
            heads[slot] = first


@inlined
def power(length: int) -> np.uint64:
    """What the first word of a row has been multiplied with when the next comes."""
    found = np.uint64(1)
    for _ in range(length):
        found *= FACTOR
    return found


@kernel
def compare(
    ids: Words, row: Ints, shard: int, sought: Ids, length: int, unknown: int, heads: Ints, chain: Ints, run_T4: Ints,
    length_T: Ints, shard_T: Ints, place_T: Ints, span_T: Ints,
) -> None:  # fmt: skip
    """Take every row of a shard, without sentence ends, and note the longest stretch that each word begins.

    `run_T4` has for each row of the text: the number of the last word of the index that it was found to end at, the
    word of the text where its stretch began, the place of the index where that was, and how often it was found.
    """
    words, places = np.zeros(length, np.uint64), np.zeros(length, np.int64)
    since, seen, value, oldest = 0, 0, np.uint64(0), power(length)
    run_T4[:, 0] = -1
    for place in range(row[2]):
        word = number(ids, row[0], row[1], place)
        if word == END:
            continue
        if word == BREAK:
            since = 0
            continue
        at = seen % length
        value = value * FACTOR + word - words[at] * oldest
        words[at], places[at] = word, place
        seen += 1
        since = 0 if word == np.uint64(unknown + 1) else since + 1
        if since < length:
            continue
        slot = slot_of(value, len(heads))
        while heads[slot] >= 0 and not found_at(sought, heads[slot], words, seen, length):
            slot = (slot + 1) & (len(heads) - 1)
        first = heads[slot]
        while first >= 0:
            goes_on = first > 0 and run_T4[first - 1, 0] == seen - 1
            if goes_on or run_T4[first, 3] < TRIED:
                begin, begun = (
                    (run_T4[first - 1, 1], run_T4[first - 1, 2]) if goes_on else (first, places[seen % length])
                )
                run_T4[first, 0], run_T4[first, 1], run_T4[first, 2] = seen, begin, begun
                run_T4[first, 3] += 1
                if first + length - begin > length_T[begin]:
                    length_T[begin], shard_T[begin] = first + length - begin, shard
                    place_T[begin], span_T[begin] = begun, place + 1 - begun
            first = chain[first]


@inlined
def found_at(sought: Ids, first: int, words: Words, seen: int, length: int) -> bool:
    """Whether a row of the text is the last words that were read."""
    for at in range(length):
        if np.uint64(sought[first + at]) + np.uint64(1) != words[(seen + at) % length]:
            return False
    return True
