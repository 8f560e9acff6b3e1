"""Suffix links of a trie whose words and followers are known, order by order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from modlm.counts import trie_kernels
from modlm.counts.checks import unsound
from modlm.ground.arrays import Ids, even_ranges, in_parallel, threads

CONTEXTS = 1 << 21  # linked between two pauses


def link_suffixes(
    words: Ids,
    first: Ids,
    suffix: Ids,
    levels: tuple[int, ...],
    *,
    workers: int | None = None,
    pause: Callable[[], None] = lambda: None,
) -> None:
    """Fill `suffix`; `pause` is called now and then, so that mapped files can be let go of.

    The n-grams must be closed: without its first or its last word, each is there too. Those that we count or import
    are; those of a damaged folder may not be.
    """
    suffix[: levels[2] if len(levels) > 2 else len(suffix)] = 0
    for order in range(2, len(levels) - 1):
        low, high = levels[order - 1], levels[order]
        if order == 2:
            np.add(words[levels[2] : levels[3]], 1, out=suffix[levels[2] : levels[3]])
            continue
        for begin in range(low, high, CONTEXTS):
            ranges = even_ranges(min(CONTEXTS, high - begin), threads(workers) * 4)
            tasks = [partial(trie_kernels.link, words, first, suffix, begin + a, begin + b) for a, b in ranges]
            if not all(in_parallel(tasks, workers=workers)):
                raise unsound()
            pause()
