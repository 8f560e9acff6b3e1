"""Kernels that write the bits of the compact n-gram form and read all of them again."""

from __future__ import annotations

import numpy as np

from modlm.ground.arrays import Bools, Ids, Ints, Words, inlined, int64, kernel
from modlm.ground.bit_kernels import next_one, number, place_of, set_number
from modlm.model.ngram.compact_kernels import base_of
from modlm.model.ngram.compact_layout import HIGH, LOW, LOW_BITS, MANY, PLAIN, POINTERS


@kernel
def last_grown(words: Ids, first: Ids, suffix: Ids, low: int, high: int, ranked: bool, base: int) -> int:
    """The largest rank as it grows from `base` through the followers of low..high-1; -1 if a suffix is missing."""
    for context in range(low, high):
        begin, end = int64(first[context]), int64(first[context + 1])
        below = int64(suffix[context])
        for node in range(begin, end if ranked else begin):
            if not int64(first[below]) <= int64(suffix[node]) < int64(first[below + 1]):
                return -1
        if begin < end:
            base += _rank(words, first, suffix, context, end - 1, ranked) + 1
    return base


@inlined
def _rank(words: Ids, first: Ids, suffix: Ids, context: int, node: int, ranked: bool) -> int:
    return int64(suffix[node]) - int64(first[int64(suffix[context])]) if ranked else int64(words[node])


@kernel
def encode(
    words: Ids, first: Ids, suffix: Ids, lowest: int, low: int, high: int, ranked: bool, bits: int, base: int,
    pointers: Words, lows: Words, highs: Words,
) -> int:  # fmt: skip
    """Pointers, low and high bits of the followers of the contexts low..high-1, into zeros; where ranks have grown to.

    `lowest` is the first context of the order.
    """
    begin = int64(first[lowest])
    mask = (1 << bits) - 1
    for context in range(low, high):
        start, end = int64(first[context]), int64(first[context + 1])
        place = (context - lowest) + (start - begin)
        pointers[place >> 6] |= np.uint64(1) << np.uint64(place & 63)
        value = base - 1
        for node in range(start, end):
            value = base + _rank(words, first, suffix, context, node, ranked)
            i = node - begin
            set_number(lows, bits, i, value & mask)
            place = (value >> bits) + i
            highs[place >> 6] |= np.uint64(1) << np.uint64(place & 63)
        base = value + 1
    return base


@kernel
def pack(values: np.ndarray, bits: int, out: Words) -> None:
    """Numbers of so many bits each, into zeros."""
    for i in range(len(values)):
        set_number(out, bits, i, int64(values[i]))


@kernel
def large_after(first: Ids, frequencies: np.ndarray, low: int, high: int, least: int, out: Bools) -> None:
    """Whether contexts low..high-1 have so many large counts after them that their sums are worth keeping."""
    for context in range(low, high):
        large = 0
        for node in range(int64(first[context]), int64(first[context + 1])):
            large += int64(frequencies[node]) >= least + PLAIN
        out[context - low] = large >= MANY


@kernel
def decode(
    data: Words, table: Ints, levels: Ints, n: int, low: int, high: int, words: Ids, first: Ids, suffix: Ids
) -> bool:  # fmt: skip
    """Words, followers and suffixes of what follows the contexts low..high-1, when the shorter orders are there.

    Whether they fit together; where not, the rest is not written.
    """
    bits, size, above, here = table[n, LOW_BITS], levels[n + 1] - levels[n], levels[n - 1], levels[n]
    pointer = place_of(data, table[n, POINTERS], low, 0)
    i = pointer - low
    base, place = base_of(data, table, n, i), place_of(data, table[n, HIGH], i, 0)
    for context in range(low, high):
        pointer = next_one(data, table[n, POINTERS], pointer + 1, 0)
        end = pointer - context - 1
        if not 0 <= i <= end <= size or (context == 0 and i > 0):
            return False
        first[above + context] = here + i
        shorter = int64(suffix[above + context])
        origin, stop = (int64(first[shorter]), int64(first[shorter + 1])) if n > 2 else (1, here)
        value = base - 1
        while i < end:
            value = ((place - i) << bits) | number(data, table[n, LOW], bits, i)
            node = origin + value - base
            if not origin <= node < stop:
                return False
            suffix[here + i], words[here + i] = node, words[node]
            place = next_one(data, table[n, HIGH], place + 1, 0)
            i += 1
        base = value + 1
    return high < here - above or i == size


@kernel
def add_along(suffix: Ids, frequencies: np.ndarray, low: int, high: int, out: np.ndarray) -> None:
    """Add the frequencies of the nodes low..high-1 to those of their suffixes."""
    for node in range(low, high):
        out[int64(suffix[node])] += frequencies[node]
