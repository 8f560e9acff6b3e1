"""Kernels that bring unsorted rows of n-grams into a trie.

Nothing is searched for: rows sorted by all their words meet their contexts, and rows sorted by all but the first meet
their suffixes, in one walk along the sorted n-grams that are one word shorter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from modlm.arrays import Ids, kernel
from modlm.counts.trie_kernels import follower


@kernel
def sort_by(ngrams: Ids, column: int, vocab_size: int, rows: Ids, out: Ids) -> None:
    """The rows in the order of one column, else as they were: a counting sort. Ids must be at most `vocab_size`."""
    place = np.zeros(vocab_size + 2, np.int64)
    for row in range(len(ngrams)):
        place[np.int64(ngrams[row, column]) + 1] += 1
    for smaller in range(vocab_size + 1):
        place[smaller + 1] += place[smaller]
    for i in range(len(rows)):
        row = rows[i]
        word = np.int64(ngrams[row, column])
        out[place[word]] = row
        place[word] += 1


@kernel
def compare(ngrams: Ids, row: int, begin: int, shorter: Ids, other: int) -> int:
    """Negative, 0 or positive: how a row's words from `begin` on stand to a row of n-grams one word shorter."""
    for column in range(shorter.shape[1]):
        one, two = ngrams[row, begin + column], shorter[other, column]
        if one != two:
            return -1 if one < two else 1
    return 0


@kernel
def place_followers(
    ngrams: Ids, rows: Ids, shorter: Ids, shorter_rows: Ids, low: int, begin: int, first: Ids
) -> int:  # fmt: skip
    """Where the followers of each context begin; contexts are the sorted n-grams one word shorter, nodes from `low` on.

    The number of rows placed: fewer than there are when the next one has no context, or stands there twice.
    """
    last = ngrams.shape[1] - 1
    i = 0
    for context in range(len(shorter_rows)):
        first[low + context] = begin + i
        start = i
        while i < len(rows) and compare(ngrams, rows[i], 0, shorter, shorter_rows[context]) == 0:
            if i > start and ngrams[rows[i], last] == ngrams[rows[i - 1], last]:
                return i
            i += 1
    return i


@kernel
def find_suffixes(ngrams: Ids, rows: Ids, shorter: Ids, shorter_rows: Ids, low: int, out: Ids) -> int:
    """For each row, the node of its words but the first, 0 if there is none. Rows are sorted by these words."""
    other = 0
    for i in range(len(rows)):
        order = 1
        while other < len(shorter_rows):
            order = compare(ngrams, rows[i], 1, shorter, shorter_rows[other])
            if order <= 0:
                break
            other += 1
        out[rows[i]] = low + other if order == 0 else 0
    return len(rows)


@kernel
def fill_followers(
    ngrams: Ids, rows: Ids, suffixes: Ids, begin: int, words: Ids, first: Ids, suffix: Ids, low: int, high: int
) -> None:  # fmt: skip
    """Words and suffixes of the followers of contexts low..high-1; a suffix that is missing gives way to a shorter."""
    last = ngrams.shape[1] - 1
    for context in range(low, high):
        for node in range(np.int64(first[context]), np.int64(first[context + 1])):
            row = rows[node - begin]
            words[node] = ngrams[row, last]
            found: Any = np.int64(suffixes[row])
            shorter: Any = np.int64(suffix[context])
            word: Any = np.int64(ngrams[row, last])
            while found == 0:
                found = follower(words, first, shorter, word)
                shorter = np.int64(suffix[shorter])
            suffix[node] = found
