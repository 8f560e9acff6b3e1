"""Kernels that bring unsorted rows of n-grams into a trie.

Sorted rows meet their contexts in one walk along the sorted n-grams that are one word shorter; their suffixes are
searched for, since the context's own suffix tells where.
"""

from __future__ import annotations

import numpy as np

from modlm.counts.trie_kernels import follower
from modlm.ground.arrays import Ids, int64, kernel


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
def follows(ngrams: Ids, row: int, contexts: Ids, other: int) -> bool:
    """Whether a row's words but the last are those of a row of n-grams one word shorter."""
    for column in range(contexts.shape[1]):
        if ngrams[row, column] != contexts[other, column]:
            return False
    return True


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
        while i < len(rows) and follows(ngrams, rows[i], shorter, shorter_rows[context]):
            if i > start and ngrams[rows[i], last] == ngrams[rows[i - 1], last]:
                return i
            i += 1
    return i


@kernel
def fill_followers(
    ngrams: Ids, rows: Ids, begin: int, words: Ids, first: Ids, suffix: Ids, low: int, high: int
) -> None:  # fmt: skip
    """Words and suffixes of the followers of contexts low..high-1; a suffix that is missing gives way to a shorter."""
    last = ngrams.shape[1] - 1
    for context in range(low, high):
        for node in range(int64(first[context]), int64(first[context + 1])):
            word, shorter, found = int64(ngrams[rows[node - begin], last]), int64(suffix[context]), 0
            while found == 0:
                found = follower(words, first, shorter, word)
                shorter = int64(suffix[shorter])
            words[node], suffix[node] = word, found
