"""Kernels of the n-gram block: rows and features of all orders along a walk, columns and features after contexts."""

from __future__ import annotations

import numpy as np

from modlm.ground.arrays import AnyFloats, Floats, Ids, inlined, int64, kernel

TOGETHER = 64  # positions whose counts are fetched before any is worked on, so that waiting for memory overlaps


@inlined
def log_of(number: float, logs: Floats) -> float:
    """The logarithm of a whole number, from the table of small ones if it is there."""
    return float(logs[int64(number)]) if number < len(logs) else float(np.log(number))


@inlined
def put_features(
    t: int, begin: int, width: int, total: float, followers: float, log_kept: float, logs: Floats, out_TF: AnyFloats
) -> None:  # fmt: skip
    """seen, log total, log followers (, log kept)."""
    out_TF[t, begin] = 1.0
    out_TF[t, begin + 1] = log_of(total, logs)
    out_TF[t, begin + 2] = log_of(followers, logs)
    if width == 4:
        out_TF[t, begin + 3] = log_kept


@inlined
def put_nothing(t: int, begin: int, width: int, out_TF: AnyFloats) -> None:
    """The features of a context that was not seen."""
    for place in range(begin, begin + width):
        out_TF[t, place] = 0.0


@kernel
def rows_along(
    ids: Ids, vocab_size: int, contexts_TN: Ids, nodes_TN: Ids, frequencies: np.ndarray, sums_C3: Floats,
    discounts_NR: Floats, tops_NR: Floats, logs: Floats, as_logs: bool, width: int, probs_TN: AnyFloats,
    features_TF: AnyFloats,
) -> None:  # fmt: skip
    """P_n of each word of a walk, or its logarithm, and the features of its contexts, for all orders.

    P is uniform where the context was not seen (NONE never was) and 0 where the word was not seen after it. `sums_C3`
    holds total, followers and kept of each context. Words that are not predicted have 1, and features 0.
    """
    found_BN4 = np.zeros((TOGETHER, contexts_TN.shape[1], 4))
    for begin in range(0, len(ids), TOGETHER):
        end = min(begin + TOGETHER, len(ids))
        for t in range(begin, end):
            for n in range(found_BN4.shape[1]):
                context, node = int64(contexts_TN[t, n]), int64(nodes_TN[t, n])
                known = context < len(sums_C3)
                for k in range(3):
                    found_BN4[t - begin, n, k] = sums_C3[context, k] if known else 0.0
                found_BN4[t - begin, n, 3] = frequencies[node] if node != 0 else 0
        put_rows(
            ids, vocab_size, begin, end, found_BN4, discounts_NR, tops_NR, logs, as_logs, width, probs_TN, features_TF
        )  # fmt: skip


@kernel
def put_rows(
    ids: Ids, vocab_size: int, begin: int, end: int, found_BN4: Floats, discounts_NR: Floats, tops_NR: Floats,
    logs: Floats, as_logs: bool, width: int, probs_TN: AnyFloats, features_TF: AnyFloats,
) -> None:  # fmt: skip
    """The rows of the positions begin..end-1 from what was found: total, followers and kept of a context, the count."""
    last, uniform = discounts_NR.shape[1] - 1, -np.log(vocab_size) if as_logs else 1.0 / vocab_size
    for t in range(begin, end):
        if ids[t] >= vocab_size:
            probs_TN[t, :] = 0.0 if as_logs else 1.0
            features_TF[t, :] = 0.0
            continue
        for n in range(found_BN4.shape[1]):
            total, followers, kept = found_BN4[t - begin, n, 0], found_BN4[t - begin, n, 1], found_BN4[t - begin, n, 2]
            if not kept > 0:
                probs_TN[t, n] = uniform
                put_nothing(t, n * width, width, features_TF)
                continue
            log_kept = np.log(kept) if as_logs or width == 4 else 0.0
            put_features(t, n * width, width, total, followers, log_kept, logs, features_TF)
            r = int64(found_BN4[t - begin, n, 3])
            if as_logs:
                probs_TN[t, n] = log_top(r, n, discounts_NR, tops_NR) - log_kept
            else:
                probs_TN[t, n] = (r - discounts_NR[n, min(r, last)]) / kept if r > 0 else 0.0


@inlined
def log_top(r: int, n: int, discounts_NR: Floats, tops_NR: Floats) -> float:
    """The logarithm of a count after discounting; -inf of 0."""
    if r < tops_NR.shape[1]:
        return float(tops_NR[n, r])
    return float(np.log(r - discounts_NR[n, discounts_NR.shape[1] - 1]))


@kernel
def features_after(contexts_BN: Ids, sums_C3: Floats, logs: Floats, width: int, out_BF: Floats) -> None:
    """The features of contexts, for all orders."""
    for i in range(len(contexts_BN)):
        for n in range(contexts_BN.shape[1]):
            context = int64(contexts_BN[i, n])
            if context < len(sums_C3) and sums_C3[context, 2] > 0:
                log_kept = np.log(sums_C3[context, 2])
                put_features(i, n * width, width, sums_C3[context, 0], sums_C3[context, 1], log_kept, logs, out_BF)
            else:
                put_nothing(i, n * width, width, out_BF)


@kernel
def add_column_after(
    contexts_B: Ids, words: Ids, first: Ids, frequencies: np.ndarray, discounts: Floats, sums_C3: Floats,
    weights_B: Floats, uniform_B: Floats, out_BJ: AnyFloats,
) -> None:  # fmt: skip
    """Adds weight times P_n of the words that were seen after each context; unseen contexts' weight goes to uniform."""
    last = len(discounts) - 1
    for i in range(len(contexts_B)):
        context = int64(contexts_B[i])
        if context >= len(sums_C3) or not sums_C3[context, 2] > 0:
            uniform_B[i] += weights_B[i]
            continue
        factor = weights_B[i] / sums_C3[context, 2]
        for node in range(int64(first[context]), min(int64(first[context + 1]), len(words))):
            r = int64(frequencies[node])
            if r > 0 and words[node] < out_BJ.shape[1]:
                out_BJ[i, words[node]] += factor * (r - discounts[min(r, last)])


@kernel
def add_everywhere(column_J: Floats, weights_B: Floats, constant_B: Floats, out_BJ: AnyFloats) -> None:
    """Adds weight times one column, and a constant, to every word of each row."""
    for i in range(len(weights_B)):
        for j in range(len(column_J)):
            out_BJ[i, j] += weights_B[i] * column_J[j] + constant_B[i]


@kernel
def column_after(
    contexts_B: Ids, words: Ids, first: Ids, frequencies: np.ndarray, discounts: Floats, sums_C3: Floats, out_BJ: Floats
) -> None:  # fmt: skip
    """P_n of every word after each context."""
    last = len(discounts) - 1
    for i in range(len(contexts_B)):
        context = int64(contexts_B[i])
        if context >= len(sums_C3) or not sums_C3[context, 2] > 0:
            out_BJ[i, :] = 1.0 / out_BJ.shape[1]
            continue
        out_BJ[i, :] = 0.0
        for node in range(int64(first[context]), min(int64(first[context + 1]), len(words))):
            r = int64(frequencies[node])
            if r > 0 and words[node] < out_BJ.shape[1]:
                out_BJ[i, words[node]] = (r - discounts[min(r, last)]) / sums_C3[context, 2]
