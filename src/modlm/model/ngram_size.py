"""The best n-gram model within so many bytes: which order, from counts or with how much pruned away.

From counts it is exact, and of each order there is one. Pruned, by counts or by entropy, it keeps probabilities, in a
few bits each, of as many n-grams as there is room for. The perplexity of a text that neither was made from decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from modlm.counts.counts import Counts
from modlm.errors import ConfigError
from modlm.model.compact_lm import CompactLM
from modlm.model.ngram_lm import NgramLM
from modlm.text.sources import Text

SETTINGS = 24 << 10  # bytes of a folder beside arrays and words, at most
BITS = 8
THRESHOLDS = np.geomspace(1e-12, 1e-2, 127)  # of pruning by entropy
DROPPED = 16  # the largest count up to which n-grams are dropped


def fitted(
    counts: Counts, valid: Text, size: int, *, bits: int = BITS, **smoothed: Any
) -> tuple[CompactLM, dict[str, Any]]:
    """The model whose folder takes at most `size` bytes with the best perplexity of `valid`, and what was looked at."""
    room, looked = size - SETTINGS, list[dict[str, Any]]()
    best: CompactLM | None = None
    for order in range(counts.order, 0, -1):
        made = CompactLM.from_counts(counts.up_to(order), **smoothed)
        looked.append({"order": order, "prune": [], "prune_entropy": 0.0, "bytes": made.bytes})
        if made.bytes <= room:
            best = made
            break
    if best is None:
        raise ConfigError(
            f"The words alone take {looked[-1]['bytes'] + SETTINGS:,} bytes, and {size:,} were asked for. Keep fewer "
            "words (max_words), or ask for more bytes."
        )
    perplexity = looked[-1]["perplexity"] = best.perplexity(valid).perplexity
    if best.order == counts.order or counts.order < 2:
        return best, {"looked_at": looked}
    whole = NgramLM.from_counts(counts, **smoothed)
    ways: list[list[dict[str, Any]]] = [
        [{"prune_entropy": float(threshold)} for threshold in THRESHOLDS],
        [{"prune": prune} for prune in cuts(counts.order)],
    ]
    for way in ways:  # from much that is kept to little: find where there is room, and look at what has
        low, high = 0, len(way)
        while low < high:
            middle = (low + high) // 2
            how = way[middle]
            pruned = (
                NgramLM.from_counts(counts, **smoothed, **how) if "prune" in how else whole.pruned(how["prune_entropy"])
            )
            made = CompactLM.of(pruned, bits)
            looked.append({"order": made.order, "prune": [], "prune_entropy": 0.0, **how, "bytes": made.bytes})
            if made.bytes > room:
                low = middle + 1
                continue
            high = middle
            found = looked[-1]["perplexity"] = made.perplexity(valid).perplexity
            if found < perplexity:
                best, perplexity = made, found
    return best, {"looked_at": looked}


def cuts(order: int) -> list[tuple[int, ...]]:
    """Thresholds of counts for each order, from few n-grams dropped to many: the highest orders first, words never."""
    return [
        (0, *[dropped - 1] * (n - 2), *[dropped] * (order - n + 1))
        for dropped in range(1, DROPPED + 1)
        for n in range(order, 1, -1)
    ]
