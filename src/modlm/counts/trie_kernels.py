"""Kernels over a trie: finding followers, walking a text, counts that derive from others, suffix links, checks.

They trust no link of a trie that was read from disk: a follower range is cut to the arrays and a suffix must point to a
smaller node, so a damaged file can give a wrong answer but never an endless loop or a read outside the arrays.
"""

from __future__ import annotations

import numpy as np

from modlm.ground.arrays import Floats, Ids, Ints, int64, kernel

NONE = 0xFFFFFFFF  # "no such context" in the tables that a walk fills; node 0 (the root) means "no such n-gram"


@kernel
def find(words: Ids, low: int, high: int, word: int) -> int:
    """The node in low..high-1 whose word it is, or 0."""
    while high - low > 8:
        middle = (low + high) >> 1
        if words[middle] <= word:
            low = middle
        else:
            high = middle
    for node in range(low, high):
        if words[node] == word:
            return node
    return 0


@kernel
def follower(words: Ids, first: Ids, context: int, word: int) -> int:
    """The node of a context's follower, or 0; the root's followers are in place."""
    if context == 0:
        return 1 + word
    if context + 1 >= len(first):
        return 0
    return find(words, int64(first[context]), min(int64(first[context + 1]), len(words)), word)


@kernel
def shorter(suffix: Ids, node: int) -> int:
    """The suffix of a node; the root where it does not point to a smaller node."""
    found = int64(suffix[node])
    return found if found < node else 0


@kernel
def descend(words: Ids, first: Ids, ngrams_BC: Ids, out: Ids) -> None:
    """The node of each row's n-gram, or 0. Rows may begin with NONE: those places are skipped."""
    for row in range(ngrams_BC.shape[0]):
        node = int64(0)  # a plain 0 has a type of its own, for which `follower` would be compiled once more
        for column in range(ngrams_BC.shape[1]):
            word = ngrams_BC[row, column]
            if word == NONE and node == 0:
                continue
            node = follower(words, first, node, word) if 1 + int64(word) < len(words) else 0
            if node == 0:
                break
        out[row] = node


@kernel
def walk(
    words: Ids, first: Ids, suffix: Ids, order: int, ids: Ids, start: int, start_node: int, start_depth: int,
    state: int, depth: int, contexts_TN: Ids, nodes_TN: Ids,
) -> tuple[int, int]:  # fmt: skip
    """Context node (NONE if unseen) and n-gram node (0 if unseen) of every order at every position of a text.

    `<s>` sets the context to `start_node` and has no n-gram of its own; NONE empties the context, so that windows cut
    out of texts can be walked one after the other. The context before the first position is `state`, an n-gram of
    `depth` words; the one after the last is returned.
    """
    for t in range(len(ids)):
        word = int64(ids[t])
        for n in range(order):
            contexts_TN[t, n], nodes_TN[t, n] = NONE, 0
        if word == start:
            state, depth = start_node, start_depth
            continue
        if word > start:
            state, depth = 0, 0
            continue
        context = state
        for n in range(depth, -1, -1):
            contexts_TN[t, n] = context
            context = shorter(suffix, context)
        found = depth
        node = follower(words, first, state, word)
        while node == 0 and found > 0:
            found -= 1
            node = follower(words, first, int64(contexts_TN[t, found]), word)
        state, depth = (node, found + 1) if found + 1 < order else (shorter(suffix, node), order - 1)
        for n in range(found, -1, -1):
            nodes_TN[t, n] = node
            node = shorter(suffix, node)
    return state, depth


@kernel
def count_left_extensions(counts: np.ndarray, suffix: Ids, low: int, high: int, out: np.ndarray) -> None:
    """Add 1 to the suffix of every n-gram low..high-1 that occurs."""
    for node in range(low, high):
        if counts[node] > 0:
            out[shorter(suffix, node)] += 1


@kernel
def take_away(nodes_TN: Ids, ids: Ids, start: int, padded: bool, frequencies: np.ndarray) -> int:
    """Take one from the frequency of every n-gram of a walk; the first position where one is not there, or -1.

    Without padding the orders that would reach beyond `<s>` have no n-gram.
    """
    order = nodes_TN.shape[1]
    begin = 0
    for t in range(len(ids)):
        if ids[t] == start:
            begin = t
            continue
        for n in range(order if padded else min(order, t - begin + 1)):
            node = nodes_TN[t, n]
            if node == 0 or frequencies[node] == 0:
                return t
            frequencies[node] -= 1
    return -1


@kernel
def count_of_counts(counts: np.ndarray, low: int, high: int, out: Ints) -> None:
    """Add to out[r] how many of the counts low..high-1 are r; out[-1] takes all larger ones."""
    last = len(out) - 1
    for node in range(low, high):
        out[min(int64(counts[node]), last)] += 1


@kernel
def context_sums(
    first: Ids, counts: np.ndarray, discounts: Floats, low: int, high: int,
    total: Floats, followers: Floats, kept: Floats,
) -> None:  # fmt: skip
    """Over the followers of the contexts low..high-1: their counts, their number, their counts after discounting.

    A count of r loses discounts[r], the last entry standing for all larger counts; followers that do not occur
    (count 0, as held-out counts have them) do not exist.
    """
    last = len(discounts) - 1
    for context in range(low, high):
        sum_counts, number, sum_kept = 0.0, 0.0, 0.0
        for node in range(int64(first[context]), min(int64(first[context + 1]), len(counts))):
            r = int64(counts[node])
            if r > 0:
                sum_counts += r
                number += 1
                sum_kept += r - discounts[min(r, last)]
        total[context - low], followers[context - low], kept[context - low] = sum_counts, number, sum_kept


@kernel
def link(words: Ids, first: Ids, suffix: Ids, low: int, high: int) -> bool:
    """Set the suffix of every follower of the contexts low..high-1, whose own suffixes are known; False if one lacks.

    The followers of a context are among those of its suffix, both sorted, so each search begins where the last ended.
    """
    for context in range(low, high):
        other = int64(suffix[context])
        begin, end = int64(first[other]), int64(first[other + 1])
        for node in range(int64(first[context]), int64(first[context + 1])):
            found = find(words, begin, end, words[node])
            if found == 0:
                return False
            suffix[node] = found
            begin = found + 1
    return True


@kernel
def check_followers(first: Ids, words: Ids, largest: int, low: int, high: int) -> bool:
    """Whether the contexts low..high-1 have followers inside the array, one behind the other, sorted by word."""
    for context in range(low, high):
        begin, end = int64(first[context]), int64(first[context + 1])
        if not 1 <= begin <= end <= len(words):
            return False
        for node in range(begin, end):
            if words[node] > largest or (node > begin and words[node] <= words[node - 1]):
                return False
    return True


@kernel
def check_suffixes(suffix: Ids, low: int, high: int, first: int, after: int) -> bool:
    """Whether the suffixes of the nodes low..high-1 are all among first..after-1."""
    for node in range(low, high):
        if not first <= suffix[node] < after:
            return False
    return True
