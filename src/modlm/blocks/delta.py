"""The delta columns: one for each of the J words, all of its mass on that word (the identity matrix, section 3.2).

They are never made. A row of D has a single entry other than 0 in them, the 1 of the word's own column; and all of them
times their weights are the weights themselves.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from modlm.blocks.block import ALONE, Beside, Block, Rows
from modlm.errors import ModlmError
from modlm.ground.arrays import Floats, Ids
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import Vocabulary


class DeltaBlock(Block):
    """One label, J columns; they stand behind all other columns."""

    kind: ClassVar[str] = "delta"
    columns: tuple[str, ...] = ("delta",)

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def rows(self, ids: Ids, beside: Beside = ALONE) -> Rows:
        """1: what each word's own column gives it."""
        return Rows(np.ones((len(ids), 1)), np.zeros((len(ids), 0)))

    def after(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Floats]:
        """Never: J by J numbers for each window."""
        raise ModlmError("Delta columns are never made; their product with weights is the weights.")

    def parts(self) -> Parts:
        """Nothing but its kind."""
        return Parts()

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> Self:
        """The delta columns of a vocabulary."""
        return cls(vocabulary)
