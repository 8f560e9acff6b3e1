"""Kernels that take n-grams out of a compiled model: which to keep, the smaller trie, and backoffs that fit it.

As all kernels over a trie they trust no link: followers are cut to the arrays, and suffixes are smaller nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from modlm.arrays import AnyFloats, Bools, Floats, Ids, Ints, kernel
from modlm.counts.trie_kernels import follower

EPSILON = 3e-6
"""Probability mass below this is rounding (SRILM's choice)."""


@kernel
def followers(first: Ids, context: int, total: int) -> Any:
    """The nodes of a context's followers."""
    low: Any = np.int64(first[context])
    high: Any = np.int64(first[context + 1])
    return range(low, min(high, total))


@kernel
def below(suffix: Ids, node: int) -> Any:
    """The node's suffix."""
    shorter = np.int64(suffix[node])
    return shorter if shorter < node else np.int64(0)


@kernel
def keep_contexts(first: Ids, low: int, high: int, keep: Bools) -> None:
    """Keep those of the contexts low..high-1 that have a kept follower."""
    for context in range(low, high):
        for node in followers(first, context, len(keep)):
            if keep[node]:
                keep[context] = True
                break


@kernel
def kept_suffix(suffix: Ids, keep: Bools, node: int) -> Any:
    """The longest kept suffix of an n-gram, shorter than itself; the root is always kept."""
    shorter = below(suffix, node)
    while not keep[shorter]:
        shorter = below(suffix, shorter)
    return shorter


@kernel
def link_kept(suffix: Ids, keep: Bools, rank: Ints, low: int, high: int, out: Ids) -> None:
    """The new suffix of each kept node of low..high-1; `rank` is the number of kept nodes before each."""
    for node in range(low, high):
        if keep[node]:
            out[rank[node]] = rank[kept_suffix(suffix, keep, node)]


@kernel
def context_marginals(words: Ids, first: Ids, probs: AnyFloats, start: int, low: int, high: int, out: Floats) -> None:
    """P of the followers of contexts low..high-1 as word sequences, by the chain rule; further `<s>` are certain."""
    for context in range(low, high):
        for node in followers(first, context, len(out)):
            out[node] = out[context] * (1.0 if words[node] == start else probs[node])


@kernel
def shorter_prob(
    first: Ids, suffix: Ids, probs: AnyFloats, backoffs: AnyFloats, context: int, node: int
) -> float:  # fmt: skip
    """P of a follower of the context after the context without its first word.

    The node's suffix may be shorter than that by more than one word; the contexts passed over give their backoffs.
    """
    found = below(suffix, node)
    shorter = below(suffix, context)
    weight = 1.0
    while shorter != 0 and not (first[shorter] <= found < first[shorter + 1]):
        weight *= backoffs[shorter]
        shorter = below(suffix, shorter)
    return float(weight * probs[found])


@kernel
def prob_after(
    words: Ids, first: Ids, suffix: Ids, probs: AnyFloats, backoffs: AnyFloats, context: int, word: int
) -> float:  # fmt: skip
    """P of a word after a context."""
    weight = 1.0
    node = follower(words, first, context, word)
    while node == 0:
        weight *= backoffs[context]
        context = below(suffix, context)
        node = follower(words, first, context, word)
    return float(weight * probs[node])


@kernel
def unseen_mass(
    words: Ids, first: Ids, suffix: Ids, probs: AnyFloats, backoffs: AnyFloats, start: int, context: int
) -> tuple[float, float]:  # fmt: skip
    """What the context's followers leave to all other words, and what they leave in the shorter context.

    Where that is so little that it may be rounding, as when nearly every word follows, it is summed over those others.
    """
    longer, shorter = 1.0, 1.0
    for node in followers(first, context, len(words)):
        if words[node] != start:
            longer -= probs[node]
            shorter -= shorter_prob(first, suffix, probs, backoffs, context, node)
    if shorter < EPSILON:
        shorter = 0.0
        following = np.int64(first[context])
        end = np.int64(first[context + 1])
        for word in range(start):
            if following < end and following < len(words) and words[following] == word:
                following += 1
            else:
                shorter += prob_after(words, first, suffix, probs, backoffs, below(suffix, context), word)
    return longer, shorter


@kernel
def entropy_rise(p: float, q: float, longer: float, shorter: float) -> float:
    """D(P || P') after a context when a word of probability p gives up its n-gram; q is its P in the shorter context.

    The context's backoff a = longer / shorter becomes a' = (longer + p) / (shorter + q). So P' is a' q for the word,
    and a' / a times what it was for the words that have no n-gram (Stolcke 1998).
    """
    if q <= 0.0:
        return np.inf if p > 0.0 else 0.0
    lost = p * np.log(p / q * (shorter + q) / (longer + p)) if p > 0.0 else 0.0
    gained = longer * (np.log1p(p / longer) - np.log1p(q / shorter)) if longer > 0.0 else 0.0
    return lost - gained


@kernel
def mark_kept(
    words: Ids, first: Ids, suffix: Ids, probs: AnyFloats, backoffs: AnyFloats, marginals: Floats, start: int,
    threshold: float, low: int, high: int, keep: Bools,
) -> None:  # fmt: skip
    """Keep the followers of contexts low..high-1 whose removal raises the perplexity by the threshold or more.

    Also those that are contexts of what is kept (marked already), those that are `<s>`, and all of a context that every
    word follows, so that there is nothing to back off to.
    """
    for context in range(low, high):
        longer, shorter = unseen_mass(words, first, suffix, probs, backoffs, start, context)
        proper = longer > -EPSILON and shorter > 0.0
        longer = max(longer, 0.0)
        for node in followers(first, context, len(words)):
            if keep[node]:
                continue
            if words[node] == start or not proper:
                keep[node] = True
                continue
            q = shorter_prob(first, suffix, probs, backoffs, context, node)
            rise = marginals[context] * entropy_rise(probs[node], q, longer, shorter)
            keep[node] = np.expm1(rise) >= threshold


@kernel
def renormalise(
    words: Ids, first: Ids, suffix: Ids, probs: AnyFloats, backoffs: AnyFloats, start: int, low: int, high: int
) -> None:  # fmt: skip
    """New backoffs for contexts low..high-1, those of shorter contexts being right already.

    Improper contexts, and those with nothing to back off to, keep what they have.
    """
    for context in range(low, high):
        if first[context] == first[context + 1]:
            backoffs[context] = 1.0
            continue
        longer, shorter = unseen_mass(words, first, suffix, probs, backoffs, start, context)
        if longer > -EPSILON and shorter > 0.0:
            backoffs[context] = max(longer, 0.0) / shorter
