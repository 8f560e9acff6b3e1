"""Kernels over the text so far: counts of all orders from a log of words with hashed places, and from a short branch.

A log has for each of its places t and each order n (row n - 1): `links`, the place before with the same n-gram and the
one with the same context, and how many different words the context has had in this log, and of these how many that the
log before does not know; `sums`, how often the n-gram and the context have been there, faded. `heads_SM` are open hash
tables of the last places, a row for n-grams of each order and behind these one for their contexts. Sums and links of a
place hold for ever, so a log that has grown still tells what it was: `version` is the length that is meant.
"""

from __future__ import annotations

import numpy as np

from modlm.ground.arrays import AnyFloats, Floats, Ids, Ints, inlined, int64, kernel

GRAM, CONTEXT, DIFFERENT, NEW = 0, 1, 2, 3  # in links
COUNT, TOTAL = 0, 1  # in sums
WIDTH = 4  # features of an order
NOTHING = 0xFFFFFFFF
NEGLIGIBLE = 1e-17  # of a count that was 1


@inlined
def mixed(hashed: int, word: int) -> int:
    """The hash of a context with one more word before it, or of an n-gram."""
    product = (hashed ^ (word + 1)) * -7046029254386353131
    return product ^ (product >> 32)


@inlined
def faded(value: float, decay: float, age: int) -> float:
    """What is left of a sum after so many words."""
    return value if decay == 1.0 or age == 0 else value * decay**age


@inlined
def depth_at(flat: Ids, at: int, most: int, start: int) -> int:
    """How many words before a place are its context: back to `<s>`, which is the first of it, or an empty place."""
    depth = 0
    while depth < most and at - depth > 0 and flat[at - depth - 1] != NOTHING:
        depth += 1
        if flat[at - depth] == start:
            break
    return depth


@inlined
def alike(words_T: Ids, event: int, flat: Ids, at: int, length: int) -> bool:
    """Whether the same so many words stand before both places."""
    j = 1
    while j <= length and event - j >= 0 and words_T[event - j] == flat[at - j]:
        j += 1
    return j > length


@inlined
def slot_of(row: int, hashed: int, k: int, flat: Ids, at: int, word: int, words_T: Ids, heads_SM: np.ndarray) -> int:
    """Where in its table an n-gram is or would be, or a context if the word is below 0."""
    mask = heads_SM.shape[1] - 1
    slot = int64(hashed & mask)
    while heads_SM[row, slot] >= 0:
        event = int64(heads_SM[row, slot])
        if (word < 0 or words_T[event] == word) and alike(words_T, event, flat, at, k):
            break
        slot = (slot + 1) & mask
    return slot


@inlined
def last_event(
    which: int, hashed: int, k: int, flat: Ids, at: int, word: int, words_T: Ids, heads_SM: np.ndarray,
    links_TN4: np.ndarray, version: int,
) -> int:  # fmt: skip
    """The last place before `version` of an n-gram (or of a context: `which`), below 0 if there is none."""
    row = k if which == GRAM else heads_SM.shape[0] // 2 + k
    event = int64(heads_SM[row, slot_of(row, hashed, k, flat, at, word, words_T, heads_SM)])
    while event >= version:
        event = int64(links_TN4[event, k, which])
    return event


@inlined
def sum_at(sums_TN2: Floats, event: int, k: int, which: int, decay: float, until: int) -> float:
    """What is left at `until` of a sum of an event; 0 if there is none."""
    return faded(sums_TN2[event, k, which], decay, until - event) if event >= 0 else 0.0


@inlined
def number_at(links_TN4: np.ndarray, event: int, k: int, which: int) -> int:
    """How many words an event tells of; 0 if there is none."""
    return links_TN4[event, k, which] if event >= 0 else 0


@inlined
def put_row(
    t: int, k: int, total: float, followers: float, distance: int, count: float, vocab_size: int, probs_TK: Floats,
    features_TF: Floats,
) -> None:  # fmt: skip
    """P and the features of one order; a context that was not seen is uniform."""
    seen = total > 0
    probs_TK[t, k] = count / total if seen else 1.0 / vocab_size
    features_TF[t, k * WIDTH] = 1.0 if seen else 0.0
    features_TF[t, k * WIDTH + 1] = np.log(total) if seen else 0.0
    features_TF[t, k * WIDTH + 2] = np.log(followers) if seen else 0.0
    features_TF[t, k * WIDTH + 3] = np.log(distance) if seen else 0.0


@inlined
def put_nothing(t: int, first: int, prob: float, probs_TK: Floats, features_TF: Floats) -> None:
    """The orders from `first` on have no context here, or nothing is predicted."""
    probs_TK[t, first:] = prob
    features_TF[t, first * WIDTH :] = 0.0


@kernel
def read_words(
    ids: Ids, start: int, vocab_size: int, across: bool, decay: float, old_words: Ids, old_heads: np.ndarray,
    old_links: np.ndarray, old_sums: Floats, old_base: int, words_T: Ids, heads_SM: np.ndarray, links_TN4: np.ndarray,
    sums_TN2: Floats, base: int, length: int, probs_TK: Floats, features_TF: Floats,
) -> tuple[int, int]:  # fmt: skip
    """Score each word and then put it at the end of the log, until the log is full; the new length, and words read.

    Rows are written if there is room for them.
    """
    order, told, old = links_TN4.shape[1], len(probs_TK) > 0, len(old_words)
    for t in range(len(ids)):
        if length == len(words_T):
            return length, t
        word = int64(ids[t])
        if word >= vocab_size:
            if told:
                put_nothing(t, 0, 1.0, probs_TK, features_TF)
            if not across:
                words_T[length] = ids[t]
                length += 1
            continue
        depth, hashed = depth_at(words_T, length, order - 1, start), int64(0)
        for k in range(min(order, depth + 1)):
            if k > 0:
                hashed = mixed(hashed, int64(words_T[length - k]))
            gram = mixed(hashed, word + vocab_size)
            context_slot = slot_of(order + k, hashed, k, words_T, length, -1, words_T, heads_SM)
            gram_slot = slot_of(k, gram, k, words_T, length, word, words_T, heads_SM)
            c, g = int64(heads_SM[order + k, context_slot]), int64(heads_SM[k, gram_slot])
            oc = last_event(CONTEXT, hashed, k, words_T, length, -1, old_words, old_heads, old_links, old)
            og = last_event(GRAM, gram, k, words_T, length, word, old_words, old_heads, old_links, old)
            if told:
                last = base + c if c >= 0 else old_base + oc
                here, there = last - base, last - old_base
                total = sum_at(sums_TN2, c, k, TOTAL, decay, here) + sum_at(old_sums, oc, k, TOTAL, decay, there)
                count = sum_at(sums_TN2, g, k, COUNT, decay, here) + sum_at(old_sums, og, k, COUNT, decay, there)
                followers = 0.0 + number_at(links_TN4, c, k, NEW) + number_at(old_links, oc, k, DIFFERENT)
                put_row(t, k, total, followers, base + length - last, count, vocab_size, probs_TK, features_TF)
            sums_TN2[length, k, COUNT] = 1.0 + sum_at(sums_TN2, g, k, COUNT, decay, length)
            sums_TN2[length, k, TOTAL] = 1.0 + sum_at(sums_TN2, c, k, TOTAL, decay, length)
            links_TN4[length, k, GRAM], links_TN4[length, k, CONTEXT] = g, c
            links_TN4[length, k, DIFFERENT] = number_at(links_TN4, c, k, DIFFERENT) + (g < 0)
            links_TN4[length, k, NEW] = number_at(links_TN4, c, k, NEW) + (g < 0 and og < 0)
            heads_SM[order + k, context_slot] = heads_SM[k, gram_slot] = length
        if told:
            put_nothing(t, min(order, depth + 1), 1.0 / vocab_size, probs_TK, features_TF)
        words_T[length] = ids[t]
        length += 1
    return length, len(ids)


@kernel
def hash_again(
    words_T: Ids, heads_SM: np.ndarray, order: int, first: int, length: int, start: int, vocab_size: int
) -> None:  # fmt: skip
    """Fill empty tables with the places of a log."""
    for at in range(first, length):
        word = int64(words_T[at])
        if word >= vocab_size:
            continue
        hashed = int64(0)
        for k in range(depth_at(words_T, at, order - 1, start) + 1):
            if k > 0:
                hashed = mixed(hashed, int64(words_T[at - k]))
            slot = slot_of(order + k, hashed, k, words_T, at, -1, words_T, heads_SM)
            heads_SM[order + k, slot] = at
            slot = slot_of(k, mixed(hashed, word + vocab_size), k, words_T, at, word, words_T, heads_SM)
            heads_SM[k, slot] = at


@kernel
def follow_path(
    words_A: Ids, parents_A: np.ndarray, fresh_A: np.ndarray, node: int, first: int, behind: int, flat: Ids,
    fresh_F: np.ndarray,
) -> None:  # fmt: skip
    """The words of a branch up to a node, laid out from `first` on."""
    for at in range(first + behind - 1, first - 1, -1):
        flat[at], fresh_F[at] = words_A[node], fresh_A[node]
        node = int64(parents_A[node])


@kernel
def read_branch(
    ids: Ids, start: int, vocab_size: int, across: bool, decay: float, old_words: Ids, old_heads: np.ndarray,
    old_links: np.ndarray, old_sums: Floats, old_base: int, words_T: Ids, heads_SM: np.ndarray, links_TN4: np.ndarray,
    sums_TN2: Floats, base: int, version: int, flat: Ids, fresh_F: np.ndarray, first: int, at: int, probs_TK: Floats,
    features_TF: Floats,
) -> int:  # fmt: skip
    """Score each word and then put it behind those of a branch; where the branch ends now.

    `flat` has the words before the branch, those of the branch from `first` on, up to `at`, and room for the text. Bits
    of `fresh_F` tell for which orders a word was new after its context.
    """
    order, old, shift = links_TN4.shape[1], len(old_words), base + version - first
    totals_K, counts_K, new_K, last_K = np.zeros(order), np.zeros(order), np.zeros(order), np.zeros(order, np.int64)
    for t in range(len(ids)):
        word = int64(ids[t])
        if word >= vocab_size:
            put_nothing(t, 0, 1.0, probs_TK, features_TF)
            if not across:
                flat[at], fresh_F[at] = ids[t], 0
                at += 1
            continue
        depth, hashed, fresh = depth_at(flat, at, order - 1, start), int64(0), int64(0)
        along_branch(
            flat, fresh_F, first, at, min(order - 1, depth), word, vocab_size, decay, totals_K, counts_K, new_K, last_K
        )  # fmt: skip
        for k in range(min(order, depth + 1)):
            if k > 0:
                hashed = mixed(hashed, int64(flat[at - k]))
            gram = mixed(hashed, word + vocab_size)
            c = last_event(CONTEXT, hashed, k, flat, at, -1, words_T, heads_SM, links_TN4, version)
            g = last_event(GRAM, gram, k, flat, at, word, words_T, heads_SM, links_TN4, version)
            oc = last_event(CONTEXT, hashed, k, flat, at, -1, old_words, old_heads, old_links, old)
            og = last_event(GRAM, gram, k, flat, at, word, old_words, old_heads, old_links, old)
            last = last_K[k] + shift if totals_K[k] > 0 else base + c if c >= 0 else old_base + oc
            here, there = last - base, last - old_base
            total = totals_K[k] + sum_at(sums_TN2, c, k, TOTAL, decay, here)
            total += sum_at(old_sums, oc, k, TOTAL, decay, there)
            count = counts_K[k] + sum_at(sums_TN2, g, k, COUNT, decay, here)
            count += sum_at(old_sums, og, k, COUNT, decay, there)
            followers = new_K[k] + number_at(links_TN4, c, k, NEW) + number_at(old_links, oc, k, DIFFERENT)
            put_row(t, k, total, followers, at + shift - last, count, vocab_size, probs_TK, features_TF)
            if g < 0 and og < 0 and counts_K[k] == 0.0:
                fresh |= int64(1) << k
        put_nothing(t, min(order, depth + 1), 1.0 / vocab_size, probs_TK, features_TF)
        flat[at], fresh_F[at] = ids[t], fresh
        at += 1
    return at


@inlined
def along_branch(
    flat: Ids, fresh_F: np.ndarray, first: int, at: int, depth: int, word: int, vocab_size: int, decay: float,
    totals_K: Floats, counts_K: Floats, new_K: Floats, last_K: Ints,
) -> None:  # fmt: skip
    """What the words of a branch say, for all orders: how often the context and the n-gram are there, and the last."""
    totals_K[:] = 0.0
    counts_K[:] = 0.0
    new_K[:] = 0.0
    for event in range(at - 1, first - 1, -1):
        if flat[event] >= vocab_size:
            continue
        for k in range(depth + 1):
            if k > 0 and (event < k or flat[event - k] != flat[at - k]):
                break
            if totals_K[k] == 0.0:
                last_K[k] = event
            one = faded(1.0, decay, last_K[k] - event)
            totals_K[k] += one
            new_K[k] += (int64(fresh_F[event]) >> k) & 1
            if flat[event] == word:
                counts_K[k] += one


@inlined
def add_log(
    event: int, k: int, scale: float, decay: float, last: int, vocab_size: int, words_T: Ids, links_TN4: np.ndarray,
    sums_TN2: Floats, out_J: AnyFloats,
) -> None:  # fmt: skip
    """Add the words after a context, from its last place in a log on back; what has faded to nothing is left out."""
    if k == 0 and decay == 1.0 and event >= 0:  # every place, one beside the other
        left = sums_TN2[event, 0, TOTAL]
        while left > 0:
            if words_T[event] < vocab_size:
                out_J[words_T[event]] += scale
                left -= 1
            event -= 1
        return
    while event >= 0:
        weight = faded(1.0, decay, last - event)
        if weight < NEGLIGIBLE:
            break
        out_J[words_T[event]] += scale * weight
        event = int64(links_TN4[event, k, CONTEXT])


@kernel
def add_columns(
    start: int, vocab_size: int, decay: float, old_words: Ids, old_heads: np.ndarray, old_links: np.ndarray,
    old_sums: Floats, old_base: int, words_T: Ids, heads_SM: np.ndarray, links_TN4: np.ndarray, sums_TN2: Floats,
    base: int, version: int, flat: Ids, first: int, at: int, weights_K: Floats, out_J: AnyFloats,
) -> None:  # fmt: skip
    """Add all columns under weights: each place with the same context gives its word what is left of 1 since then."""
    order, old, shift = links_TN4.shape[1], len(old_words), base + version - first
    depth, hashed, uniform = depth_at(flat, at, order - 1, start), int64(0), 0.0
    for k in range(order):
        if k > 0 and k <= depth:
            hashed = mixed(hashed, int64(flat[at - k]))
        c = oc = near = -1
        if k <= depth:
            c = last_event(CONTEXT, hashed, k, flat, at, -1, words_T, heads_SM, links_TN4, version)
            oc = last_event(CONTEXT, hashed, k, flat, at, -1, old_words, old_heads, old_links, old)
            near = at - 1
            while near >= first and (flat[near] >= vocab_size or not alike(flat, near, flat, at, k)):
                near -= 1
        found = near >= first and k <= depth
        if not found and c < 0 and oc < 0:
            uniform += weights_K[k]
            continue
        last = near + shift if found else base + c if c >= 0 else old_base + oc
        total = sum_at(sums_TN2, c, k, TOTAL, decay, last - base)
        total += sum_at(old_sums, oc, k, TOTAL, decay, last - old_base)
        for event in range(near, first - 1, -1):
            if flat[event] < vocab_size and alike(flat, event, flat, at, k):
                total += faded(1.0, decay, last - shift - event)
        for event in range(near, first - 1, -1):
            if flat[event] < vocab_size and alike(flat, event, flat, at, k):
                out_J[flat[event]] += weights_K[k] * faded(1.0, decay, last - shift - event) / total
        add_log(c, k, weights_K[k] / total, decay, last - base, vocab_size, words_T, links_TN4, sums_TN2, out_J)
        add_log(oc, k, weights_K[k] / total, decay, last - old_base, vocab_size, old_words, old_links, old_sums, out_J)
    if uniform > 0.0:
        out_J += uniform / vocab_size


@kernel
def cache_rows(
    ids: Ids, at: int, words: int, vocab_size: int, decay: float, flat: Ids, probs_T1: Floats, features_TF: Floats
) -> None:  # fmt: skip
    """The share of each word among the last words before it, which stand before `at`; `flat` has room for the text."""
    for t in range(len(ids)):
        if ids[t] >= vocab_size:
            put_nothing(t, 0, 1.0, probs_T1, features_TF)
            continue
        total, count, weight = 0.0, 0.0, 1.0
        if decay == 1.0:
            total = float(min(words, at))
            for event in range(max(0, at - words), at):
                count += flat[event] == ids[t]
        else:
            for event in range(at - 1, max(0, at - words) - 1, -1):
                total += weight
                count += weight if flat[event] == ids[t] else 0.0
                weight *= decay
                if weight < NEGLIGIBLE:
                    break
        probs_T1[t, 0] = count / total if total > 0 else 1.0 / vocab_size
        features_TF[t, 0] = 1.0 if total > 0 else 0.0
        features_TF[t, 1] = np.log(total) if total > 0 else 0.0
        flat[at] = ids[t]
        at += 1


@kernel
def add_cache(flat: Ids, words: int, decay: float, weight: float, out_J: AnyFloats) -> None:
    """Add the distribution of the last words under a weight."""
    total, one = 0.0, 1.0
    first = max(0, len(flat) - words)
    for _ in range(first, len(flat)):
        total += one
        one *= decay
    if total == 0.0:
        out_J += weight / len(out_J)
        return
    one = weight / total
    for event in range(len(flat) - 1, first - 1, -1):
        out_J[flat[event]] += one
        one *= decay
