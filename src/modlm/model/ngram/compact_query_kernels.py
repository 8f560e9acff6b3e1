"""Kernels that answer queries from the compact n-gram form: probabilities worked out when they are asked for.

Queries go from short contexts to long ones, and end at the first that was never followed by the word. A chain has a row
for each context, by its number of words: which n-gram it is, its first follower, their end.
"""

from __future__ import annotations

import numpy as np

from modlm.ground.arrays import AnyFloats, Floats, Ids, Ints, Words, inlined, int64, kernel
from modlm.ground.bit_kernels import ask_bit, ask_line, ask_sample, place_of
from modlm.ground.memory_kernels import borrowed, prefetch
from modlm.model.ngram.compact_kernels import (
    base_of,
    find,
    followers,
    grown,
    ranks_of,
    shares_of,
    weighed,
    with_own,
)  # fmt: skip
from modlm.model.ngram.compact_layout import BIG, DEEPEST, HIGH, LEVELS, LOW, LOW_BITS, POINTERS, PROBS

LANES = 32  # walked side by side


@kernel
def look_ahead(data: Words, table: Ints, discounts_NR: Floats, near_J3: Ints, weights_J2: Floats) -> None:
    """What every query reads of contexts of one word: followers, what their ranks have grown by, and weights."""
    base = 0
    for word in range(len(near_J3)):
        first, end = followers(data, table, 2, word)
        near_J3[word, 0], near_J3[word, 1], near_J3[word, 2] = first, end, base
        weights_J2[word, 0], weights_J2[word, 1] = weighed(data, table, 2, discounts_NR, word, first, end, 0)
        if first < end:
            base = grown(data, table, 2, end - 1) + 1


@kernel
def steps(
    data: Words, table: Ints, discounts_NR: Floats, unigrams: Floats, near_J3: Ints, weights_J2: Floats,
    words_L: Ints, live: int, chain_LD3: Ints, depth_L: Ints, found_LD3: Ints, told_L2: Ints, prob_L: Floats,
) -> None:  # fmt: skip
    """P of a word in each lane after the contexts of its chain; `found` gets the n-grams there are, with followers.

    `told` gets the longest order found, and the longest that says anything itself. Orders are taken in passes over the
    lanes, so that what one lane waits for is fetched while others work.
    """
    data, table, discounts_NR = borrowed(data), borrowed(table), borrowed(discounts_NR)
    unigrams, near_J3, weights_J2 = borrowed(unigrams), borrowed(near_J3), borrowed(weights_J2)
    words_L, chain_LD3, found_LD3 = borrowed(words_L), borrowed(chain_LD3), borrowed(found_LD3)
    depth_L, told_L2, prob_L = borrowed(depth_L), borrowed(told_L2), borrowed(prob_L)
    scale_L, (picked_L, base_L, rank_L, hit_L) = np.empty(live), np.empty((4, live), np.int64)
    for j in range(live):
        word = words_L[j]
        prob_L[j], told_L2[j, 0], told_L2[j, 1] = unigrams[word], 1, 1
        found_LD3[j, 1, 0], found_LD3[j, 1, 1], found_LD3[j, 1, 2] = word, near_J3[word, 0], near_J3[word, 1]
    for k in range(1, len(table) - 1):
        deep, picked = 0, 0
        for j in range(live):
            if depth_L[j] >= k:
                deep += 1
                context, first, end = chain_LD3[j, k, 0], chain_LD3[j, k, 1], chain_LD3[j, k, 2]
                if k == 1:
                    fallback, scale = weights_J2[context, 0], weights_J2[context, 1]
                else:
                    fallback, scale = weighed(
                        data, table, k + 1, discounts_NR, context, first, end, chain_LD3[j, k - 1, 1]
                    )  # fmt: skip
                prob_L[j] *= fallback
                scale_L[j] = scale
                picked_L[picked] = j
                picked += told_L2[j, 0] == k
        if deep == 0:
            break
        bits, highs = table[k + 1, LOW_BITS], table[k + 1, HIGH]
        for p in range(picked if k > 1 else 0):
            first = chain_LD3[picked_L[p], k, 1]
            ask_line(data, highs, first - 1, 0)
            prefetch(data, np.uint64(table[k + 1, LOW] + (first * bits >> 6)))
        for p in range(picked):
            j = picked_L[p]
            first = chain_LD3[j, k, 1]
            base_L[p] = near_J3[chain_LD3[j, k, 0], 2] if k == 1 else base_of(data, table, k + 1, first)
            rank_L[p] = words_L[j] if k == 1 else found_LD3[j, k, 0] - chain_LD3[j, k - 1, 1]
            ask_sample(data, highs, (base_L[p] + rank_L[p]) >> bits, 1)
        for p in range(picked):
            ask_line(data, highs, (base_L[p] + rank_L[p]) >> bits, 1)
        for p in range(picked):
            j = picked_L[p]
            first, end = chain_LD3[j, k, 1], chain_LD3[j, k, 2]
            hit_L[p] = find(data, table, k + 1, first, end, base_L[p], rank_L[p])
        more = k + 2 < len(table)
        for p in range(picked):
            if hit_L[p] >= 0:
                ask_value(data, table, k + 1, hit_L[p])
                if more:
                    ask_sample(data, table[k + 2, POINTERS], hit_L[p], 0)
        for p in range(picked):
            if hit_L[p] >= 0 and more:
                ask_line(data, table[k + 2, POINTERS], hit_L[p], 0)
        for p in range(picked):
            j, i = picked_L[p], hit_L[p]
            if i >= 0:
                prob_L[j], tells = with_own(data, table, k + 1, discounts_NR, i, scale_L[j], prob_L[j])
                told_L2[j, 0] = k + 1
                told_L2[j, 1] = k + 1 if tells else told_L2[j, 1]
                found_LD3[j, k + 1, 0] = i
                if more:
                    first, end = followers(data, table, k + 2, i)
                    found_LD3[j, k + 1, 1], found_LD3[j, k + 1, 2] = first, end
                    ask_sample(data, table[k + 2, HIGH], first - 1, 0)
                    if table[k + 2, BIG]:
                        ask_bit(data, table[k + 2, BIG], i)
                    ask_value(data, table, k + 2, first)


@inlined
def ask_value(data: Words, table: Ints, n: int, i: int) -> None:
    """Ask for the count or the probability of an n-gram."""
    if table[n, PROBS]:
        width = int64(data[table[n, PROBS]])
        prefetch(data, np.uint64(table[n, PROBS] + 1 + (i * width >> 6)))
    else:
        ask_bit(data, table[n, LEVELS], i)


@inlined
def rested(table: Ints, found_LD3: Ints, j: int, longest: int) -> int:
    """How many words of what was found tell anything about what follows; the rest is no context."""
    depth = min(longest, len(table) - 2)
    while depth > 0 and found_LD3[j, depth, 1] >= found_LD3[j, depth, 2]:
        depth -= 1
    return depth


@kernel
def score_text(
    data: Words, table: Ints, discounts_NR: Floats, unigrams: Floats, near_J3: Ints, weights_J2: Floats,
    start_chain: Ints, ids: Ids, start: int, cuts: Ints, out: Floats,
) -> None:  # fmt: skip
    """P of every word of a text, 1 at each `<s>`, the stretches between `cuts` side by side.

    An id above that of `<s>` empties the context.
    """
    lanes, table = len(cuts) - 1, borrowed(table)
    chain_LD3, found_LD3 = np.zeros((2, lanes, len(table) + 1, 3), np.int64)
    place_L, stop_L, depth_L, words_L = np.zeros((4, lanes), np.int64)
    told_L2, prob_L = np.zeros((lanes, 2), np.int64), np.zeros(lanes)
    place_L[:], stop_L[:] = cuts[:-1], cuts[1:]
    live = lanes
    while live > 0:
        j = 0
        while j < live:
            t = place_L[j]
            while t < stop_L[j] and int64(ids[t]) >= start:
                out[t] = 1.0
                depth_L[j] = start_chain[0, 0] if ids[t] == start else 0
                chain_LD3[j, 1 : depth_L[j] + 1] = start_chain[1 : depth_L[j] + 1]
                t += 1
            place_L[j] = t
            if t < stop_L[j]:
                words_L[j] = ids[t]
                j += 1
            else:  # this lane is through; the last one takes its place
                live -= 1
                place_L[j], stop_L[j], depth_L[j] = place_L[live], stop_L[live], depth_L[live]
                chain_LD3[j] = chain_LD3[live]
        steps(
            data, table, discounts_NR, unigrams, near_J3, weights_J2, words_L, live, chain_LD3, depth_L, found_LD3,
            told_L2, prob_L,
        )  # fmt: skip
        for j in range(live):
            out[place_L[j]] = prob_L[j]
            depth_L[j] = rested(table, found_LD3, j, told_L2[j, 0])
            place_L[j] += 1
        chain_LD3, found_LD3 = found_LD3, chain_LD3


@kernel
def chain_of(data: Words, table: Ints, levels: Ints, node: int, chain: Ints) -> int:
    """The contexts of a state by their number of words, itself the longest; that number. 0 for what is no context."""
    data, table = borrowed(data), borrowed(table)
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
    lanes = min(LANES, len(states))
    chain_LD3, found_LD3 = np.zeros((2, lanes, len(table) + 1, 3), np.int64)
    place_L, depth_L, words_L = np.zeros((3, lanes), np.int64)
    told_L2, prob_L = np.zeros((lanes, 2), np.int64), np.zeros(lanes)
    b = 0
    while b < len(states):
        live = 0
        while b < len(states) and live < lanes:
            word = int64(next_words[b])
            if word >= start:
                out[b], nodes[b], new_states[b] = 1.0, 0, start_state if word == start else 0
            else:
                place_L[live], words_L[live] = b, word
                depth_L[live] = chain_of(data, table, levels, states[b], chain_LD3[live])
                live += 1
            b += 1
        steps(
            data, table, discounts_NR, unigrams, near_J3, weights_J2, words_L, live, chain_LD3, depth_L, found_LD3,
            told_L2, prob_L,
        )  # fmt: skip
        for j in range(live):
            at_b, seen = place_L[j], told_L2[j, 1]
            out[at_b], nodes[at_b] = prob_L[j], levels[seen] + found_LD3[j, seen, 0]
            depth = rested(table, found_LD3, j, told_L2[j, 0])
            new_states[at_b] = levels[depth] + found_LD3[j, depth, 0] if depth > 0 else 0


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
            fallbacks[b] = weighed(
                data, table, depth + 1, discounts_NR, context, first, end, chain[depth - 1, 1]
            )[0]  # fmt: skip


@kernel
def distributions(
    data: Words, table: Ints, discounts_NR: Floats, unigrams: Floats, lowest: AnyFloats, as_logs: bool, levels: Ints,
    states: Ints, out_BJ: AnyFloats,
) -> None:  # fmt: skip
    """P of every word after each state, or its logarithm: `lowest`, the unigrams, with all fallbacks, and followers.

    Whatever follows a context follows its last word, so only the followers of that are gone through.
    """
    chain = np.zeros((DEEPEST + 1, 3), np.int64)
    for b in range(len(states)):
        depth = chain_of(data, table, levels, states[b], chain)
        size = max(0, chain[1, 2] - chain[1, 1]) if depth > 0 else 0
        words, places, probs, through = np.empty(size, np.int64), np.empty(0, np.int64), np.empty(size), 1.0
        for k in range(1, depth + 1):
            first, end = chain[k, 1], chain[k, 2]
            fallback, scale = weighed(
                data, table, k + 1, discounts_NR, chain[k, 0], first, end, chain[k - 1, 1]
            )  # fmt: skip
            through *= fallback
            own, share = np.empty(max(0, end - first), np.int64), np.empty(max(0, end - first))
            ranks_of(data, table, k + 1, first, end, own)
            shares_of(data, table, k + 1, discounts_NR, first, end, share)
            for i in range(len(own) if k == 1 else 0):
                words[i] = own[i] if 0 <= own[i] < len(unigrams) else -1
                probs[i], own[i] = unigrams[max(0, words[i])], i
            for i in range(len(own) if k > 1 else 0):
                own[i] = places[own[i]] if 0 <= own[i] < len(places) else -1
            probs *= fallback
            for i in range(len(own)):
                if own[i] >= 0 and share[i] >= 0.0:
                    probs[own[i]] = share[i] if table[k + 1, PROBS] else probs[own[i]] + share[i] * scale
            places = own
        out, factor = out_BJ[b], out_BJ.dtype.type(np.log(through) if as_logs else through)
        for word in range(len(out)):
            out[word] = lowest[word] + factor if as_logs else lowest[word] * factor
        for i in range(size):
            if words[i] >= 0:
                out[words[i]] = np.log(probs[i]) if as_logs else probs[i]
