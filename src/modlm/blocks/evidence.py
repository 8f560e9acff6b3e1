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
    counted: str | None
    """What was counted: `occurrences`, or `continuations`, the different words before it."""
    occurrences: int | None = None
    """How often the n-gram occurs in the text, however it is counted."""


def counted_evidence(estimates: Estimates, window_C: Ids, word: int, *, raw: Counts | None = None) -> list[Evidence]:
    """What smoothed counts hold, the lowest order first; `raw` are the occurrences that they were made from."""
    from modlm.counts.trie_kernels import NONE

    counts = estimates.counts
    raw = raw if estimates.smoother.continuation else counts
    contexts_TN, nodes_TN = counts.walk(flattened(window_C[None, :], np.array([word], np.uint32)))
    found = []
    for order, (context, node) in enumerate(zip(contexts_TN[-1].tolist(), nodes_TN[-1].tolist(), strict=True), start=1):
        words = context_words(counts, window_C, order)
        counted, times = what_counts(estimates, words, order), None if raw is None else int(raw.frequencies[node])
        if context == NONE:
            found.append(Evidence(order, words, False, 0.0, 0, 0.0, 1.0, 0, counted, None if raw is None else 0))
            continue
        sums = estimates.sums_of(order, context, context + 1)
        total, kept, fallback = float(sums.total[0]), float(sums.kept[0]), float(sums.fallback[0])
        count = int(counts.frequencies[node]) if node else 0
        found.append(
            Evidence(
                order, words, kept > 0, total, int(sums.followers[0]), kept, fallback, count, counted,
                times if node else None if raw is None else 0,
            )
        )  # fmt: skip
    return found


def what_counts(estimates: Estimates, context: tuple[int, ...], order: int) -> str:
    """Kneser-Ney counts continuations below the highest order, but for what begins a sentence if `<s>` stands once."""
    counts = estimates.counts
    begins = counts.edge == "once" and context[:1] == (counts.vocabulary.start,)
    return "occurrences" if not estimates.smoother.continuation or order == counts.order or begins else "continuations"


def context_words(counts: Counts, window_C: Ids, order: int) -> tuple[int, ...]:
    """The words of a window at which an order looks; beyond `<s>` there is nothing, or `<s>` again if so counted."""
    positions = range(order - 1, 0, -1)
    places = counts.positions[len(counts.positions) - order + 1 :] if isinstance(counts, SkipCounts) else positions
    words = [int(word) for word in window_C.tolist() if word != NOTHING]
    begins = bool(words) and words[0] == counts.vocabulary.start and counts.edge == "repeat"
    if begins:
        words = [counts.vocabulary.start] * max(places, default=0) + words
    return tuple(words[-place] for place in places if place <= len(words))
