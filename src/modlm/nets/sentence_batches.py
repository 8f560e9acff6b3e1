"""A text cut into the positions that a net takes at once: sentences of like length side by side, time first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from modlm.arrays import Bools, Ints


@dataclass(frozen=True, slots=True)
class SentenceBatch:
    """Sentences side by side, longest first; `places_TB` of positions that a sentence has not is its last."""

    places_TB: Ints
    """Where each predicted word stands in the text."""
    real_TB: Bools


def sentence_batches(starts: Ints, end: int, most: int) -> Iterator[SentenceBatch]:
    """The sentences that begin at `starts` in batches of `most` positions, padding counted, or of one sentence."""
    steps = np.diff(np.append(starts, end)) - 1
    order = np.argsort(-steps, kind="stable")
    at = 0
    while at < len(order):
        longest = max(1, int(steps[order[at]]))
        chosen = order[at : at + max(1, most // longest)]
        at += len(chosen)
        time_T1 = np.arange(longest)[:, None]
        real_TB = time_T1 < steps[chosen]
        yield SentenceBatch(starts[chosen] + 1 + np.minimum(time_T1, np.maximum(steps[chosen] - 1, 0)), real_TB)
