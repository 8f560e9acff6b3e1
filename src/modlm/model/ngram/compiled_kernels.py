"""Kernels of the compiled n-gram form: estimate it, walk texts through it, write out whole distributions.

A query looks for the word among the followers of the longest context, then of ever shorter ones, multiplying the
backoffs on the way; a node found knows its own suffixes, so nothing is searched twice. Probabilities are kept plain,
not as logarithms: a distribution is then copying and scaling, and scoring takes one logarithm a word at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from modlm.counts.search_kernels import NOT_FOUND, ONE, WIDTH, among, find, prefetch
from modlm.ground.arrays import AnyFloats, Floats, Ids, Ints, inlined, int64, kernel

Records = NDArray[np.void]
DEEPEST = 64  # contexts of contexts; no order comes near it


@kernel
def interpolate(
    counts: np.ndarray, discounts: Floats, low: int, high: int, kept: Floats, fallback: Floats,
    nodes: Records, own: Records, base: int,
) -> None:  # fmt: skip
    """Probabilities of the followers of contexts low..high-1, and the contexts' backoffs.

    P(w | c) = (1 - fallback) (r - discount) / kept + fallback P(w | shorter c). The followers are own[node - base].
    """
    last = len(discounts) - 1
    for context in range(low, high):
        alpha, mass = fallback[context - low], kept[context - low]
        nodes[context].backoff = alpha
        scale = (1.0 - alpha) / mass if mass > 0 else 0.0
        first, end = int64(nodes[context].first), int64(nodes[context + 1].first)
        for node in range(max(first, base), min(end, base + len(own))):
            r = int64(counts[node])
            part = (r - discounts[min(r, last)]) * scale if r > 0 else 0.0
            below = int64(own[node - base].suffix)
            own[node - base].prob = part + alpha * (nodes[below].prob if below < len(nodes) else 0.0)


@kernel
def follower(words: Ids, nodes: Records, context: np.uint64, word: np.uint32) -> np.uint64:
    """The node of a word after a context, or 0; nothing follows where the ranges of a damaged file make no sense."""
    low, high = np.uint64(nodes[context].first), min(np.uint64(nodes[context + ONE].first), np.uint64(len(words)))
    return find(words, low, high, word) if low < high else NOT_FOUND


@inlined
def shorter(nodes: Records, context: np.uint64) -> np.uint64:
    """The context one step down, always a smaller node."""
    below = np.uint64(nodes[context].suffix)
    return below if below < context else NOT_FOUND


@inlined
def probability_of(nodes: Records, leaves: Records, node: np.uint64) -> float:
    """The probability of an n-gram of any order."""
    inner = np.uint64(len(nodes) - 1)
    prob: float = nodes[node].prob if node < inner else leaves[node - inner].prob
    return prob


@inlined
def resting_place(nodes: Records, leaves: Records, node: np.uint64) -> np.uint64:
    """The longest suffix of an n-gram, itself included, that tells anything about what follows: the state after it.

    Foreign ARPA files may give a backoff to an n-gram that nothing follows; that is told apart from having none.
    """
    inner = np.uint64(len(nodes) - 1)
    if node >= inner:
        node = np.uint64(leaves[node - inner].suffix)
        node = node if node < inner else NOT_FOUND
    while node != NOT_FOUND and nodes[node].first == nodes[node + ONE].first and nodes[node].backoff == 1.0:
        node = shorter(nodes, node)
    return node


@kernel
def longest(words: Ids, nodes: Records, context: np.uint64, word: np.uint32) -> tuple[np.uint64, float]:
    """The longest n-gram that ends in the word, and the product of the backoffs on the way to it."""
    weight = 1.0
    while context != NOT_FOUND:
        node = follower(words, nodes, context, word)
        if node != NOT_FOUND:
            return node, weight
        weight *= nodes[context].backoff
        context = shorter(nodes, context)
    return ONE + np.uint64(word), weight


@kernel
def score_text(
    words: Ids, nodes: Records, leaves: Records, start_state: int, ids: Ids, start: int, lanes: Ints, out: Floats
) -> None:  # fmt: skip
    """P of every word of a text, 1 at each `<s>`; the stretches between `lanes` are walked side by side.

    Walking one sentence to its end would wait for memory at every step. So each round takes every lane one search
    further, in passes over the lanes, and each pass asks for the memory that the next one will read: where the
    followers of each context lie; halving of the long ranges, all lanes together; the comparison of what is left; what
    was found. As in `advance`, an id above that of `<s>` empties the context.
    """
    place, stop = np.empty(len(lanes), np.uint64), np.empty(len(lanes), np.uint64)
    context, weight = np.empty(len(lanes), np.uint64), np.empty(len(lanes), np.float64)
    word, long_lanes = np.empty(len(lanes), np.uint32), np.empty(len(lanes), np.uint64)
    low, size = np.empty(len(lanes), np.uint64), np.empty(len(lanes), np.uint64)
    total, inner = np.uint64(len(words)), np.uint64(len(nodes) - 1)
    active = np.uint64(0)
    lane: Any
    for lane in range(len(lanes) - 1):
        if lanes[lane] < lanes[lane + 1]:
            place[active], stop[active] = lanes[lane], lanes[lane + 1]
            context[active], weight[active], word[active] = 0, 1.0, ids[lanes[lane]]
            active += ONE
    while active > NOT_FOUND:
        longer = NOT_FOUND
        for i in range(active):
            lane = np.uint64(i)
            here = context[lane]
            begin, end = np.uint64(nodes[here].first), np.uint64(nodes[here + ONE].first)
            if here == NOT_FOUND:  # every word follows the empty context, in its own place
                begin = np.uint64(word[lane]) + ONE
                end = begin + ONE
            end = min(end, total)
            room = end - begin if begin < end else NOT_FOUND
            low[lane], size[lane] = begin, room
            long_lanes[longer] = lane
            if room > WIDTH:
                longer += ONE
            prefetch(words, begin + (room >> ONE))
        while longer > NOT_FOUND:
            left = NOT_FOUND
            for i in range(longer):
                lane = long_lanes[np.uint64(i)]
                room = size[lane]
                half = room >> ONE
                middle = low[lane] + half
                begin = middle if words[middle] <= word[lane] else low[lane]
                room -= half
                low[lane], size[lane] = begin, room
                prefetch(words, begin + (room >> ONE))
                long_lanes[left] = lane
                if room > WIDTH:
                    left += ONE
            longer = left
        for i in range(active):
            lane = np.uint64(i)
            node = among(words, low[lane], size[lane], word[lane]) if size[lane] != NOT_FOUND else NOT_FOUND
            low[lane] = node
            if node >= inner:
                prefetch(leaves, node - inner)
            else:
                prefetch(nodes, node if node != NOT_FOUND else np.uint64(nodes[context[lane]].suffix))
        lane = NOT_FOUND
        while lane < active:
            t = place[lane]
            if word[lane] < start:
                node = low[lane]
                if node == NOT_FOUND:
                    here = context[lane]
                    if here != NOT_FOUND:
                        weight[lane] *= nodes[here].backoff
                        here = shorter(nodes, here)
                        prefetch(nodes, here)
                        context[lane] = here
                        lane += ONE
                        continue
                    node = np.uint64(word[lane]) + ONE  # its place, even if a damaged file has another word there
                out[t] = weight[lane] * probability_of(nodes, leaves, node)
                context[lane], weight[lane] = resting_place(nodes, leaves, node), 1.0
            else:
                out[t] = 1.0
                context[lane] = start_state if word[lane] == start else 0
            t += ONE
            place[lane] = t
            if t < stop[lane]:
                word[lane] = ids[t]
                lane += ONE
                continue
            active -= ONE  # this lane is through; the last one takes its place
            place[lane], stop[lane], word[lane] = place[active], stop[active], word[active]
            context[lane], weight[lane] = context[active], weight[active]
            low[lane], size[lane] = low[active], size[active]


@kernel
def advance(
    words: Ids, nodes: Records, leaves: Records, start: int, start_state: int,
    states: Ints, next_words: Ids, new_states: Ints, found: Ints, out: Floats,
) -> None:  # fmt: skip
    """P of one word after each state, the n-gram it was found as, and the states after it.

    `<s>` begins a sentence anew, NOTHING empties the context; neither has a probability to speak of (1). Whatever is
    not a state counts as the empty context.
    """
    for i in range(len(states)):
        word = next_words[i]
        if word >= start:
            out[i], found[i], new_states[i] = 1.0, 0, start_state if word == start else 0
            continue
        state = np.uint64(states[i]) if 0 <= states[i] < len(nodes) - 1 else NOT_FOUND
        node, weight = longest(words, nodes, state, word)
        out[i], found[i] = weight * probability_of(nodes, leaves, node), node
        new_states[i] = resting_place(nodes, leaves, node)


@kernel
def distributions(
    words: Ids, nodes: Records, leaves: Records, unigrams: AnyFloats, as_logs: bool, states: Ints, out_BJ: AnyFloats
) -> None:  # fmt: skip
    """P of every word after each state: the unigrams scaled by all backoffs, then each longer context over them.

    With `as_logs` unigrams and what comes out are logarithms, which are then taken of followers only.
    """
    chain, weight = np.empty(DEEPEST, np.uint64), np.empty(DEEPEST + 1, np.float64)
    weight[0] = 1.0
    for row in range(len(states)):
        context = np.uint64(states[row]) if 0 <= states[row] < len(nodes) - 1 else NOT_FOUND
        out, depth = out_BJ[row], 0
        while context != NOT_FOUND and depth < DEEPEST:
            chain[depth] = context
            weight[depth + 1] = weight[depth] * nodes[context].backoff
            depth += 1
            context = shorter(nodes, context)
        scale = out.dtype.type(np.log(weight[depth]) if as_logs else weight[depth])
        for word in range(len(out)):
            out[word] = scale + unigrams[word] if as_logs else scale * unigrams[word]
        for i in range(depth - 1, -1, -1):
            context = chain[i]
            scale = out.dtype.type(weight[i])
            for node in range(nodes[context].first, min(int64(nodes[context + ONE].first), len(words))):
                word = words[np.uint64(node)]
                if word < len(out):
                    prob = scale * probability_of(nodes, leaves, np.uint64(node))
                    out[word] = np.log(prob) if as_logs else prob
