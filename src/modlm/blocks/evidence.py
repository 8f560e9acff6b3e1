"""What counts say about one word after one context, order by order: for people who ask why.

A context comes in as a window of ids, the nearest word last; one `Evidence` for each order goes out. Nothing here is on
the way to a probability; it reads the same trie that the columns are made from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modlm.arrays import Ids
from modlm.blocks.block import NOTHING, flattened
from modlm.counts.counts import Counts
from modlm.counts.skip import SkipCounts
from modlm.smoothing.smoother import Estimates


@dataclass(frozen=True, slots=True)
class Evidence:
    """One order's context and n-gram. What a model does not hold (any more) is None."""

    order: int
    context: tuple[int, ...]
    """The words that the order looks at, remotest first; fewer where the sentence begins."""
    seen: bool
    """Whether the context was seen, so that the order has a column of its own here."""
    total: float | None
    """How often the context was followed by anything; for Kneser-Ney's lower orders in how many different ways."""
    followers: int | None
    """Different words after the context."""
    kept: float | None
    """What discounting left of the total."""
    fallback: float | None
    """The weight that the family's own rule passes on to the next shorter context."""
    count: int | None
    """How often the n-gram, the context and the word, was seen; counted as `total` is."""


def counted_evidence(estimates: Estimates, window_C: Ids, word: int) -> list[Evidence]:
    """What smoothed counts hold, the lowest order first."""
    from modlm.counts.trie_kernels import NONE

    counts = estimates.counts
    contexts_TN, nodes_TN = counts.walk(flattened(window_C[None, :], np.array([word], np.uint32)))
    found = []
    for order, (context, node) in enumerate(zip(contexts_TN[-1].tolist(), nodes_TN[-1].tolist(), strict=True), start=1):
        words = context_words(counts, window_C, order)
        if context == NONE:
            found.append(Evidence(order, words, False, 0.0, 0, 0.0, 1.0, 0))
            continue
        sums = estimates.sums_of(order, context, context + 1)
        found.append(
            Evidence(
                order,
                words,
                bool(sums.seen[0]),
                float(sums.total[0]),
                int(sums.followers[0]),
                float(sums.kept[0]),
                float(sums.fallback[0]),
                int(counts.frequencies[node]) if node else 0,
            )
        )
    return found


def context_words(counts: Counts, window_C: Ids, order: int) -> tuple[int, ...]:
    """The words of a window at which an order looks; beyond `<s>` there is nothing, or `<s>` again if so counted."""
    positions = range(order - 1, 0, -1)
    places = counts.positions[len(counts.positions) - order + 1 :] if isinstance(counts, SkipCounts) else positions
    words = [int(word) for word in window_C.tolist() if word != NOTHING]
    begins = bool(words) and words[0] == counts.vocabulary.start and counts.edge == "repeat"
    if begins:
        words = [counts.vocabulary.start] * max(places, default=0) + words
    return tuple(words[-place] for place in places if place <= len(words))
