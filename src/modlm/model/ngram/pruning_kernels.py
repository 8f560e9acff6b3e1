"""Kernels that take n-grams out of a compiled model: which to keep, and backoffs that fit the rest.

As all kernels over a trie they trust no link: followers are cut to the arrays, and suffixes are smaller nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from modlm.counts.search_kernels import NOT_FOUND, ONE
from modlm.counts.trie_kernels import shorter as shorter_node
from modlm.ground.arrays import AnyFloats, Bools, Floats, Ids, Ints, int64, kernel
from modlm.model.ngram.compiled_kernels import Records, longest, probability_of, shorter

EPSILON = 3e-6  # probability mass below this is rounding (SRILM's choice)


@kernel
def followers(nodes: Records, context: np.uint64, total: int) -> Any:
    """The nodes of a context's followers."""
    return range(np.uint64(nodes[context].first), min(np.uint64(nodes[context + ONE].first), np.uint64(total)))


@kernel
def keep_contexts(nodes: Records, low: int, high: int, keep: Bools) -> None:
    """Keep those of the contexts low..high-1 that have a kept follower."""
    for context in range(low, high):
        for node in followers(nodes, np.uint64(context), len(keep)):
            if keep[node]:
                keep[context] = True
                break


@kernel
def link_kept(suffix: Ids, keep: Bools, rank: Ints, low: int, high: int, out: Ids) -> None:
    """For each kept node of low..high-1 its longest suffix that is kept, as is the root; `rank`: kept nodes before."""
    for node in range(low, high):
        if keep[node]:
            below = shorter_node(suffix, node)
            while not keep[below]:
                below = shorter_node(suffix, below)
            out[rank[node]] = rank[below]


@kernel
def context_marginals(
    words: Ids, nodes: Records, leaves: Records, start: int, low: int, high: int, out: Floats
) -> None:  # fmt: skip
    """P of the followers of contexts low..high-1 as word sequences, by the chain rule; further `<s>` are certain."""
    for context in range(low, high):
        for node in followers(nodes, np.uint64(context), len(out)):
            out[node] = out[context] * (1.0 if words[node] == start else probability_of(nodes, leaves, node))


@kernel
def shorter_prob(nodes: Records, leaves: Records, context: np.uint64, node: np.uint64) -> float:
    """P of a follower of the context after the context without its first word.

    The node's suffix may be shorter than that by more than one word; the contexts passed over give their backoffs.
    """
    inner = np.uint64(len(nodes) - 1)
    found = np.uint64(nodes[node].suffix if node < inner else leaves[node - inner].suffix)
    found = found if found < node else NOT_FOUND
    below = shorter(nodes, context)
    weight = 1.0
    while below != NOT_FOUND and not (nodes[below].first <= found < nodes[below + ONE].first):
        weight *= nodes[below].backoff
        below = shorter(nodes, below)
    return float(weight * probability_of(nodes, leaves, found))


@kernel
def unseen_mass(
    words: Ids, nodes: Records, leaves: Records, start: int, context: np.uint64
) -> tuple[float, float]:  # fmt: skip
    """What the context's followers leave to all other words, and what they leave in the shorter context.

    Where that is so little that it may be rounding, as when nearly every word follows, it is summed over those others.
    """
    left, left_below = 1.0, 1.0
    for node in followers(nodes, context, len(words)):
        if words[node] != start:
            left -= probability_of(nodes, leaves, node)
            left_below -= shorter_prob(nodes, leaves, context, node)
    if left_below < EPSILON:
        left_below = 0.0
        following, end = np.uint64(nodes[context].first), np.uint64(nodes[context + ONE].first)
        for word in range(start):
            if following < end and following < np.uint64(len(words)) and words[following] == word:
                following += ONE
            else:
                node, weight = longest(words, nodes, shorter(nodes, context), np.uint32(word))
                left_below += weight * probability_of(nodes, leaves, node)
    return left, left_below


@kernel
def entropy_rise(p: float, q: float, left: float, left_below: float) -> float:
    """D(P || P') after a context when a word of probability p gives up its n-gram; q is its P in the shorter context.

    The context's backoff a = left / left_below becomes a' = (left + p) / (left_below + q). So P' is a' q for the word,
    and a' / a times what it was for the words that have no n-gram (Stolcke 1998).
    """
    if q <= 0.0:
        return np.inf if p > 0.0 else 0.0
    lost = p * np.log(p / q * (left_below + q) / (left + p)) if p > 0.0 else 0.0
    gained = left * (np.log1p(p / left) - np.log1p(q / left_below)) if left > 0.0 else 0.0
    return lost - gained


@kernel
def mark_kept(
    words: Ids, nodes: Records, leaves: Records, start: int, marginals: Floats, threshold: float, keep: Bools,
    low: int, high: int,
) -> None:  # fmt: skip
    """Keep the followers of contexts low..high-1 whose removal raises the perplexity by the threshold or more.

    Also those that are contexts of what is kept (marked already), those that are `<s>`, and all of a context that every
    word follows, so that there is nothing to back off to.
    """
    for at in range(low, high):
        context = np.uint64(at)
        left, left_below = unseen_mass(words, nodes, leaves, start, context)
        proper = left > -EPSILON and left_below > 0.0
        left = max(left, 0.0)
        for node in followers(nodes, context, len(words)):
            if keep[node]:
                continue
            if words[node] == start or not proper:
                keep[node] = True
                continue
            q = shorter_prob(nodes, leaves, context, node)
            p = probability_of(nodes, leaves, node)
            keep[node] = np.expm1(marginals[context] * entropy_rise(p, q, left, left_below)) >= threshold


@kernel
def step_down(
    words: Ids, first: Ids, start: int, base: int, exact: Floats, numbers: Floats, lowest: int, ranks: Ints,
    low: int, high: int,
) -> None:  # fmt: skip
    """Take ranks of the most probable followers of contexts low..high-1 down until half is left of what was.

    `exact` and `ranks` are of the followers' order, which begins at `base`; ranks up to `lowest` stay.
    """
    for context in range(low, high):
        begin, end = int64(first[context]) - base, int64(first[context + 1]) - base
        left, now = 1.0, 1.0
        for i in range(begin, end):
            if words[base + i] != start:
                left, now = left - exact[i], now - numbers[ranks[i]]
        while now < min(left, left / 2):
            top = begin
            for i in range(begin, end):
                if ranks[i] > ranks[top] and words[base + i] != start:
                    top = i
            if ranks[top] <= lowest or words[base + top] == start:
                break
            ranks[top] -= 1
            now += numbers[ranks[top] + 1] - numbers[ranks[top]]


@kernel
def keep_sums(
    words: Ids, nodes: Records, leaves: Records, start: int, old_nodes: Records, old_leaves: Records, sums: Floats,
    backoffs: AnyFloats, low: int, high: int,
) -> None:  # fmt: skip
    """New backoffs (those of the nodes) for contexts low..high-1, in 32 bits, so that sums are those of the old model.

    Shorter contexts have theirs already, and their sums. With nothing to back off to, a context keeps what it has.
    """
    for at in range(low, high):
        context, backoff = np.uint64(at), old_nodes[at].backoff
        sums[at] = below = sums[shorter(nodes, context)]
        if nodes[context].first < nodes[context + ONE].first:
            old_left, old_below = unseen_mass(words, old_nodes, old_leaves, start, context)
            left, left_below = unseen_mass(words, nodes, leaves, start, context)
            old_below, left_below = old_below + below - 1.0, left_below + below - 1.0
            sums[at] = 1.0 - old_left + backoff * old_below
            if left_below > 0.0:
                backoffs[at] = np.float32(max(0.0, sums[at] - 1.0 + left) / left_below)


@kernel
def renormalise(
    words: Ids, nodes: Records, leaves: Records, start: int, backoffs: AnyFloats, low: int, high: int
) -> None:  # fmt: skip
    """New backoffs (those of the nodes) for contexts low..high-1, those of shorter contexts being right already.

    Improper contexts, and those with nothing to back off to, keep what they have.
    """
    for at in range(low, high):
        context = np.uint64(at)
        if nodes[context].first == nodes[context + ONE].first:
            backoffs[context] = 1.0
            continue
        left, left_below = unseen_mass(words, nodes, leaves, start, context)
        if left > -EPSILON and left_below > 0.0:
            backoffs[context] = max(left, 0.0) / left_below
