"""Kernels of the compact n-gram form that look at one order: who follows a context, counts, weights, probabilities.

`compact_layout` says where everything is; `compact_query_kernels` puts orders together.
"""

from __future__ import annotations

import numpy as np

from modlm.ground.arrays import Floats, Ids, Ints, Words, inlined, int64, kernel
from modlm.ground.bit_kernels import (
    HEAD,
    LINE,
    WORDS,
    at,
    bit,
    line_of,
    next_one,
    number,
    ones_before,
    ones_in,
    place_of,
    some_bits,
)  # fmt: skip
from modlm.ground.memory_kernels import borrowed, double, lowest_one, single
from modlm.model.ngram.compact_layout import (
    BIG,
    BITS,
    FALLBACKS,
    HIGH,
    LEAST,
    LEVELS,
    LOW,
    LOW_BITS,
    PLAIN,
    POINTERS,
    PROBS,
    REALS,
    SUMS,
    VALUES,
)  # fmt: skip

SIX, LOW_SIX = np.uint64(6), np.uint64(63)
SCANNED = 8  # followers that are looked at one by one


@inlined
def followers(data: Words, table: Ints, n: int, context: int) -> tuple[int, int]:
    """The n-grams that follow a context: the first, and the one behind the last."""
    place = place_of(data, table[n, POINTERS], context, 0)
    return place - context, next_one(data, table[n, POINTERS], place + 1, 0) - context - 1


@inlined
def grown(data: Words, table: Ints, n: int, i: int) -> int:
    """The rank of an n-gram as it grows through its order."""
    high = place_of(data, table[n, HIGH], i, 0) - i
    return (high << table[n, LOW_BITS]) | number(data, table[n, LOW], table[n, LOW_BITS], i)


@inlined
def base_of(data: Words, table: Ints, n: int, first: int) -> int:
    """What the ranks of a context's followers have grown by; `first` is the first of them."""
    return grown(data, table, n, first - 1) + 1 if first > 0 else 0


@inlined
def find(data: Words, table: Ints, n: int, first: int, end: int, base: int, rank: int) -> int:
    """The n-gram with a rank among first..end-1, or -1; `base` is what their ranks have grown by."""
    bits, highs, lows = table[n, LOW_BITS], table[n, HIGH], table[n, LOW]
    high, low = (base + rank) >> bits, (base + rank) & ((1 << bits) - 1)
    if end - first <= SCANNED:
        place = ((base - 1) >> bits) + first - 1
        for i in range(first, end):
            place = next_one(data, highs, place + 1, 0)
            if place - i >= high:
                own = number(data, lows, bits, i) if place - i == high else -1
                if own < 0 or own >= low:
                    return i if own == low else -1
        return -1
    place = place_of(data, highs, high - 1, 1) if high > 0 else -1
    i = max(first, place + 1 - high)
    stop = min(end, next_one(data, highs, high + i, 1) - high)
    while i < stop:  # those with the same high bits: their low ones grow
        middle = (i + stop) >> 1
        own = number(data, lows, bits, middle)
        if own == low:
            return middle
        if own < low:
            i = middle + 1
        else:
            stop = middle
    return -1


@inlined
def count_of(data: Words, table: Ints, n: int, i: int) -> int:
    """A count, or whatever else is kept by levels."""
    value = table[n, LEAST]
    for level in range(len(BITS)):
        flags, numbers = table[n, LEVELS + 2 * level], table[n, LEVELS + 2 * level + 1]
        if level + 1 == len(BITS):
            return value + number(data, numbers, BITS[level], i)
        if not bit(data, flags, i):
            return (
                value
                if BITS[level] == 0
                else value + number(data, numbers, BITS[level], i - ones_before(data, flags, i))
            )
        value += 1 << BITS[level]
        i = ones_before(data, flags, i)
    return value


@inlined
def ranked(data: Words, ranks: int, values: int, i: int) -> float:
    """The i-th of real numbers, kept as ranks into a table of them, or without one as what 32 bits are.

    The ranks say first how many bits they have.
    """
    rank = number(data, ranks + 1, int64(at(data, ranks)), i)
    return double(at(data, values + rank)) if values else float(single(np.uint32(rank)))


@inlined
def backoff_of(data: Words, table: Ints, n: int, context: int, first: int, shorter: int) -> float:
    """The given backoff of a context; 1 for those that have none of their own, or what makes the sum 1.

    That is worked out from the only follower, `first`, and the same word among those of the context one word shorter,
    which begin with `shorter`.
    """
    if table[n, BIG]:
        if not bit(data, table[n, BIG], context):
            if table[n, SUMS] == 0:
                return 1.0
            below = shorter + grown(data, table, n, first) - base_of(data, table, n, first)
            q = ranked(data, table[n - 1, PROBS], table[n - 1, VALUES], below)
            return alone(ranked(data, table[n, PROBS], table[n, VALUES], first), q)
        context = ones_before(data, table[n, BIG], context)
    return ranked(data, table[n, FALLBACKS], table[n, REALS], context)


@inlined
def alone(p: float, q: float) -> float:
    """The backoff of a context with one follower, of probability p, and q after the shorter context."""
    return (1.0 - p) / (1.0 - q) if q < 1.0 else 1.0


@inlined
def with_own(
    data: Words, table: Ints, n: int, discounts_NR: Floats, i: int, scale: float, prob: float
) -> tuple[float, bool]:  # fmt: skip
    """P of the word of an n-gram, from what falls through to it; and whether the n-gram says anything itself."""
    if table[n, PROBS]:
        own = ranked(data, table[n, PROBS], table[n, VALUES], i)
        return (own, True) if own >= 0.0 else (prob, False)
    r = count_of(data, table, n, i)
    return prob + (r - discounts_NR[n - 1, min(r, discounts_NR.shape[1] - 1)]) * scale if r > 0 else prob, True


@inlined
def weighed(
    data: Words, table: Ints, n: int, discounts_NR: Floats, context: int, first: int, end: int, shorter: int
) -> tuple[float, float]:  # fmt: skip
    """The fallback of a context, and what a discounted count is worth after it; `shorter`: as of `backoff_of`."""
    if first >= end:
        return 1.0, 0.0
    if table[n, PROBS]:
        return backoff_of(data, table, n, context, first, shorter), 0.0
    last = discounts_NR.shape[1] - 1
    total, kept = 0.0, 0.0
    if table[n, BIG] and bit(data, table[n, BIG], context):
        place = table[n, SUMS] + 2 * ones_before(data, table[n, BIG], context)
        total, kept = float(at(data, place)), float(at(data, place + 1)) * 2.0**-32
    else:
        value = table[n, LEAST]
        begin, stop = first, end
        for level in range(PLAIN):
            flags = table[n, LEVELS + 2 * level]
            few = stop - begin <= 64
            more = ones_in(some_bits(data, flags, begin, stop - begin)) if few else 0
            low = 0 if few and more == 0 else ones_before(data, flags, begin)
            high = low + more if few else ones_before(data, flags, stop)
            high = max(low, min(high, low + stop - begin))
            same = (stop - begin) - (high - low)
            total += same * value
            kept += same * (value - discounts_NR[n - 1, min(value, last)]) if value > 0 else 0.0
            begin, stop, value = low, high, value + 1
            if begin == stop:
                break
        for i in range(begin, stop):
            r = rest_of(data, table, n, i)
            total += r
            kept += r - discounts_NR[n - 1, min(r, last)]
    if kept <= 0:
        return 1.0, 0.0
    if table[n, FALLBACKS]:
        fallback = ranked(data, table[n, FALLBACKS], table[n, REALS], context)
    else:
        fallback = min(1.0, max(0.0, 1.0 - kept / total))
    return fallback, (1.0 - fallback) / kept


@inlined
def rest_of(data: Words, table: Ints, n: int, i: int) -> int:
    """A count that is not one of the plain ones, by its place among those."""
    value = table[n, LEAST] + PLAIN
    for level in range(PLAIN, len(BITS)):
        flags, numbers = table[n, LEVELS + 2 * level], table[n, LEVELS + 2 * level + 1]
        if level + 1 == len(BITS):
            return value + number(data, numbers, BITS[level], i)
        more = ones_before(data, flags, i)
        if not bit(data, flags, i):
            return value + number(data, numbers, BITS[level], i - more)
        value += 1 << BITS[level]
        i = more
    return value


@kernel
def shares_of(
    data: Words, table: Ints, n: int, discounts_NR: Floats, first: int, end: int, out: Floats
) -> None:  # fmt: skip
    """What the n-grams first..end-1 have themselves: discounted counts, or probabilities; -1 where there is none."""
    if table[n, PROBS]:
        for i in range(first, end):
            out[i - first] = ranked(data, table[n, PROBS], table[n, VALUES], i)
        return
    counts = np.empty(max(0, end - first), np.int64)
    decode_counts(data, table, n, first, end, counts)
    for i in range(len(counts)):
        out[i] = counts[i] - discounts_NR[n - 1, max(0, min(counts[i], discounts_NR.shape[1] - 1))]


@kernel
def backoffs_of(data: Words, table: Ints, n: int, first: Ids, suffix: Ids, probs: Floats, out: Floats) -> None:
    """The given backoffs of all contexts of an order, `first` being theirs."""
    for context in range(len(out)):
        node, end = int64(first[context]), int64(first[context + 1])
        if table[n, BIG] and table[n, SUMS] and not bit(data, table[n, BIG], context):
            out[context] = alone(probs[node], probs[int64(suffix[node])]) if node < end else 1.0
        else:
            out[context] = backoff_of(data, table, n, context, 0, 0)


@kernel
def ranks_of(data: Words, table: Ints, n: int, first: int, end: int, out: Ints) -> None:
    """The ranks of a context's followers, one after the other."""
    if first >= end:
        return
    data, table = borrowed(data), borrowed(table)
    base, bits, highs = base_of(data, table, n, first), table[n, LOW_BITS], table[n, HIGH]
    line, inside = line_of(data, highs, place_of(data, highs, first, 0))
    last = np.uint64(highs + HEAD + WORDS * (int64(data[highs + 1]) - 1))
    begin = (int64(line) - highs - HEAD) // WORDS * LINE
    k = int64(inside >> SIX)
    word = data[line + np.uint64(1 + k)] >> (inside & LOW_SIX) << (inside & LOW_SIX)
    for i in range(first, end):
        while word == 0:
            k += 1
            if k == WORDS - 1:
                k, line, begin = 0, line + np.uint64(WORDS), begin + LINE
                if line > last:
                    out[i - first : end - first] = -1
                    return
            word = data[line + np.uint64(1 + k)]
        high = begin + 64 * k + lowest_one(word) - i
        word &= word - np.uint64(1)
        out[i - first] = ((high << bits) | number(data, table[n, LOW], bits, i)) - base


@kernel
def decode_counts(data: Words, table: Ints, n: int, low: int, high: int, out: np.ndarray) -> None:
    """The counts of the n-grams low..high-1 of an order."""
    data, table = borrowed(data), borrowed(table)
    places = np.zeros(len(BITS), np.int64)
    places[0] = low
    for level in range(1, len(BITS)):
        places[level] = ones_before(data, table[n, LEVELS + 2 * level - 2], places[level - 1])
    for begin in range(low, high, 64):
        size = min(64, high - begin)
        out[begin - low : begin - low + size] = table[n, LEAST]
        more = some_bits(data, table[n, LEVELS], begin, size)
        while more:
            value = table[n, LEAST] + (1 << BITS[0])
            for level in range(1, len(BITS)):
                flags, numbers, place = table[n, LEVELS + 2 * level], table[n, LEVELS + 2 * level + 1], places[level]
                places[level] += 1
                last = level + 1 == len(BITS)
                if last or not bit(data, flags, place):
                    value += number(data, numbers, BITS[level], place if last else place - places[level + 1])
                    break
                value += 1 << BITS[level]
            out[begin - low + lowest_one(more)] = value
            more &= more - np.uint64(1)
