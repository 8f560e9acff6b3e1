"""What n-grams say about one word after one context, order by order: for people who ask why.

A context comes in as a window of ids, the nearest word last; one `Evidence` for each order goes out, the lowest first.
Smoothed counts tell everything; a compiled model has no counts any more, but followers and fallbacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from modlm.blocks.block import NOTHING, flattened
from modlm.counts import trie_kernels
from modlm.counts.counts import Counts
from modlm.counts.skip import SkipCounts
from modlm.ground.arrays import Ids
from modlm.model.ngram.compiled import Compiled
from modlm.smoothing.estimates import Estimates


@dataclass(frozen=True, slots=True)
class Evidence:
    """One order's context and n-gram. What a model does not hold (any more) is None."""

    order: int
    context: tuple[int, ...]  # the words that the order looks at, remotest first; fewer where the sentence begins
    seen: bool  # whether the context was seen, so that the order has a column of its own here
    total: float | None
    """How often the context was followed by anything; for Kneser-Ney's lower orders in how many different ways."""
    followers: int | None  # different words after the context
    kept: float | None  # what discounting left of the total
    fallback: float | None  # the weight that the family's own rule passes on to the next shorter context
    count: int | None  # how often the n-gram, the context and the word, was seen; counted as `total` is
    counted: str | None  # what was counted: `occurrences`, or `continuations`, the different words before it
    occurrences: int | None = None  # how often the n-gram occurs in the text, however it is counted


def counted_evidence(estimates: Estimates, window_C: Ids, word: int, *, raw: Counts | None = None) -> list[Evidence]:
    """What smoothed counts hold; `raw` are the occurrences that they were made from."""
    counts, found = estimates.counts, list[Evidence]()
    raw = raw if estimates.smoother.continuation else counts
    contexts_TN, nodes_TN = counts.walk(flattened(window_C[None, :], np.array([word], np.uint32)))
    for order, (context, node) in enumerate(zip(contexts_TN[-1].tolist(), nodes_TN[-1].tolist(), strict=True), start=1):
        places = counts.positions[-order + 1 :] if isinstance(counts, SkipCounts) else range(order - 1, 0, -1)
        places = places if order > 1 else ()
        padding = max(places, default=0) if counts.edge == "repeat" else 0
        words = words_at(places, window_C, counts.vocabulary.start, padding=padding)
        counted = what_counts(estimates, words, order)
        occurrences = None if raw is None else int(raw.frequencies[node]) if node else 0
        if context == trie_kernels.NONE:
            found.append(Evidence(order, words, False, 0.0, 0, 0.0, 1.0, 0, counted, occurrences))
            continue
        sums = estimates.sums_of(order, context, context + 1)
        total, kept, fallback = float(sums.total[0]), float(sums.kept[0]), float(estimates.fallback(sums)[0])
        count, followers = int(counts.frequencies[node]) if node else 0, int(sums.followers[0])
        found.append(Evidence(order, words, kept > 0, total, followers, kept, fallback, count, counted, occurrences))
    return found


def compiled_evidence(compiled: Compiled, window_C: Ids, word: int) -> list[Evidence]:
    """For each order its context if the model has it, with the words that have an n-gram there and the backoff weight.

    `count` is 0 where the n-gram is not in the model, else None: how often it was seen is not known.
    """
    padding, found = int(np.count_nonzero(compiled.start_nodes)) - 1, list[Evidence]()
    for order in range(1, compiled.order + 1):
        words = words_at(range(order - 1, 0, -1), window_C, compiled.vocab_size, padding=padding)
        node = 0
        for context_word in words:
            node = compiled.follower(node, context_word) if 0 <= node < compiled.contexts else 0
            node = node if 0 < node < compiled.contexts else -1
        if node < 0 or len(words) < order - 1:
            found.append(Evidence(order, words, False, None, 0, None, 1.0, 0, None))
            continue
        low, high = compiled.followers(node)
        followers = int(np.count_nonzero(compiled.words[low:high] < compiled.vocab_size))  # `<s>` after `<s>` is none
        count = None if order == 1 or compiled.follower(node, word) else 0
        fallback = float(compiled.nodes["backoff"][node]) if order > 1 else None
        found.append(Evidence(order, words, followers > 0, None, followers, None, fallback, count, None))
    return found


def what_counts(estimates: Estimates, context: tuple[int, ...], order: int) -> str:
    """Kneser-Ney counts continuations below the highest order, but for what begins a sentence if `<s>` stands once."""
    counts = estimates.counts
    begins = counts.edge == "once" and context[:1] == (counts.vocabulary.start,)
    return "occurrences" if not estimates.smoother.continuation or order == counts.order or begins else "continuations"


def words_at(places: Sequence[int], window_C: Ids, start: int, *, padding: int) -> tuple[int, ...]:
    """The words of a window so many places back; before `<s>`, if it is there, stand `padding` more of it."""
    words = [int(word) for word in window_C.tolist() if word != NOTHING]
    words = [start] * (padding if words[:1] == [start] else 0) + words
    return tuple(words[-place] for place in places if place <= len(words))
