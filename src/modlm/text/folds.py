"""How a text is cut: into stretches of whole sentences, and into folds.

A fold takes a part of every source, so that no fold is a source.
Counts without a fold then miss the same share of every source, and nothing that depends on the fold tells where a
sentence comes from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from modlm.errors import ConfigError
from modlm.ground.arrays import Ints

Cut = tuple[int, int]  # neighbouring sentences, as the first and the one behind the last


def stretches(starts: Ints, size: int) -> Iterator[Cut]:
    """Neighbouring sentences of at most so many ids, or one sentence; `starts` has where each begins, and the end."""
    begin = 0
    while begin < len(starts) - 1:
        end = max(begin + 1, int(np.searchsorted(starts, starts[begin] + size, side="right")) - 1)
        yield begin, end
        begin = end


def fold_cuts(sources: Sequence[int], folds: int) -> list[list[Cut]]:
    """For each fold the sentences that it takes, one stretch of each source, in the order of the text.

    A source of n sentences is cut into stretches of ceil(n / folds), as `split -l` does; the last may be shorter.
    Neighbouring sources too small to have a sentence in every fold are cut as one. There are fewer folds than asked for
    when so many hold all sentences.
    """
    if folds < 1:
        raise ConfigError(f"The number of folds must be at least 1, but is {folds}.")
    cuts: list[list[Cut]] = [[] for _ in range(folds)]
    begin = 0
    for size in _joined(sources, folds):
        length = max(1, -(-size // folds))
        for fold, first in enumerate(range(0, size, length)):
            cuts[fold].append((begin + first, begin + min(first + length, size)))
        begin += size
    return [fold for fold in cuts if fold]


def _joined(sources: Sequence[int], folds: int) -> list[int]:
    """Sizes of the sources, small ones added to what stands before them."""
    sizes: list[int] = []
    for size in sources:
        if sizes and min(size, sizes[-1]) < folds:
            sizes[-1] += size
        else:
            sizes.append(size)
    return sizes
