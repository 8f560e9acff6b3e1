"""Kernels of merging: the followers of a context in two tries, side by side."""

from __future__ import annotations

import numpy as np

from modlm.ground.arrays import Ids, int64, kernel


@kernel
def followers(first: Ids, context: int) -> tuple[int, int]:
    """The range of a context's followers; empty for 0, a context that this trie does not have."""
    if context == 0:
        return 0, 0
    return int64(first[context]), int64(first[context + 1])


@kernel
def count_followers(
    words_a: Ids, first_a: Ids, words_b: Ids, first_b: Ids, from_a: Ids, from_b: Ids, low: int, high: int
) -> int:  # fmt: skip
    """How many different followers the contexts low..high-1 have in both tries together."""
    number = 0
    for context in range(low, high):
        a, end_a = followers(first_a, int64(from_a[context]))
        b, end_b = followers(first_b, int64(from_b[context]))
        number += end_a - a + end_b - b
        while a < end_a and b < end_b:
            if words_a[a] == words_b[b]:
                number -= 1
                a += 1
                b += 1
            elif words_a[a] < words_b[b]:
                a += 1
            else:
                b += 1
    return number


@kernel
def merge_followers(
    words_a: Ids, first_a: Ids, counts_a: np.ndarray, words_b: Ids, first_b: Ids, counts_b: np.ndarray,
    from_a: Ids, from_b: Ids, low: int, high: int, node: int,
    first: Ids, words: Ids, counts: np.ndarray, to_a: Ids, to_b: Ids,
) -> None:  # fmt: skip
    """Write the followers of the contexts low..high-1 from `node` on, numbers being those within the order.

    to_a and to_b say which node each came from in the two tries, 0 for none.
    """
    for context in range(low, high):
        a, end_a = followers(first_a, int64(from_a[context]))
        b, end_b = followers(first_b, int64(from_b[context]))
        first[context] = node
        while a < end_a or b < end_b:
            take_a = b >= end_b or (a < end_a and words_a[a] <= words_b[b])
            take_b = a >= end_a or (b < end_b and words_b[b] <= words_a[a])
            total = np.uint64(0)
            to_a[node], to_b[node] = 0, 0
            if take_a:
                words[node], to_a[node] = words_a[a], a
                total += np.uint64(counts_a[a])
                a += 1
            if take_b:
                words[node], to_b[node] = words_b[b], b
                total += np.uint64(counts_b[b])
                b += 1
            counts[node] = total
            node += 1
