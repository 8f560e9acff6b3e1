"""Kernels of the compiled n-gram form: estimate it, walk texts through it, write out whole distributions.

A query looks for the word among the followers of the longest context, then of ever shorter ones, multiplying the
backoffs on the way; a node found knows its own suffixes, so nothing is searched twice. Probabilities are kept plain, not
as logarithms: a distribution is then copying and scaling, and scoring takes one logarithm a word at the end.
"""

from __future__ import annotations

import numpy as np

from modlm.arrays import AnyFloats, Floats, Ids, Ints, kernel
from modlm.counts.trie_kernels import find

LANES = 32  # sentences walked side by side, so that their cache misses overlap


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
def resting_place(first: Ids, suffix: Ids, node: int) -> int:
    """The longest suffix of an n-gram, itself included, that something follows: the state after it."""
    while node != 0:
        if node + 1 < len(first) and first[node] < first[node + 1]:
            return node
        shorter = np.int64(suffix[node])
        if shorter >= node:
            return 0
        node = shorter
    return 0


@kernel
def step(
    words: Ids, first: Ids, suffix: Ids, probs: AnyFloats, backoffs: AnyFloats, context: int, word: int
) -> tuple[float, int]:  # fmt: skip
    """P(word | context) and the node of the longest n-gram found."""
    weight = 1.0
    while context != 0:
        node = find(words, np.int64(first[context]), min(np.int64(first[context + 1]), len(words)), word)
        if node != 0:
            return weight * probs[node], node
        weight *= backoffs[context]
        shorter = np.int64(suffix[context])
        if shorter >= context:
            break
        context = shorter
    return weight * probs[1 + word], 1 + word


@kernel
def score_text(
    words: Ids, first: Ids, suffix: Ids, probs: AnyFloats, backoffs: AnyFloats, ids: Ids, start: int, start_state: int,
    bounds: Ints, low: int, high: int, out: Floats,
) -> None:  # fmt: skip
    """P of every word of the sentences low..high-1 (1 at each `<s>`); sentences are walked side by side.

    Lanes hold one sentence each; a finished lane takes the next one. So the searches of neighbouring iterations do not
    depend on one another and the processor keeps several memory reads under way.
    """
    lanes = min(LANES, high - low)
    place, stop, state = np.empty(lanes, np.int64), np.empty(lanes, np.int64), np.empty(lanes, np.int64)
    following = low
    active = 0
    for _ in range(lanes):
        place[active], stop[active], state[active] = bounds[following], bounds[following + 1], 0
        following += 1
        active += 1
    while active > 0:
        lane = 0
        while lane < active:
            t = place[lane]
            if t >= stop[lane]:
                if following < high:
                    place[lane], stop[lane] = bounds[following], bounds[following + 1]
                    following += 1
                else:
                    active -= 1
                    place[lane], stop[lane], state[lane] = place[active], stop[active], state[active]
                continue
            word = np.int64(ids[t])
            if word == start:
                out[t] = 1.0
                state[lane] = start_state
            else:
                probability, node = step(words, first, suffix, probs, backoffs, state[lane], word)
                out[t] = probability
                state[lane] = resting_place(first, suffix, node)
            place[lane] = t + 1
            lane += 1


@kernel
def advance(
    words: Ids, first: Ids, suffix: Ids, probs: AnyFloats, backoffs: AnyFloats, start: int, start_state: int,
    states: Ints, next_words: Ids, new_states: Ints, out: Floats,
) -> None:  # fmt: skip
    """P of one word after each state, and the states after it; `<s>` begins a sentence anew."""
    for i in range(len(states)):
        if next_words[i] == start:
            out[i], new_states[i] = 1.0, start_state
        else:
            out[i], node = step(words, first, suffix, probs, backoffs, states[i], np.int64(next_words[i]))
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
    while context != 0 and depth < 64:
        chain[depth] = context
        weight[depth + 1] = weight[depth] * backoffs[context]
        depth += 1
        shorter = np.int64(suffix[context])
        if shorter >= context:
            break
        context = shorter
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
