"""Kernels of the index: one look at a table tells whether a word follows a context, and with what probability.

The table is open addressing over (context, word) in buckets of one cache line, or two where numbers have 64 bits:

    key, key, key, key, probability, backoff, probability, backoff, probability, backoff, probability, backoff

A key is the number of the context and that of the word plus 1; 0 is an empty slot. Two signs are used for marks: a
backoff is negative where nothing follows the n-gram, so that it is no context; the first probability of a bucket is
negative where an n-gram of this bucket stands in a later one, so that most searches in vain end in the first bucket.

The number of a context is that of the slot where it stands as an n-gram. So whoever has found a word after contexts of
one, two, three words has the contexts of two, three, four words for the next word at hand, and needs nothing else of
the model: not one look after the other down to the longest n-gram, but all looks of a word at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numpy.typing import NDArray

from modlm.counts.search_kernels import NOT_FOUND, ONE, comparison, lowest_bit, prefetch
from modlm.ground.arrays import AnyFloats, Floats, Ids, Ints, inlined, intrinsic, kernel
from modlm.model.ngram.compiled_kernels import Records, probability_of

MULTIPLIER, HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
TWO, THREE, FOUR, EIGHT = np.uint64(2), np.uint64(3), np.uint64(4), np.uint64(8)
SLOTS = 4  # in a bucket
NO_CONTEXT = np.uint64(0xFFFFFFFF)  # no slot has this number
AHEAD = 64  # entries whose buckets are asked for before the first of them is written
Table = NDArray[np.uint64]
Reals = AnyFloats  # the table seen as probabilities and backoffs: a bucket has 16 of them, or as many places
equal_keys = comparison(SLOTS, bits=64)


@inlined
def bucket_of(key: np.uint64, buckets: np.uint64) -> np.uint64:
    """Where a key belongs, whatever the number of buckets (below 2^32)."""
    mixed = key * MULTIPLIER
    mixed = (mixed ^ mixed >> HALF) * MULTIPLIER
    return (mixed >> HALF) * buckets >> HALF


@inlined
def key_of(context: np.uint64, word: np.uint64) -> np.uint64:
    """What a word after a context is known by."""
    return context << HALF | word + ONE


@intrinsic
def wide(typing_context: Any, reals: Any) -> Any:
    """1 if numbers have 64 bits, 0 if 32; known when the kernel is compiled."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_constant(types.uint64, reals.dtype.bitwidth // 64)

    return types.uint64(reals), generate


@inlined
def keys_at(bucket: np.uint64, reals: Reals) -> np.uint64:
    """Where the keys of a bucket are in the table."""
    place: np.uint64 = bucket << THREE + wide(reals)
    return place


@inlined
def pair_at(bucket: np.uint64, slot: np.uint64, reals: Reals) -> np.uint64:
    """Where the probability of a slot is, after which its backoff comes."""
    place: np.uint64 = (bucket << FOUR) + (EIGHT >> wide(reals)) + (slot << ONE)
    return place


@inlined
def overflowed(reals: Reals, bucket: np.uint64) -> bool:
    """Whether an n-gram of this bucket stands in a later one."""
    return bool(np.signbit(reals[pair_at(bucket, NOT_FOUND, reals)]))


@inlined
def marked_backoff(nodes: Records, node: np.uint64) -> float:
    """The backoff of a node, negative if nothing follows it and it has none to speak of."""
    if node >= np.uint64(len(nodes) - 1):
        return -1.0
    backoff = float(nodes[node].backoff)
    return -backoff if nodes[node].first == nodes[node + ONE].first and backoff == 1.0 else backoff


@kernel
def enter_ngrams(
    words: Ids, nodes: Records, leaves: Records, levels: Ints, numbers: Ids, table: Table, reals: Reals, unigrams: Reals
) -> None:  # fmt: skip
    """Fill the table, order by order, and the `numbers` of all contexts; a damaged file's surplus is left out.

    Entries wait for others, so that the memory of their buckets is asked for together: 1.7 times as fast.
    """
    places, keys, entries = np.empty(AHEAD, np.uint64), np.empty(AHEAD, np.uint64), np.empty(AHEAD, np.uint64)
    pairs = np.empty((AHEAD, 2), reals.dtype)
    inner, total, buckets = np.uint64(len(nodes) - 1), np.uint64(len(words)), np.uint64(len(reals)) >> FOUR
    for word in range(len(unigrams)):
        node = np.uint64(word) + ONE
        unigrams[word, 0], unigrams[word, 1] = probability_of(nodes, leaves, node), marked_backoff(nodes, node)
        numbers[min(node, inner)] = word
    room = max(total, np.uint64(levels[2])) - np.uint64(levels[2])
    waiting = 0
    for order in range(1, len(levels) - 2):
        for at in range(levels[order], levels[order + 1]):
            context = np.uint64(at)
            node, end = np.uint64(nodes[context].first), min(np.uint64(nodes[context + ONE].first), total)
            while node < end and room > NOT_FOUND:
                keys[waiting] = key_of(np.uint64(numbers[context]), np.uint64(words[node]))
                places[waiting], entries[waiting] = bucket_of(keys[waiting], buckets), node
                prefetch(table, keys_at(places[waiting], reals))
                pairs[waiting, 0], pairs[waiting, 1] = probability_of(nodes, leaves, node), marked_backoff(nodes, node)
                waiting += 1
                if waiting == AHEAD:
                    put(table, reals, places, keys, pairs, entries, waiting, numbers, len(unigrams))
                    waiting = 0
                node += ONE
                room -= ONE
        put(table, reals, places, keys, pairs, entries, waiting, numbers, len(unigrams))
        waiting = 0


@kernel
def put(
    table: Table, reals: Reals, places: Table, keys: Table, pairs: Reals, entries: Table, count: int,
    numbers: Ids, first_number: int,
) -> None:  # fmt: skip
    """Write entries into the next free slots from their buckets on, and tell the contexts where they are."""
    buckets, inner = np.uint64(len(reals)) >> FOUR, np.uint64(len(numbers) - 1)
    for i in range(count):
        bucket, slot = places[i], NOT_FOUND
        while table[keys_at(bucket, reals) + slot] != NOT_FOUND:
            slot += ONE
            if slot == FOUR:
                first = pair_at(bucket, NOT_FOUND, reals)
                reals[first] = -abs(reals[first])
                bucket, slot = (bucket + ONE) % buckets, NOT_FOUND
        table[keys_at(bucket, reals) + slot] = keys[i]
        pair = pair_at(bucket, slot, reals)
        reals[pair], reals[pair + ONE] = pairs[i, 0], pairs[i, 1]
        if entries[i] < inner:
            numbers[entries[i]] = np.uint64(first_number) + (bucket << TWO | slot)


@kernel
def score_indexed(
    table: Table, reals: Reals, unigrams: Reals, start_contexts: Table, start_backoffs: Floats, bits: int,
    ids: Ids, start: int, lanes: Ints, out: Floats,
) -> None:  # fmt: skip
    """What `score_text` of the compiled kernels gives, through the index; a lane has room for 2^bits contexts.

    Every round takes each lane one word further. The buckets of the word after all of a lane's contexts were asked for
    in the round before; they are looked at from the longest context down. The longest that is found gives the
    probability, and each that is found is a context, one word longer, for the next word.
    """
    place, stop = np.empty(len(lanes), np.uint64), np.empty(len(lanes), np.uint64)
    depth, shift = np.zeros(len(lanes), np.uint64), np.uint64(bits)
    context, bucket = np.empty(len(lanes) << bits, np.uint64), np.empty(len(lanes) << bits, np.uint64)
    backoff = np.empty(len(lanes) << bits, np.float64)
    words, buckets = np.uint64(start), np.uint64(len(reals)) >> FOUR
    first_number = words + ONE
    active = np.uint64(0)
    lane: Any
    for lane in range(len(lanes) - 1):
        if lanes[lane] < lanes[lane + 1]:
            place[active], stop[active] = lanes[lane], lanes[lane + 1]
            active += ONE
    while active > NOT_FOUND:
        lane = NOT_FOUND
        while lane < active:
            t, row = place[lane], lane << shift
            word = np.uint64(ids[t])
            longest = NOT_FOUND  # contexts for the next word
            if word < words:
                level, weight, prob = depth[lane], 1.0, reals.dtype.type(-1.0)
                while level > NOT_FOUND:
                    here = row + level - ONE
                    at, key = bucket[here], key_of(context[here], word)
                    mask = equal_keys(table, keys_at(at, reals), key)
                    while mask == NOT_FOUND and overflowed(reals, at):
                        at = at + ONE if at + ONE < buckets else NOT_FOUND
                        mask = equal_keys(table, keys_at(at, reals), key)
                    if mask != NOT_FOUND:
                        slot = lowest_bit(mask)
                        pair = pair_at(at, slot, reals)
                        prob = abs(reals[pair]) if prob < 0 else prob
                        own = reals[pair + ONE]
                        longest = level + ONE if longest == NOT_FOUND and own >= 0 else longest
                        context[here + ONE], backoff[here + ONE] = first_number + (at << TWO | slot), abs(own)
                    else:
                        weight = weight * backoff[here] if prob < 0 else weight
                        context[here + ONE], backoff[here + ONE] = NO_CONTEXT, 1.0
                    level -= ONE
                prob = unigrams[word, 0] if prob < 0 else prob
                context[row], backoff[row] = word, abs(unigrams[word, 1])
                longest = ONE if longest == NOT_FOUND and unigrams[word, 1] >= 0 else longest
                out[t] = weight * prob
            else:
                out[t] = 1.0
                if word == words:
                    longest = np.uint64(len(start_contexts))
                    for i in range(len(start_contexts)):
                        context[row + np.uint64(i)], backoff[row + np.uint64(i)] = start_contexts[i], start_backoffs[i]
            depth[lane] = longest
            t += ONE
            place[lane] = t
            if t == stop[lane]:
                active -= ONE  # this lane is through; the last one takes its place
                place[lane], stop[lane], depth[lane] = place[active], stop[active], depth[active]
                for i in range(depth[active]):
                    here, there = row + np.uint64(i), (active << shift) + np.uint64(i)
                    context[here], backoff[here], bucket[here] = context[there], backoff[there], bucket[there]
                continue
            word = np.uint64(ids[t])
            for i in range(longest):
                here = row + np.uint64(i)
                bucket[here] = bucket_of(key_of(context[here], word), buckets)
                prefetch(table, keys_at(bucket[here], reals))
            lane += ONE
