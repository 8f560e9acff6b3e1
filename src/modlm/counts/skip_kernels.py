"""Kernels of skip n-grams: what stands some places back, walking a text, finding single n-grams."""

from __future__ import annotations

from modlm.counts.trie_kernels import NONE, follower
from modlm.ground.arrays import Ids, Ints, int64, kernel


@kernel
def words_back(ids: Ids, start: int, distance: int, out: Ids) -> None:
    """The word that many places before each position, `<s>` beyond the sentence start; texts begin with `<s>`."""
    begin = 0
    for t in range(len(ids)):
        if ids[t] == start:
            begin = t
        out[t] = ids[max(begin, t - distance)]


@kernel
def walk(
    words: Ids, first: Ids, context_words: Ids, context_first: Ids, positions: Ints, ids: Ids, start: int,
    contexts_TN: Ids, nodes_TN: Ids,
) -> None:  # fmt: skip
    """Context (NONE if unseen) and n-gram (0 if unseen) of every order at every position of a text.

    `<s>` begins a sentence, with more of them before it; NONE empties the context, and what stood before is not known.
    """
    order = len(positions) + 1
    begin, padded = 0, False
    for t in range(len(ids)):
        for n in range(order):
            contexts_TN[t, n], nodes_TN[t, n] = NONE, 0
        word = int64(ids[t])
        if word >= start:
            padded = word == start
            begin = t if padded else t + 1
            continue
        context = 0
        contexts_TN[t, 0], nodes_TN[t, 0] = 0, 1 + word
        for n in range(1, order):
            place = t - positions[order - 1 - n]
            if place < begin:
                if not padded:
                    break
                place = begin
            context = follower(context_words, context_first, context, int64(ids[place]))
            if context == 0 or context + 1 >= len(first):
                break
            contexts_TN[t, n], nodes_TN[t, n] = context, follower(words, first, context, word)


@kernel
def descend(
    words: Ids, first: Ids, context_words: Ids, context_first: Ids, start: int, ngrams_BC: Ids, out: Ids
) -> None:
    """The node of each row's n-gram (remotest position first, word last), or 0."""
    last = ngrams_BC.shape[1] - 1
    for row in range(ngrams_BC.shape[0]):
        context, out[row] = 0, 0
        inside = last >= 0 and ngrams_BC[row, last] <= start
        for column in range(last - 1, -1, -1):
            if ngrams_BC[row, column] > start:
                inside = False
                break
            context = follower(context_words, context_first, context, int64(ngrams_BC[row, column]))
            if context == 0:
                inside = False
                break
        if inside:
            out[row] = follower(words, first, context, int64(ngrams_BC[row, last]))
