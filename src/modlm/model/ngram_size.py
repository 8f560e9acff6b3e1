"""The best n-gram model within so many bytes: which order, from counts or with how much pruned away.

From counts it is exact, and of each order there is one. Pruned by entropy it keeps probabilities, in a few bits each,
of as many n-grams as there is room for. The perplexity of a text that neither was made from decides.
"""

from __future__ import annotations

import math
from typing import Any

from modlm.counts.counts import Counts
from modlm.errors import ConfigError
from modlm.model.compact_lm import CompactLM
from modlm.model.ngram_lm import NgramLM
from modlm.text.sources import Text

SETTINGS = 24 << 10  # bytes of a folder beside arrays and words, at most
BITS = 8
LOOKS = 7  # at thresholds, each between two that are known
LEAST, MOST = 1e-12, 1e-2  # thresholds


def fitted(
    counts: Counts, valid: Text, size: int, *, bits: int = BITS, **smoothed: Any
) -> tuple[CompactLM, dict[str, Any]]:
    """The model whose folder takes at most `size` bytes with the best perplexity of `valid`, and what was looked at."""
    room, looked = size - SETTINGS, list[dict[str, Any]]()
    best: CompactLM | None = None
    for order in range(counts.order, 0, -1):
        made = CompactLM.from_counts(counts.up_to(order), **smoothed)
        looked.append({"order": order, "prune_entropy": 0.0, "bytes": made.bytes})
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
    low, high = math.log(LEAST), math.log(MOST)
    for _ in range(LOOKS):
        threshold = math.exp((low + high) / 2)
        made = CompactLM.of(whole.pruned(threshold), bits)
        looked.append({"order": made.order, "prune_entropy": threshold, "bytes": made.bytes})
        if made.bytes > room:
            low = math.log(threshold)
            continue
        high = math.log(threshold)
        found = looked[-1]["perplexity"] = made.perplexity(valid).perplexity
        if found < perplexity:
            best, perplexity = made, found
    return best, {"looked_at": looked}
