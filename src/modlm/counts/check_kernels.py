"""Kernels that check the arrays of counts which somebody may have edited."""

from __future__ import annotations

from modlm.arrays import Ids, int64, kernel


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
