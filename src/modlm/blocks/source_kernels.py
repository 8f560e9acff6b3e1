"""Kernels of columns over a source: the rows of a translation table at the words of a text, or added up under weights.

A source word's row is words[first[f]] to words[first[f + 1]]; an empty one is that of a word never seen, and uniform.
"""

from __future__ import annotations

import numpy as np

from modlm.counts.translation.em_kernels import place_of
from modlm.ground.arrays import Floats, Ids, Ints, int64, kernel


@kernel
def entries(
    first: Ints, words: Ids, probs: Floats, vocab_size: int, source: Ids, source_starts: Ints, numbers_T: Ints,
    ids: Ids, out_TS: Floats,
) -> None:  # fmt: skip
    """The probability of each word in the column of every word of its source.

    Places beyond a source have 0; `<s>` and NOTHING, which are never predicted, have 1.
    """
    for t in range(len(ids)):
        word = int64(ids[t])
        out_TS[t, :] = 1.0 if word >= vocab_size else 0.0
        begin = source_starts[numbers_T[t]]
        for j in range(source_starts[numbers_T[t] + 1] - begin if word < vocab_size else 0):
            f = int64(source[begin + j])
            place = place_of(words, first[f], first[f + 1], word)
            if place >= 0:
                out_TS[t, j] = probs[place]
            elif first[f] == first[f + 1]:
                out_TS[t, j] = 1.0 / vocab_size


@kernel
def add_rows(
    first: Ints, words: Ids, probs: Floats, source: Ids, source_starts: Ints, weights_BS: np.ndarray, out_BJ: np.ndarray
) -> None:
    """Add the columns of every word of each source under weights; what is for words never seen is shared by all."""
    for b in range(len(out_BJ)):
        flat = 0.0
        for j in range(source_starts[b + 1] - source_starts[b]):
            f = int64(source[source_starts[b] + j])
            weight = weights_BS[b, j]
            if first[f] == first[f + 1]:
                flat += weight
            for at in range(first[f], first[f + 1]):
                out_BJ[b, words[at]] += weight * probs[at]
        if flat > 0:
            out_BJ[b] += flat / out_BJ.shape[1]
