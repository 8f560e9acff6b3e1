"""Kernels of the compiled n-gram form: estimate it, walk texts through it, write out whole distributions.

A query looks for the word among the followers of the longest context, then of ever shorter ones, multiplying the
backoffs on the way; a node found knows its own suffixes, so nothing is searched twice. Probabilities are kept plain, not
as logarithms: a distribution is then copying and scaling, and scoring takes one logarithm a word at the end.
"""

from __future__ import annotations

import numpy as np

from modlm.arrays import AnyFloats, Floats, Ids, Ints, kernel
from modlm.counts.search_kernels import NOT_FOUND, ONE, follower


@kernel
def interpolate(
    first: Ids, suffix: Ids, counts: np.ndarray, raw: np.ndarray, threshold: int, discounts: Floats,
    low: int, high: int, kept: Floats, fallback: Floats, probs: AnyFloats, backoffs: AnyFloats,
) -> None:  # fmt: skip
    """Probabilities of the followers of contexts low..high-1, and the contexts' backoffs.

    P(w | c) = (1 - fallback) (r - discount) / kept + fallback P(w | shorter c). Followers whose raw count is at most
    `threshold` are given no mass of their own: they are about to be pruned.
    """
    last = len(discounts) - 1
    for context in range(low, high):
        alpha, mass = fallback[context - low], kept[context - low]
        backoffs[context] = alpha
        scale = (1.0 - alpha) / mass if mass > 0 else 0.0
        for node in range(first[context], first[context + 1]):
            r = np.int64(counts[node])
            own = 0.0
            if r > 0 and raw[node] > threshold:
                own = (r - discounts[min(r, last)]) * scale
            probs[node] = own + alpha * probs[suffix[node]]


@kernel
def pruned_sums(
    first: Ids, counts: np.ndarray, raw: np.ndarray, threshold: int, discounts: Floats, low: int, high: int, kept: Floats
) -> None:  # fmt: skip
    """What the followers of each context keep, not counting those that will be pruned."""
    last = len(discounts) - 1
    for context in range(low, high):
        total = 0.0
        for node in range(first[context], first[context + 1]):
            r = np.int64(counts[node])
            if r > 0 and raw[node] > threshold:
                total += r - discounts[min(r, last)]
        kept[context - low] = total


@kernel
def shorter(suffix: Ids, node: np.uint64) -> np.uint64:
    """The context one step down, always a smaller node."""
    below = np.uint64(suffix[node])
    return below if below < node else NOT_FOUND


@kernel
def resting_place(first: Ids, suffix: Ids, node: np.uint64) -> np.uint64:
    """The longest suffix of an n-gram, itself included, that something follows: the state after it."""
    contexts = np.uint64(len(first) - 1)
    while node != NOT_FOUND and (node >= contexts or first[node] == first[node + ONE]):
        node = shorter(suffix, node)
    return node


@kernel
def longest(
    words: Ids, first: Ids, suffix: Ids, backoffs: AnyFloats, context: np.uint64, word: np.uint32
) -> tuple[np.uint64, float]:  # fmt: skip
    """The longest n-gram that ends in the word, and the product of the backoffs on the way to it."""
    weight = 1.0
    while context != NOT_FOUND:
        node = follower(words, first, context, word)
        if node != NOT_FOUND:
            return node, weight
        weight *= backoffs[context]
        context = shorter(suffix, context)
    return ONE + np.uint64(word), weight


@kernel
def score_text(
    words: Ids, first: Ids, suffix: Ids, probs: AnyFloats, backoffs: AnyFloats, ids: Ids, start: int, start_state: int,
    lanes: Ints, out: Floats,
) -> None:  # fmt: skip
    """P of every word of a text, 1 at each `<s>`; the stretches between `lanes` are walked side by side.

    As in `advance`, an id above that of `<s>` (NOTHING, or one of another vocabulary) empties the context.
    Each round takes every lane one search further. The searches of a round do not depend on one another, so the processor
    has many memory reads under way at once; walking one sentence to its end would wait for each.
    """
    place, stop = np.empty(len(lanes), np.uint64), np.empty(len(lanes), np.uint64)
    context, weight = np.empty(len(lanes), np.uint64), np.empty(len(lanes), np.float64)
    active = np.uint64(0)
    for lane in range(len(lanes) - 1):
        if lanes[lane] < lanes[lane + 1]:
            place[active], stop[active] = lanes[lane], lanes[lane + 1]
            context[active], weight[active] = 0, 1.0
            active += ONE
    while active > NOT_FOUND:
        lane = np.uint64(0)
        while lane < active:
            t = place[lane]
            if t >= stop[lane]:
                active -= ONE
                place[lane], stop[lane] = place[active], stop[active]
                context[lane], weight[lane] = context[active], weight[active]
                continue
            word = ids[t]
            if word >= start:
                out[t] = 1.0
                context[lane], place[lane] = start_state if word == start else 0, t + ONE
                lane += ONE
                continue
            here = context[lane]
            node = ONE + np.uint64(word)
            if here != NOT_FOUND:
                node = follower(words, first, here, word)
                if node == NOT_FOUND:
                    weight[lane] *= backoffs[here]
                    context[lane] = shorter(suffix, here)
                    lane += ONE
                    continue
            out[t] = weight[lane] * probs[node]
            context[lane] = resting_place(first, suffix, node)
            weight[lane], place[lane] = 1.0, t + ONE
            lane += ONE


@kernel
def advance(
    words: Ids, first: Ids, suffix: Ids, probs: AnyFloats, backoffs: AnyFloats, start: int, start_state: int,
    states: Ints, next_words: Ids, new_states: Ints, nodes: Ints, out: Floats,
) -> None:  # fmt: skip
    """P of one word after each state, the n-gram it was found as, and the states after it.

    `<s>` begins a sentence anew, NOTHING empties the context; neither has a probability to speak of (1). What is no state
    of this model counts as the empty context.
    """
    contexts = np.uint64(len(first) - 1)
    for i in range(len(states)):
        word = next_words[i]
        if word >= start:
            out[i], nodes[i], new_states[i] = 1.0, 0, start_state if word == start else 0
            continue
        state = np.uint64(states[i])
        node, weight = longest(words, first, suffix, backoffs, state if state < contexts else NOT_FOUND, word)
        out[i], nodes[i] = weight * probs[node], node
        new_states[i] = resting_place(first, suffix, node)


@kernel
def distribution(
    words: Ids, first: Ids, suffix: Ids, probs: AnyFloats, backoffs: AnyFloats, context: int, out: AnyFloats
) -> None:  # fmt: skip
    """P of every word after a state: the unigrams scaled by all backoffs, then each longer context over them."""
    chain = np.empty(64, np.int64)
    weight = np.empty(65, np.float64)
    depth = 0
    weight[0] = 1.0
    if not 0 <= context < len(first) - 1:
        context = 0
    while context != 0 and depth < 64:
        chain[depth] = context
        weight[depth + 1] = weight[depth] * backoffs[context]
        depth += 1
        context = np.int64(shorter(suffix, np.uint64(context)))
    scale = out.dtype.type(weight[depth])
    for word in range(len(out)):
        out[word] = scale * probs[1 + word]
    for i in range(depth - 1, -1, -1):
        context = chain[i]
        scale = out.dtype.type(weight[i])
        for node in range(np.int64(first[context]), min(np.int64(first[context + 1]), len(words))):
            word = words[node]
            if word < len(out):
                out[word] = scale * probs[node]


@kernel
def distributions(
    words: Ids, first: Ids, suffix: Ids, probs: AnyFloats, backoffs: AnyFloats, states: Ints, out_BJ: AnyFloats
) -> None:  # fmt: skip
    """The distribution after each state."""
    for i in range(len(states)):
        distribution(words, first, suffix, probs, backoffs, states[i], out_BJ[i])
