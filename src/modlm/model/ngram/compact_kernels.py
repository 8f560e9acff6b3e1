"""Kernels of the compact n-gram form: counts in bits, probabilities worked out when they are asked for.

`compact_layout` says where everything is. Queries go from short contexts to long ones, and end at the first that was
never followed by the word.
"""

from __future__ import annotations

import numpy as np

from modlm.ground.arrays import AnyFloats, Bools, Floats, Ids, Ints, Words, inlined, int64, kernel
from modlm.ground.bit_kernels import at, bit, next_one, number, ones_before, ones_in, place_of, set_number, some_bits
from modlm.model.ngram.compact_layout import (
    BIG, BITS, DEEPEST, FALLBACKS, HIGH, LEAST, LEVELS, LOW, LOW_BITS, MANY, POINTERS, REALS, SUMS,
)  # fmt: skip

PLAIN = 2  # levels whose counts are one value each
SCANNED = 8  # followers that are looked at one by one


# ---- one order ---------------------------------------------------------------------------------------------------------


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
            return value if BITS[level] == 0 else value + number(data, numbers, BITS[level], i - ones_before(data, flags, i))
        value += 1 << BITS[level]
        i = ones_before(data, flags, i)
    return value


@kernel
def weighed(data: Words, table: Ints, n: int, discounts_NR: Floats, context: int, first: int, end: int) -> tuple[float, float]:
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


# ---- chains of contexts ------------------------------------------------------------------------------------------------
# A chain has a row for each context, by its number of words: which n-gram it is, its first follower, and the end of these.


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
    """The context one word shorter than each state, and the state's fallback; nothing is written for the empty context."""
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


# ---- there and back ----------------------------------------------------------------------------------------------------


@kernel
def last_grown(words: Ids, first: Ids, suffix: Ids, low: int, high: int, ranked: bool) -> int:
    """The largest rank as it grows through the followers of the contexts low..high-1."""
    base = 0
    for context in range(low, high):
        end = int64(first[context + 1])
        if int64(first[context]) < end:
            base += _rank(words, first, suffix, context, end - 1, ranked) + 1
    return base


@inlined
def _rank(words: Ids, first: Ids, suffix: Ids, context: int, node: int, ranked: bool) -> int:
    return int64(suffix[node]) - int64(first[int64(suffix[context])]) if ranked else int64(words[node])


@kernel
def encode(
    words: Ids, first: Ids, suffix: Ids, low: int, high: int, ranked: bool, bits: int,
    pointers: Words, lows: Words, highs: Words,
) -> None:  # fmt: skip
    """Pointers, low and high bits of the followers of the contexts low..high-1, into zeros."""
    base, begin = 0, int64(first[low])
    mask = (1 << bits) - 1
    for context in range(low, high):
        start, end = int64(first[context]), int64(first[context + 1])
        place = (context - low) + (start - begin)
        pointers[place >> 6] |= np.uint64(1) << np.uint64(place & 63)
        value = base - 1
        for node in range(start, end):
            value = base + _rank(words, first, suffix, context, node, ranked)
            i = node - begin
            set_number(lows, bits, i, value & mask)
            place = (value >> bits) + i
            highs[place >> 6] |= np.uint64(1) << np.uint64(place & 63)
        base = value + 1


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
        pointer = next_one(data, table[n, POINTERS], pointer + 1)
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
            place = next_one(data, table[n, HIGH], place + 1)
            i += 1
        base = value + 1
    return high < here - above or i == size


@kernel
def decode_counts(data: Words, table: Ints, n: int, low: int, high: int, out: np.ndarray) -> None:
    """The counts of the n-grams low..high-1 of an order."""
    places = np.zeros(len(BITS), np.int64)
    places[0] = low
    for level in range(1, len(BITS)):
        places[level] = ones_before(data, table[n, LEVELS + 2 * level - 2], places[level - 1])
    for i in range(low, high):
        value = table[n, LEAST]
        for level in range(len(BITS)):
            flags, numbers, place = table[n, LEVELS + 2 * level], table[n, LEVELS + 2 * level + 1], places[level]
            places[level] += 1
            last = level + 1 == len(BITS)
            if last or not bit(data, flags, place):
                value += number(data, numbers, BITS[level], place if last else place - places[level + 1])
                break
            value += 1 << BITS[level]
        out[i - low] = value


@kernel
def add_along(suffix: Ids, frequencies: np.ndarray, low: int, high: int, out: np.ndarray) -> None:
    """Add the frequencies of the nodes low..high-1 to those of their suffixes."""
    for node in range(low, high):
        out[int64(suffix[node])] += frequencies[node]
