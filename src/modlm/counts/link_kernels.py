"""Suffix links by search, for tries that were not read off one text: merged, imported, or too large for memory."""

from __future__ import annotations

from modlm.arrays import Ids, int64, kernel
from modlm.counts.trie_kernels import find


@kernel
def link(words: Ids, first: Ids, suffix: Ids, low: int, high: int) -> bool:
    """Set the suffix of every follower of the contexts low..high-1, whose own suffixes are known; False if one lacks.

    The followers of a context are among those of its suffix, both sorted, so each search begins where the last ended.
    """
    for context in range(low, high):
        shorter = int64(suffix[context])
        begin, end = int64(first[shorter]), int64(first[shorter + 1])
        for node in range(int64(first[context]), int64(first[context + 1])):
            found = find(words, begin, end, words[node])
            if found == 0:
                return False
            suffix[node] = found
            begin = found + 1
    return True
