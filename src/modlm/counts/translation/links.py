"""Links between the words of sentence pairs, from one direction or both, in the format of Pharaoh: `0-0 1-2 …`.

Each link is place of source word - place of target word, from 0. In one direction every target word has one link or
none; taken from both directions, words may have several.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from modlm.counts.translation import em_kernels
from modlm.errors import ConfigError
from modlm.ground.arrays import Bools, Ints
from modlm.text.parallel import Parallel

ONE_WAY = "none"
WAYS = (ONE_WAY, "intersection", "union", "grow-diag-final-and")


def links_of(pairs: Parallel, links: Ints, back: Ints | None = None, *, way: str = ONE_WAY) -> Iterator[Ints]:
    """For each pair its links (L, 2), sorted; `back` has the other direction's, for ways that take both."""
    if way not in WAYS or (way != ONE_WAY) != (back is not None):
        raise ConfigError(f"Links of two directions are joined by one of {', '.join(WAYS[1:])}, not {way!r}.")
    sources, targets = pairs.source.starts.tolist(), pairs.target.starts.tolist()
    for n in range(len(pairs)):
        size, length = sources[n + 1] - sources[n] - 2, targets[n + 1] - targets[n] - 2
        forward_SI = _matrix(links[targets[n] + 1 : targets[n + 1] - 1], size).T
        if back is None:
            yield np.argwhere(forward_SI)
            continue
        backward_SI = _matrix(back[sources[n] + 1 : sources[n + 1] - 1], length)
        if way == "grow-diag-final-and":
            joined_SI = np.empty((size, length), np.bool_)
            em_kernels.grown(np.ascontiguousarray(forward_SI), backward_SI, joined_SI)
        else:
            joined_SI = forward_SI & backward_SI if way == "intersection" else forward_SI | backward_SI
        yield np.argwhere(joined_SI)


def pharaoh(links_L2: Ints) -> str:
    """A pair's links as a line."""
    return " ".join(f"{source}-{target}" for source, target in links_L2.tolist())


def _matrix(links: Ints, others: int) -> Bools:
    """(words, others): True where a word is linked."""
    matrix = np.zeros((len(links), others), np.bool_)
    linked = np.flatnonzero(links >= 0)
    matrix[linked, links[linked]] = True
    return matrix
