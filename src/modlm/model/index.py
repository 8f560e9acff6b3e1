"""An index of the n-grams of a compiled model, for those that stay in memory and are asked a lot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from modlm.model.compiled import Compiled

LOAD = 0.8  # of the slots that are taken, at most


@dataclass(frozen=True, slots=True)
class Index:
    """Where the word after a context is: a table of 10 to 20 bytes an n-gram, made in seconds from the model."""

    slots: NDArray[np.uint64]
    shift: int
    """What is left of a hash is the number of its slot."""

    @classmethod
    def of(cls, compiled: Compiled) -> Index:
        """The index of a model; words after the empty context need none."""
        from modlm.model.index_kernels import fill_slots

        first = compiled.levels[2]
        bits = max(4, int((len(compiled.words) - first) / LOAD).bit_length())
        index = cls(np.zeros(1 << bits, np.uint64), 64 - bits)
        fill_slots(compiled.words, compiled.nodes, first, index.slots, index.shift)
        return index
