"""Queries over KenLM's binary files: one word after a state, stretches of a text, whole distributions, all n-grams.

A state is KenLM's own: the words before, nearest first, as far as they may matter, each with the backoff of the context
that ends there; in a row of 32-bit numbers word, backoff, word, backoff, …
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from modlm.formats.kenlm import columns as c
from modlm.formats.kenlm.binary_kernels import aim, bits, extends, followers, look, numbers, unigram
from modlm.ground.arrays import Bytes, Floats, Ids, Ints, Singles, kernel
from modlm.ground.memory_kernels import prefetch
from modlm.text.text_kernels import U1

CHUNK = 512  # positions of a text that are looked for side by side
START, NOTHING = -1, -2
"""In place of words: a sentence begins; there is no context."""
SILENT = 255
Numbers = NDArray[np.uint64]


@kernel
def step(data: Bytes, plan: c.Plan, state: Ids, length: int, word: np.uint64, out: Ids) -> tuple[np.float32, int, int]:
    """log10 P of a word after a state of some length; the n-gram's length, and that of the state written to `out`."""
    top, most = int(plan[0, c.ORDER]), plan[0, c.WORDS] - U1
    backoffs, out_backoffs = state.view(np.float32), out.view(np.float32)
    word = min(word, most)
    total, backoff, left, first, last = unigram(data, plan, word)
    longest, new = 1, 1 if extends(backoff) else 0
    out[0], out_backoffs[1] = word, backoff
    while left and longest <= length:
        before = min(np.uint64(state[2 * longest - 2]), most)
        first, last, _ = aim(plan, longest + 1, first, last, before)
        found, prob, backoff, left, first, last = look(data, plan, longest + 1, first, last, before, longest < length)
        if not found:
            break
        total = prob
        if longest + 1 < top:
            out[2 * longest], out_backoffs[2 * longest + 1] = before, backoff
            new = longest + 1 if extends(backoff) else new
        longest += 1
    for i in range(longest - 1, length):
        total += backoffs[2 * i + 1]
    return total, longest, new


@kernel
def advance(data: Bytes, plan: c.Plan, states_BS: Ids, words: Ints, new_BS: Ids, orders: Ints, out: Floats) -> None:
    """log10 P of a word after each state, the lengths of the n-grams found, and the states after them.

    START and NOTHING in place of a word begin anew. What a state does not use is all ones.
    """
    for i in range(len(words)):
        new_BS[i] = 0xFFFFFFFF
        if words[i] < 0:
            out[i], orders[i] = 0.0, 0
            if words[i] == START:
                begin_state(data, plan, new_BS[i])
            continue
        length = 0
        while 2 * length < states_BS.shape[1] and states_BS[i, 2 * length] != 0xFFFFFFFF:
            length += 1
        out[i], orders[i], new = step(data, plan, states_BS[i], length, np.uint64(words[i]), new_BS[i])
        new_BS[i, 2 * new :] = 0xFFFFFFFF


@kernel
def begin_state(data: Bytes, plan: c.Plan, out: Ids) -> None:
    """The state before the first word of a sentence, whose length is always 1."""
    out[0] = plan[0, c.BEGIN]
    out.view(np.float32)[1] = unigram(data, plan, plan[0, c.BEGIN])[1]


# ---- texts -----------------------------------------------------------------------------------------------------------


@kernel
def score_words(
    data: Bytes,
    plan: c.Plan,
    begin: int,
    end: int,
    words: Ints,
    work: Numbers,
    numbers_NT: Singles,
    lengths: np.ndarray,
) -> None:
    """log10 P of words[begin:end] and the lengths of their n-grams, into numbers_NT[0] and lengths[0].

    The positions before `begin`, as many as an n-gram reaches back, must have been gone through; numbers_NT[n] and
    lengths[1] are what is known of the contexts that end at each position: backoffs, and the length of the longest.
    Goes order by order over all positions, so that no search waits for another, and asks for memory ahead.
    """
    top, most = int(plan[0, c.ORDER]), plan[0, c.WORDS] - U1
    first, last, lanes, ids = work
    probs, longest, reach = numbers_NT[0], lengths[0], lengths[1]
    active = 0
    for t in range(begin, end):
        ids[t] = min(np.uint64(words[t]), most) if words[t] >= 0 else plan[0, c.BEGIN]
        probs[t], backoff, left, first[t], last[t] = unigram(data, plan, ids[t])
        numbers_NT[1, t] = backoff
        longest[t], reach[t] = 1, 1 if extends(backoff) else 0
        if words[t] < 0:
            longest[t], reach[t], probs[t] = SILENT, 1 if words[t] == START else 0, 0.0
        elif left and reach[t - 1] > 0:
            lanes[active] = t
            active += 1
    for order in range(2, top + 1):
        for i in range(active):
            t = lanes[i]
            first[t], last[t], at = aim(plan, order, first[t], last[t], ids[t - np.uint64(order - 1)])
            prefetch(data, at)
        kept = 0
        for i in range(active):
            t = lanes[i]
            found, prob, backoff, left, first[t], last[t] = look(
                data, plan, order, first[t], last[t], ids[t - np.uint64(order - 1)], reach[t - U1] >= order
            )
            if found:
                probs[t], longest[t] = prob, order
                if order < top:
                    numbers_NT[order, t] = backoff
                    if extends(backoff):
                        reach[t] = order
                    if left and reach[t - U1] >= order:
                        lanes[kept] = t
                        kept += 1
        active = kept
    for t in range(begin, end):
        total = probs[t]
        for n in range(longest[t], reach[t - 1] + 1):
            total += numbers_NT[n, t - 1]
        probs[t] = total


@kernel
def score_text(data: Bytes, plan: c.Plan, theirs: Ids, ids: Ids, low: int, high: int, out: Floats) -> None:
    """log10 P of ids[low:high], which begin a sentence, 0 at each `<s>`; `theirs` are KenLM's numbers of our words."""
    top = int(plan[0, c.ORDER])
    room = top + CHUNK
    words, work = np.full(room, NOTHING, np.int64), np.zeros((4, room), np.uint64)
    numbers_NT, lengths = np.zeros((top + 1, room), np.float32), np.zeros((2, room), np.uint8)
    lengths[0] = SILENT
    start = len(theirs) - 1
    for begin in range(low, high, CHUNK):
        size = min(CHUNK, high - begin)
        for i in range(size):
            word = ids[begin + i]
            words[top + i] = theirs[word] if word < start else START if word == start else NOTHING
        score_words(data, plan, top, top + size, words, work, numbers_NT, lengths)
        for i in range(size):
            out[begin + i] = numbers_NT[0, top + i]
        for i in range(top):  # what the next stretch looks back at
            work[3, i], lengths[1, i] = work[3, size + i], lengths[1, size + i]
            numbers_NT[:, i] = numbers_NT[:, size + i]


# ---- all n-grams of a trie -------------------------------------------------------------------------------------------


@kernel
def list_order(
    data: Bytes, plan: c.Plan, order: int, shorter: Ids, ranges_T2: Numbers,
    ngrams: Ids, next_T2: Numbers, probs: Floats, backoffs: Floats,
) -> int:  # fmt: skip
    """The n-grams of an order, oldest word first, from those one word shorter; how many entries were reached."""
    row, reached = np.uint64(order), 0
    for i in range(len(shorter)):
        for entry in range(ranges_T2[i, 0], ranges_T2[i, 1]):
            at = np.uint64(entry)
            if at >= np.uint64(len(probs)):
                break
            reached += 1
            word = bits(data, plan[row, c.BASE], at * plan[row, c.STRIDE], plan[row, c.WORD_BITS])
            ngrams[at, 0], ngrams[at, 1:] = min(word, plan[0, c.WORDS] - U1), shorter[i]
            probs[at], backoff = numbers(data, plan, row, at)
            if row < plan[0, c.ORDER]:
                backoffs[at] = backoff
                next_T2[at, 0], next_T2[at, 1] = followers(data, plan, row, at)
    return reached
