"""Kernels of the index: one look at a table tells where the word after a context is, instead of a search.

The table is open addressing with linear probing over (context, word). A slot holds a word and a node's number; the
node is the right one if it lies among the followers of the context, whose place the walk has at hand, so nothing else
of the model is read before the answer. 0 is an empty slot: the root follows nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from modlm.arrays import Floats, Ids, Ints, inlined, kernel
from modlm.counts.search_kernels import NOT_FOUND, ONE, prefetch
from modlm.model.compiled_kernels import Records, probability_of, resting_place, shorter

MULTIPLIER, HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
Slots = NDArray[np.uint64]
AHEAD = 64  # entries whose slots are asked for before the first of them is written


@inlined
def hashed(context: np.uint64, word: np.uint32) -> np.uint64:
    """64 bits that depend on both; the highest choose the slot."""
    mixed = (context << HALF | np.uint64(word)) * MULTIPLIER
    return (mixed ^ mixed >> HALF) * MULTIPLIER


@kernel
def fill_slots(words: Ids, nodes: Records, first: int, slots: Slots, shift: int) -> None:
    """Enter every n-gram from node `first` on; what a damaged file has too much of is left out."""
    places, entries = np.empty(AHEAD, np.uint64), np.empty(AHEAD, np.uint64)
    last, total = np.uint64(len(slots) - 1), np.uint64(len(words))
    waiting, room = 0, total - np.uint64(first)
    for at in range(1, len(nodes) - 1):
        context = np.uint64(at)
        begin, end = max(np.uint64(nodes[context].first), np.uint64(first)), np.uint64(nodes[context + ONE].first)
        node = begin
        while node < min(end, total) and room > NOT_FOUND:
            mixed = hashed(context, words[node])
            places[waiting] = mixed >> np.uint64(shift)
            entries[waiting] = np.uint64(words[node]) << HALF | node
            prefetch(slots, places[waiting])
            waiting += 1
            if waiting == AHEAD:
                put(slots, last, places, entries, waiting)
                waiting = 0
            node += ONE
            room -= ONE
    put(slots, last, places, entries, waiting)


@kernel
def put(slots: Slots, last: np.uint64, places: Slots, entries: Slots, count: int) -> None:
    """Write entries into the next free slots from their places on."""
    for i in range(count):
        place = places[i]
        while slots[place] != 0:
            place = (place + ONE) & last
        slots[place] = entries[i]


@kernel
def score_indexed(
    words: Ids, nodes: Records, leaves: Records, slots: Slots, shift: int,
    ids: Ids, start: int, start_state: int, lanes: Ints, out: Floats,
) -> None:  # fmt: skip
    """What `score_text` of the compiled kernels gives, through the index.

    Again every round takes each lane one look further, in two passes: the slot, which was asked for when the round
    before ended, names a node; then the node says whether it is the right one, and with what probability.
    """
    place, stop = np.empty(len(lanes), np.uint64), np.empty(len(lanes), np.uint64)
    context, weight = np.empty(len(lanes), np.uint64), np.empty(len(lanes), np.float64)
    word, found = np.empty(len(lanes), np.uint32), np.empty(len(lanes), np.uint64)
    slot = np.empty(len(lanes), np.uint64)
    inner, last = np.uint64(len(nodes) - 1), np.uint64(len(slots) - 1)
    numbers = (ONE << HALF) - ONE
    active = np.uint64(0)
    lane: Any
    for lane in range(len(lanes) - 1):
        if lanes[lane] < lanes[lane + 1]:
            place[active], stop[active] = lanes[lane], lanes[lane + 1]
            context[active], weight[active], word[active] = 0, 1.0, ids[lanes[lane]]
            active += ONE
    while active > NOT_FOUND:
        for i in range(active):
            lane = np.uint64(i)
            node = NOT_FOUND
            if context[lane] == NOT_FOUND:  # every word follows the empty context, in its own place
                prefetch(nodes, np.uint64(word[lane]) + ONE)
            else:
                here = slot[lane]
                entry = slots[here]
                while entry != NOT_FOUND and entry >> HALF != np.uint64(word[lane]):
                    here = (here + ONE) & last
                    entry = slots[here]
                slot[lane] = here
                node = entry & numbers
                if node >= inner:
                    prefetch(leaves, node - inner)
                else:
                    prefetch(nodes, node if node != NOT_FOUND else np.uint64(nodes[context[lane]].suffix))
            found[lane] = node
        lane = NOT_FOUND
        while lane < active:
            t = place[lane]
            through = True
            if word[lane] < start:
                node, here = found[lane], context[lane]
                if node != NOT_FOUND:
                    low, high = np.uint64(nodes[here].first), np.uint64(nodes[here + ONE].first)
                    while node != NOT_FOUND and not (low <= node < high):
                        slot[lane] = (slot[lane] + ONE) & last  # the same word after another context
                        entry = slots[slot[lane]]
                        while entry != NOT_FOUND and entry >> HALF != np.uint64(word[lane]):
                            slot[lane] = (slot[lane] + ONE) & last
                            entry = slots[slot[lane]]
                        node = entry & numbers
                if node == NOT_FOUND and here != NOT_FOUND:
                    weight[lane] *= nodes[here].backoff
                    context[lane] = shorter(nodes, here)
                    through = False
                else:
                    node = node if node != NOT_FOUND else np.uint64(word[lane]) + ONE
                    out[t] = weight[lane] * probability_of(nodes, leaves, node)
                    context[lane], weight[lane] = resting_place(nodes, leaves, node), 1.0
            else:
                out[t] = 1.0
                context[lane] = start_state if word[lane] == start else 0
            if through:
                t += ONE
                place[lane] = t
                if t == stop[lane]:
                    active -= ONE  # this lane is through; the last one takes its place
                    place[lane], stop[lane], word[lane] = place[active], stop[active], word[active]
                    context[lane], weight[lane], found[lane] = context[active], weight[active], found[active]
                    slot[lane] = slot[active]
                    continue
                word[lane] = ids[t]
            mixed = hashed(context[lane], word[lane])
            slot[lane] = mixed >> np.uint64(shift)
            prefetch(slots, slot[lane])
            lane += ONE
