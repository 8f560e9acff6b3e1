"""Kernels of the n-gram block: columns and features of one order, along a walk and after contexts."""

from __future__ import annotations

import numpy as np

from modlm.arrays import Floats, Ids, int64, kernel


@kernel
def seen(context: int, base: int, kept: Floats) -> bool:
    """Whether a context of a walk (base, base + 1, … in this order) has a column of its own; NONE never does."""
    return 0 <= context - base < len(kept) and kept[context - base] > 0


@kernel
def column_along(
    contexts_T: Ids, nodes_T: Ids, base: int, frequencies: np.ndarray, discounts: Floats, kept: Floats, vocab_size: int,
    out: Floats,
) -> None:  # fmt: skip
    """P_n of each word of a walk: uniform where the context was not seen, 0 where the word was not seen after it."""
    last = len(discounts) - 1
    for t in range(len(contexts_T)):
        context = int64(contexts_T[t])
        if not seen(context, base, kept):
            out[t] = 1.0 / vocab_size
            continue
        r = int64(frequencies[nodes_T[t]]) if nodes_T[t] != 0 else 0
        out[t] = (r - discounts[min(r, last)]) / kept[context - base] if r > 0 else 0.0


@kernel
def features_along(
    contexts_T: Ids, base: int, total: Floats, followers: Floats, kept: Floats, discounting: bool, out_TF: Floats
) -> None:  # fmt: skip
    """seen, log total, log followers (, log kept); zeros where the context was not seen."""
    for t in range(len(contexts_T)):
        context = int64(contexts_T[t])
        if not seen(context, base, kept):
            out_TF[t, :] = 0.0
            continue
        context -= base
        out_TF[t, 0] = 1.0
        out_TF[t, 1] = np.log(total[context])
        out_TF[t, 2] = np.log(followers[context])
        if discounting:
            out_TF[t, 3] = np.log(kept[context])


@kernel
def column_after(
    contexts_B: Ids, base: int, words: Ids, first: Ids, frequencies: np.ndarray, discounts: Floats, kept: Floats,
    out_BJ: Floats,
) -> None:  # fmt: skip
    """P_n of every word after each context."""
    last = len(discounts) - 1
    for i in range(len(contexts_B)):
        context = int64(contexts_B[i])
        if not seen(context, base, kept):
            out_BJ[i, :] = 1.0 / out_BJ.shape[1]
            continue
        out_BJ[i, :] = 0.0
        for node in range(int64(first[context]), min(int64(first[context + 1]), len(words))):
            r = int64(frequencies[node])
            if r > 0 and words[node] < out_BJ.shape[1]:
                out_BJ[i, words[node]] = (r - discounts[min(r, last)]) / kept[context - base]
