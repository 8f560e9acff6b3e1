"""Kernels of held-out columns: a fold goes out of the counts and comes back in, and its rows are made in between.

`tallies_CR` has for each context the sum of its followers' counts (entry 0) and how many of them have a count of 1, 2,
… and R or more. Discounts are not in it, so it stays right when they change from fold to fold.
"""

from __future__ import annotations

import numpy as np

from modlm.blocks.block_kernels import TOGETHER, put_rows
from modlm.ground.arrays import AnyFloats, Floats, Ids, Ints, inlined, int64, kernel


@kernel
def tally_contexts(first: Ids, counts: np.ndarray, low: int, high: int, tallies_CR: np.ndarray) -> None:
    """Fill in the tallies of the contexts low..high-1."""
    last = tallies_CR.shape[1] - 1
    for context in range(low, high):
        for node in range(int64(first[context]), min(int64(first[context + 1]), len(counts))):
            r = int64(counts[node])
            if r > 0:
                tallies_CR[context, 0] += r
                tallies_CR[context, min(r, last)] += 1


@inlined
def change(
    node: int, context: int, n: int, step: int, counts: np.ndarray, tallies_CR: np.ndarray, numbers_NL: Ints
) -> None:  # fmt: skip
    """Add `step` (1 or -1) to the count of an n-gram and to all that is derived from it."""
    before = int64(counts[node])
    after = before + step
    counts[node] = after
    last, largest = tallies_CR.shape[1] - 1, numbers_NL.shape[1] - 1
    tallies_CR[context, 0] += step
    if before > 0:
        tallies_CR[context, min(before, last)] -= 1
    if after > 0:
        tallies_CR[context, min(after, last)] += 1
    numbers_NL[n, min(before, largest)] -= 1
    numbers_NL[n, min(after, largest)] += 1


@inlined
def fetch(
    begin: int, contexts_TN: Ids, nodes_TN: Ids, frequencies: np.ndarray, counts: np.ndarray, tallies_CR: np.ndarray
) -> bool:  # fmt: skip
    """Read what the next positions will change, so that waiting for memory overlaps; always True."""
    total = 0
    for t in range(begin, min(begin + TOGETHER, len(nodes_TN))):
        for n in range(nodes_TN.shape[1]):
            node, context = int64(nodes_TN[t, n]), int64(contexts_TN[t, n])
            total += int64(frequencies[node]) + int64(counts[node])
            if context < len(tallies_CR):
                total += int64(tallies_CR[context, 0])
    return total >= 0


@kernel
def move(
    ids: Ids, start: int, once: bool, step: int, contexts_TN: Ids, nodes_TN: Ids, frequencies: np.ndarray,
    counts: np.ndarray, continuation: bool, tallies_CR: np.ndarray, numbers_NL: Ints,
) -> bool:  # fmt: skip
    """Take a walked fold out of the counts (step -1) or put it back in (1); False when it was not in them.

    With continuation counts, those of lower orders change when an n-gram one longer vanishes or comes back; n-grams of
    the highest order, and with edge `once` those that begin with `<s>`, count their occurrences. Otherwise `counts` are
    the frequencies themselves. `numbers_NL` are the counts of counts of each order, the last for all larger ones.
    """
    order, begin = nodes_TN.shape[1], 0
    for t in range(len(ids)):
        if t % TOGETHER == 0 and not fetch(t, contexts_TN, nodes_TN, frequencies, counts, tallies_CR):
            return False
        if ids[t] == start:
            begin = t
            continue
        for n in range(min(order, t - begin + 1) if once else order):
            node, context = int64(nodes_TN[t, n]), int64(contexts_TN[t, n])
            if node == 0 or context >= len(tallies_CR) or (step < 0 and frequencies[node] == 0):
                return False
            if not continuation:
                change(node, context, n, step, counts, tallies_CR, numbers_NL)
                continue
            before = int64(frequencies[node])
            frequencies[node] = before + step
            if n == order - 1 or (once and n == t - begin):
                change(node, context, n, step, counts, tallies_CR, numbers_NL)
            if n > 0 and min(before, before + step) == 0:
                shorter, above = int64(nodes_TN[t, n - 1]), int64(contexts_TN[t, n - 1])
                change(shorter, above, n - 1, step, counts, tallies_CR, numbers_NL)
    return True


@kernel
def held_out_rows_along(
    ids: Ids, vocab_size: int, contexts_TN: Ids, nodes_TN: Ids, counts: np.ndarray, tallies_CR: np.ndarray,
    discounts_NR: Floats, tops_NR: Floats, logs: Floats, width: int, log_probs_TN: AnyFloats, features_TF: AnyFloats,
) -> None:  # fmt: skip
    """What `block_kernels.rows_along` gives, as logarithms, with the sums of each context made from its tallies."""
    found_BN4 = np.zeros((TOGETHER, contexts_TN.shape[1], 4))
    for begin in range(0, len(ids), TOGETHER):
        end = min(begin + TOGETHER, len(ids))
        for t in range(begin, end):
            for n in range(found_BN4.shape[1]):
                node = int64(nodes_TN[t, n])
                put_sums(int64(contexts_TN[t, n]), t - begin, n, tallies_CR, discounts_NR, found_BN4)
                found_BN4[t - begin, n, 3] = counts[node] if node != 0 else 0
        put_rows(
            ids, vocab_size, begin, end, found_BN4, discounts_NR, tops_NR, logs, True, width, log_probs_TN, features_TF
        )  # fmt: skip


@inlined
def put_sums(context: int, b: int, n: int, tallies_CR: np.ndarray, discounts_NR: Floats, out_BN4: Floats) -> None:
    """Total, followers and kept of a context; zeros where it was not seen (NONE never was)."""
    if context >= len(tallies_CR):
        out_BN4[b, n, 0], out_BN4[b, n, 1], out_BN4[b, n, 2] = 0.0, 0.0, 0.0
        return
    last = tallies_CR.shape[1] - 1
    total, most = int64(tallies_CR[context, 0]), int64(tallies_CR[context, last])
    followers, large, kept = most, total, 0.0
    for r in range(1, last):
        number = int64(tallies_CR[context, r])
        followers += number
        large -= r * number
        kept += number * (r - discounts_NR[n, r])
    out_BN4[b, n, 0], out_BN4[b, n, 1] = total, followers
    out_BN4[b, n, 2] = kept + (large - most * discounts_NR[n, last])
