"""Columns and heuristic weights read back out of the compiled form, for a few words at a time.

The compiled form holds P(w | c) = (1 - fallback) P_n(w | c) + fallback P(w | shorter c) and the fallback of each
context, so each order's part is a difference of two lookups. Nothing is summed over the model, so the cost does not
grow with it.
"""

from __future__ import annotations

import numpy as np

from modlm.blocks import CONSTANT_BLOCKS
from modlm.ground.arrays import Floats, Ids, Ints
from modlm.model.ngram.compact import Compact
from modlm.model.ngram.compiled import Compiled


def decomposed(
    compiled: Compiled | Compact, states: Ints, words_B: Ids, extra: tuple[str, ...]
) -> tuple[Floats, Floats]:  # fmt: skip
    """P_k (B, K) and lambda_k (B, K) of a word after each state: the orders, then the constant columns `extra`.

    These share what falls through the unigrams. As in the mixture, the column of a context that was not seen is uniform
    and has no weight. Exact up to the rounding of the compiled probabilities, relative to the word's whole probability.
    """
    levels, order, size = compiled.levels, compiled.order, compiled.vocab_size
    constants_BE = np.stack([CONSTANT_BLOCKS[name].distribution(size)[words_B] for name in extra], axis=1)
    columns_BN, weights_BN = np.full((len(words_B), order), 1.0 / size), np.zeros((len(words_B), order))
    left_B, context = np.ones(len(words_B)), np.asarray(states, dtype=np.int64)
    for n in range(order, 0, -1):
        here = np.flatnonzero(np.searchsorted(levels, context, side="right") == n)  # contexts of n - 1 words
        if len(here) == 0:
            continue
        at, words = context[here], np.ascontiguousarray(words_B[here])
        shorter, fallback = compiled.below(at)
        _, nodes, whole = compiled.advance(at, words)
        below = compiled.advance(shorter, words)[2] if n > 1 else constants_BE[here].mean(axis=1)
        own = np.where(nodes >= levels[n], np.maximum(whole - fallback * below, 0.0), 0.0)
        kept = 1.0 - fallback
        columns_BN[here, n - 1] = np.where(kept > 0, own / np.where(kept > 0, kept, 1.0), 1.0 / size)
        weights_BN[here, n - 1] = left_B[here] * kept
        left_B[here] *= fallback
        context = context.copy()
        context[here] = shorter
    rest_BE = np.repeat(left_B[:, None] / len(extra), len(extra), axis=1)
    return np.concatenate((columns_BN, constants_BE), axis=1), np.concatenate((weights_BN, rest_BE), axis=1)
