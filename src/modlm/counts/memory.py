"""The in-memory engine: a text's ids in, its trie and counts out.

Chosen over one hash table per order because a sort needs no slack and no keys: the peak is the text (4 bytes a word),
its sorted positions (4), two bytes of lengths, and the result itself. First words are cut into ranges of about equal
text, and every step runs over the ranges on threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from modlm.counts import sort_kernels
from modlm.counts.trie import Trie
from modlm.ground.arrays import Bytes, Ids, Ints, in_parallel, threads
from modlm.ground.progress import progress
from modlm.text.vocabulary import END

RANGES_PER_THREAD = 4  # more ranges balance the threads better, but each reads the whole text once


@dataclass(frozen=True, slots=True)
class SortedSuffixes:
    """The positions of a text in the order of what follows them, cut into ranges of first words."""

    positions: Ids
    shared: Bytes
    length: Bytes
    bounds: Ints
    ranges: list[tuple[int, int]]


def padded(ids: Ids, *, start: int, order: int, edge: str) -> Ids:
    """The text as the engine reads it: with one `<s>` a sentence, or with order - 1 of them."""
    copies = 1 if edge == "once" else max(1, order - 1)
    if copies == 1:
        return ids
    out = np.empty(len(ids) + (copies - 1) * int(np.count_nonzero(ids == start)), dtype=np.uint32)
    sort_kernels.pad_starts(ids, start, copies, out)
    return out


def ranges_of_words(bounds: Ints, parts: int) -> list[tuple[int, int]]:
    """Neighbouring ranges of first words, each with about the same number of positions."""
    targets = np.linspace(0, bounds[-1], parts + 1)[1:-1]
    cuts = np.unique(np.concatenate(([0], np.searchsorted(bounds, targets), [len(bounds) - 1])))
    return [(int(low), int(high)) for low, high in pairwise(cuts)]


def sort_suffixes(ids: Ids, *, vocab_size: int, order: int, workers: int | None = None) -> SortedSuffixes:
    """Every position of the text, sorted by the words that begin there."""
    totals = np.zeros(vocab_size + 1, dtype=np.int64)
    sort_kernels.word_counts(ids, 0, len(ids), totals)
    bounds = np.concatenate(([0], np.cumsum(totals)))
    positions = np.empty(len(ids), dtype=np.uint32)
    shared, length = np.zeros(len(ids), dtype=np.uint8), np.empty(len(ids), dtype=np.uint8)
    bits = max(1, int(vocab_size + 1).bit_length())
    parts = RANGES_PER_THREAD * threads(workers)
    ranges = ranges_of_words(bounds, parts)
    with progress("sorting", total=len(ids)) as bar:

        def sort(low: int, high: int) -> None:
            sort_kernels.place_by_first_word(ids, low, high, bounds[low:high].copy(), positions)
            room = int(np.diff(bounds[low : high + 1]).max())  # for the positions of the most frequent word
            keys, values = np.empty((2, room), np.uint64), np.empty((2, room), np.uint32)
            histogram = np.empty(8 * 256, dtype=np.int64)
            sort_kernels.sort_suffixes(
                ids, positions, shared, length, bounds, low, high, order, bits, END,
                keys[0], values[0], keys[1], values[1], histogram,
            )  # fmt: skip
            bar.advance(int(bounds[high] - bounds[low]))

        in_parallel([partial(sort, *r) for r in ranges], workers=workers)
    return SortedSuffixes(positions, shared, length, bounds, ranges)


def build(ids: Ids, *, vocab_size: int, order: int, edge: str = "once", workers: int | None = None) -> tuple[Trie, Ids]:
    """The trie of a text (`<s> w … </s>` per sentence) and the raw count of each node."""
    start = vocab_size
    ids = padded(ids, start=start, order=order, edge=edge)
    s = sort_suffixes(ids, vocab_size=vocab_size, order=order, workers=workers)

    def count(low: int, high: int) -> Ints:
        out = np.zeros(order + 2, dtype=np.int64)
        sort_kernels.count_nodes(s.shared, s.length, s.bounds[low], s.bounds[high], out)
        return out

    sizes = np.array(in_parallel([partial(count, *r) for r in s.ranges], workers=workers))
    ends = vocab_size + 2 + np.cumsum(np.append(0, sizes.sum(axis=0)[2 : order + 1]))
    levels = (0, 1, *(int(level) for level in ends))
    # next_RN: the first node of each order in each range
    next_RN = np.array(levels)[None, : order + 1] + np.cumsum(sizes, axis=0)[:, : order + 1] - sizes[:, : order + 1]
    words, first = np.empty(levels[-1], dtype=np.uint32), np.empty(levels[order] + 1, dtype=np.uint32)
    words[0], first[0], first[-1] = 0, 1, levels[-1]

    def fill(r: int) -> None:
        sort_kernels.fill_nodes(
            ids, s.positions, s.shared, s.length, s.bounds, *s.ranges[r], order, next_RN[r].copy(), words, first
        )  # fmt: skip

    def tally(r: int) -> None:
        sort_kernels.tally_nodes(
            s.shared, s.length, s.bounds, *s.ranges[r], start, next_RN[r].copy(), words, counts
        )  # fmt: skip

    in_parallel([partial(fill, r) for r in range(len(s.ranges))], workers=workers)
    suffix = link(s, words=words, levels=levels, next_RN=next_RN, workers=workers)
    s = replace(s, positions=np.empty(0, np.uint32))  # not needed any more, so there is room for the counts
    counts = np.zeros(levels[-1], dtype=np.uint32)
    in_parallel([partial(tally, r) for r in range(len(s.ranges))], workers=workers)
    return Trie(words, first, suffix, levels), counts


def link(s: SortedSuffixes, *, words: Ids, levels: tuple[int, ...], next_RN: Ints, workers: int | None) -> Ids:
    """The suffix of every node, order by order, through the nodes that begin at each position of the text."""
    order = len(levels) - 2
    suffix = np.zeros(levels[-1], dtype=np.uint32)
    if order == 1:
        return suffix
    np.add(words[levels[2] : levels[3]], 1, out=suffix[levels[2] : levels[3]])
    shorter = np.empty(len(s.positions), dtype=np.uint32) if order > 2 else suffix
    spans = [(int(s.bounds[low]), int(s.bounds[high])) for low, high in s.ranges]

    def place(r: int, n: int) -> None:
        sort_kernels.place_nodes(s.positions, s.shared, s.length, *spans[r], n, int(next_RN[r, n]), shorter)

    def connect(r: int, n: int) -> None:
        sort_kernels.link_suffixes(s.positions, s.shared, s.length, *spans[r], n, int(next_RN[r, n]), shorter, suffix)

    for n in range(3, order + 1):
        in_parallel([partial(place, r, n - 1) for r in range(len(spans))], workers=workers)
        in_parallel([partial(connect, r, n) for r in range(len(spans))], workers=workers)
    return suffix
