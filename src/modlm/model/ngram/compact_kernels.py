"""Kernels of the compact n-gram form: counts in bits, probabilities worked out when they are asked for.

`compact_layout` says where everything is. Queries go from short contexts to long ones, and end at the first that was
never followed by the word.
"""

from __future__ import annotations

import numpy as np

from modlm.ground.arrays import AnyFloats, Floats, Ids, Ints, Words, inlined, int64, kernel
from modlm.ground.bit_kernels import at, bit, next_one, number, ones_before, ones_in, place_of, some_bits
from modlm.model.ngram.compact_layout import (
    BIG,
    BITS,
    DEEPEST,
    FALLBACKS,
    HIGH,
    LEAST,
    LEVELS,
    LOW,
    LOW_BITS,
    PLAIN,
    POINTERS,
    REALS,
    SUMS,
)  # fmt: skip

SCANNED = 8  # followers that are looked at one by one


# ---- one order -------------------------------------------------------------------------------------------------------


@inlined
def followers(data: Words, table: Ints, n: int, context: int) -> tuple[int, int]:
    """The n-grams that follow a context: the first, and the one behind the last."""
    place = place_of(data, table[n, POINTERS], context, 0)
    return place - context, next_one(data, table[n, POINTERS], place + 1) - context - 1


@inlined
def grown(data: Words, table: Ints, n: int, i: int) -> int:
    """The rank of an n-gram as it grows through its order."""
    high = place_of(data, table[n, HIGH], i, 0) - i
    return (high << table[n, LOW_BITS]) | number(data, table[n, LOW], table[n, LOW_BITS], i)


@inlined
def base_of(data: Words, table: Ints, n: int, first: int) -> int:
    """What the ranks of a context's followers have grown by; `first` is the first of them."""
    return grown(data, table, n, first - 1) + 1 if first > 0 else 0


@kernel
def find(data: Words, table: Ints, n: int, first: int, end: int, base: int, rank: int) -> int:
    """The n-gram with a rank among first..end-1, or -1; `base` is what their ranks have grown by, -1 if unknown."""
    if first >= end:
        return -1
    bits, highs, lows = table[n, LOW_BITS], table[n, HIGH], table[n, LOW]
    place, wanted = -1, base + rank
    if base < 0:
        wanted = rank
        if first > 0:
            place = place_of(data, highs, first - 1, 0)
            wanted += (((place - first + 1) << bits) | number(data, lows, bits, first - 1)) + 1
    high, low = wanted >> bits, wanted & ((1 << bits) - 1)
    i = first
    if base >= 0 or end - first > SCANNED:
        place = place_of(data, highs, high - 1, 1) if high > 0 else -1
        i = max(first, place + 1 - high)
        place = high + i - 1
    while i < end:
        place = next_one(data, highs, place + 1)
        own = place - i
        if own >= high:
            if own > high:
                return -1
            own = number(data, lows, bits, i)
            if own >= low:
                return i if own == low else -1
        i += 1
    return -1


@kernel
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


@kernel
def weighed(
    data: Words, table: Ints, n: int, discounts_NR: Floats, context: int, first: int, end: int
) -> tuple[float, float]:
    """The fallback of a context, and what a discounted count is worth after it."""
    if first >= end:
        return 1.0, 0.0
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
        width = int64(at(data, table[n, FALLBACKS]))
        place = table[n, REALS] + number(data, table[n, FALLBACKS] + 1, width, context)
        fallback = float(data[place : place + 1].view(np.float64)[0]) if 0 <= place < len(data) else 1.0
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


# ---- chains of contexts ----------------------------------------------------------------------------------------------
# A chain has a row for each context, by its number of words: which n-gram it is, its first follower, their end.


@kernel
def look_ahead(data: Words, table: Ints, discounts_NR: Floats, near_J3: Ints, weights_J2: Floats) -> None:
    """What every query reads of contexts of one word: followers, what their ranks have grown by, and weights."""
    base = 0
    for word in range(len(near_J3)):
        first, end = followers(data, table, 2, word)
        near_J3[word, 0], near_J3[word, 1], near_J3[word, 2] = first, end, base
        weights_J2[word, 0], weights_J2[word, 1] = weighed(data, table, 2, discounts_NR, word, first, end)
        if first < end:
            base = grown(data, table, 2, end - 1) + 1


@kernel
def step(
    data: Words, table: Ints, discounts_NR: Floats, unigrams: Floats, near_J3: Ints, weights_J2: Floats,
    word: int, chain: Ints, depth: int, found: Ints,
) -> tuple[float, int]:  # fmt: skip
    """P of a word after the contexts chain[1..depth]; `found` gets the n-grams that there are, with their followers.

    Gives the probability and the longest order found.
    """
    prob, rank, longest = unigrams[word], word, 1
    last = discounts_NR.shape[1] - 1
    found[1, 0], found[1, 1], found[1, 2] = word, near_J3[word, 0], near_J3[word, 1]
    for k in range(1, depth + 1):
        context, first, end = chain[k, 0], chain[k, 1], chain[k, 2]
        if k == 1:
            fallback, scale, base = weights_J2[context, 0], weights_J2[context, 1], near_J3[context, 2]
        else:
            fallback, scale = weighed(data, table, k + 1, discounts_NR, context, first, end)
            base = -1
        prob *= fallback
        if longest == k:
            i = find(data, table, k + 1, first, end, base, rank)
            if i >= 0:
                r = count_of(data, table, k + 1, i)
                prob += (r - discounts_NR[k, min(r, last)]) * scale if r > 0 else 0.0
                rank, longest = i - first, k + 1
                found[k + 1, 0] = i
                if k + 2 < len(table):
                    found[k + 1, 1], found[k + 1, 2] = followers(data, table, k + 2, i)
    return prob, longest


@inlined
def rested(table: Ints, found: Ints, longest: int) -> int:
    """How many words of what was found tell anything about what follows; the rest is no context."""
    depth = min(longest, len(table) - 2)
    while depth > 0 and found[depth, 1] >= found[depth, 2]:
        depth -= 1
    return depth


@kernel
def score_text(
    data: Words, table: Ints, discounts_NR: Floats, unigrams: Floats, near_J3: Ints, weights_J2: Floats,
    start_chain: Ints, ids: Ids, start: int, out: Floats,
) -> None:  # fmt: skip
    """P of every word of a text, 1 at each `<s>`; an id above that of `<s>` empties the context."""
    chain, found = np.zeros((DEEPEST + 1, 3), np.int64), np.zeros((DEEPEST + 1, 3), np.int64)
    depth = 0
    for t in range(len(ids)):
        word = int64(ids[t])
        if word >= start:
            out[t] = 1.0
            depth = start_chain[0, 0] if word == start else 0
            chain[1 : depth + 1] = start_chain[1 : depth + 1]
            continue
        out[t], longest = step(data, table, discounts_NR, unigrams, near_J3, weights_J2, word, chain, depth, found)
        depth = rested(table, found, longest)
        chain, found = found, chain


@kernel
def chain_of(data: Words, table: Ints, levels: Ints, node: int, chain: Ints) -> int:
    """The contexts of a state by their number of words, itself the longest; that number. 0 for what is no context."""
    depth = 0
    while depth + 1 < len(levels) - 1 and node >= levels[depth + 1]:
        depth += 1
    if depth == 0 or depth > len(table) - 2 or node < 1:
        return 0
    chain[depth, 0] = node - levels[depth]
    ranks = np.zeros(DEEPEST + 1, np.int64)
    for long in range(depth, 1, -1):  # the suffix of chain[long]: its words from the first, each found by its rank
        i = chain[long, 0]
        for n in range(long, 1, -1):
            prefix = place_of(data, table[n, POINTERS], i, 1) - i - 1
            first, _ = followers(data, table, n, prefix)
            ranks[n] = grown(data, table, n, i) - base_of(data, table, n, first)
            i = prefix
        shorter = ranks[2]
        for n in range(3, long + 1):
            first, _ = followers(data, table, n - 1, shorter)
            shorter = first + ranks[n]
        chain[long - 1, 0] = min(max(0, shorter), levels[long] - levels[long - 1] - 1)
    for k in range(1, depth + 1):
        chain[k, 1], chain[k, 2] = followers(data, table, k + 1, chain[k, 0])
    return depth


@kernel
def advance(
    data: Words, table: Ints, discounts_NR: Floats, unigrams: Floats, near_J3: Ints, weights_J2: Floats, levels: Ints,
    start_state: int, start: int, states: Ints, next_words: Ids, new_states: Ints, nodes: Ints, out: Floats,
) -> None:  # fmt: skip
    """P of one word after each state, the n-gram it was found as, and the states after it, as nodes of the trie."""
    chain, found = np.zeros((DEEPEST + 1, 3), np.int64), np.zeros((DEEPEST + 1, 3), np.int64)
    for b in range(len(states)):
        word = int64(next_words[b])
        if word >= start:
            out[b], nodes[b], new_states[b] = 1.0, 0, start_state if word == start else 0
            continue
        depth = chain_of(data, table, levels, states[b], chain)
        out[b], longest = step(data, table, discounts_NR, unigrams, near_J3, weights_J2, word, chain, depth, found)
        nodes[b] = levels[longest] + found[longest, 0]
        depth = rested(table, found, longest)
        new_states[b] = levels[depth] + found[depth, 0] if depth > 0 else 0


@kernel
def below(
    data: Words, table: Ints, discounts_NR: Floats, levels: Ints, states: Ints, shorter: Ints, fallbacks: Floats
) -> None:  # fmt: skip
    """The context one word shorter than each state, and the state's fallback; nothing for the empty context."""
    chain = np.zeros((DEEPEST + 1, 3), np.int64)
    for b in range(len(states)):
        depth = chain_of(data, table, levels, states[b], chain)
        if depth > 0:
            context, first, end = chain[depth]
            shorter[b] = levels[depth - 1] + chain[depth - 1, 0] if depth > 1 else 0
            fallbacks[b] = weighed(data, table, depth + 1, discounts_NR, context, first, end)[0]


@kernel
def distributions(
    data: Words, table: Ints, discounts_NR: Floats, unigrams: Floats, levels: Ints, states: Ints, out_BJ: AnyFloats
) -> None:  # fmt: skip
    """P of every word after each state: the unigrams, then each longer context over them."""
    chain = np.zeros((DEEPEST + 1, 3), np.int64)
    last = discounts_NR.shape[1] - 1
    for b in range(len(states)):
        out = out_BJ[b]
        out[:] = unigrams
        depth = chain_of(data, table, levels, states[b], chain)
        words = np.empty(0, np.int64)
        for k in range(1, depth + 1):
            first, end = chain[k, 1], chain[k, 2]
            fallback, scale = weighed(data, table, k + 1, discounts_NR, chain[k, 0], first, end)
            out *= out.dtype.type(fallback)
            own = np.empty(max(0, end - first), np.int64)
            ranks_of(data, table, k + 1, first, end, own)
            for i in range(end - first):
                own[i] = own[i] if k == 1 else words[own[i]] if 0 <= own[i] < len(words) else -1
                r = count_of(data, table, k + 1, first + i)
                if r > 0 and 0 <= own[i] < len(out):
                    out[own[i]] += out.dtype.type((r - discounts_NR[k, min(r, last)]) * scale)
            words = own


@kernel
def ranks_of(data: Words, table: Ints, n: int, first: int, end: int, out: Ints) -> None:
    """The ranks of a context's followers, one after the other."""
    if first >= end:
        return
    base, bits = base_of(data, table, n, first), table[n, LOW_BITS]
    place = place_of(data, table[n, HIGH], first, 0)
    for i in range(first, end):
        out[i - first] = (((place - i) << bits) | number(data, table[n, LOW], bits, i)) - base
        place = next_one(data, table[n, HIGH], place + 1)
