"""Columns that follow from the vocabulary alone: every word alike, all on the unknown word, and the deltas.

The delta columns are one for each of the J words, all of its mass on that word (the identity matrix, section 3.2). They
are never made. A row of D has a single entry other than 0 in them, the 1 of the word's own column; and all of them
times their weights are the weights themselves.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from modlm.blocks.block import ALONE, DELTA, Beside, Block, Rows
from modlm.errors import ModlmError
from modlm.ground.arrays import Floats, Ids
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import UNKNOWN, Vocabulary


class VocabularyBlock(Block):
    """A block of which a folder keeps nothing but its kind."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def parts(self) -> Parts:
        """Nothing but its kind."""
        return Parts()

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> Self:
        """The block of a vocabulary."""
        return cls(vocabulary)


class ConstantBlock(VocabularyBlock):
    """A column that is the same in every context; without features."""

    kind: ClassVar[str] = ""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        self.columns: tuple[str, ...] = (self.kind,)
        self.column: Floats = self.distribution(len(vocabulary))

    @staticmethod
    def distribution(vocab_size: int) -> Floats:
        """The column itself."""
        raise AssertionError("a constant block defines its column")

    def rows(self, ids: Ids, beside: Beside = ALONE) -> Rows:
        """The column's entry for each word."""
        padded = np.append(self.column, 1.0)  # `<s>` and NOTHING
        probs = padded[np.minimum(ids, len(self.column))]
        return Rows(probs[:, None], np.zeros((len(ids), 0)))

    def after(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Floats]:
        """The column, once for each window."""
        shape = (len(windows_BC), len(self.column), 1)
        return np.broadcast_to(self.column[None, :, None], shape), np.zeros((len(windows_BC), 0))


class UniformBlock(ConstantBlock):
    """1 / J for every word."""

    kind: ClassVar[str] = "uniform"

    @staticmethod
    def distribution(vocab_size: int) -> Floats:
        """1 / J."""
        return np.full(vocab_size, 1.0 / vocab_size)


class UnknownBlock(ConstantBlock):
    """1 for `<unk>`, 0 for every other word: a place for a mixer to put mass on the unknown."""

    kind: ClassVar[str] = "unknown"

    @staticmethod
    def distribution(vocab_size: int) -> Floats:
        """1 at `<unk>`."""
        column = np.zeros(vocab_size)
        column[UNKNOWN] = 1.0
        return column


class DeltaBlock(VocabularyBlock):
    """One label, J columns; they stand behind all other columns."""

    kind: ClassVar[str] = DELTA
    columns: tuple[str, ...] = (DELTA,)

    def rows(self, ids: Ids, beside: Beside = ALONE) -> Rows:
        """1: what each word's own column gives it."""
        return Rows(np.ones((len(ids), 1)), np.zeros((len(ids), 0)))

    def after(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Floats]:
        """Never: J by J numbers for each window."""
        raise ModlmError("Delta columns are never made; their product with weights is the weights.")
