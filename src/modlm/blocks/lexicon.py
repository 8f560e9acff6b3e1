"""Columns over the words of a source: the translations of each, by a table.

At place j of the source f the column is P(· | f_j) from a translation table, in every context. A source word that the
table has never seen has a uniform column, and `seen` 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import ClassVar, Self

import numpy as np

from modlm.blocks import source_kernels
from modlm.blocks.block import ALONE, Beside, Block, Reads, Rows, made_whole
from modlm.blocks.over_source import laid_out
from modlm.counts.translation.table import TranslationTable
from modlm.ground.arrays import AnyFloats, Floats, Ids, Ints
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import Vocabulary


class LexiconBlock(Block):
    """A column for each source word; features: log frequency of the word, entropy of its translations, seen or not."""

    kind: ClassVar[str] = "lexicon"
    per_source: ClassVar[bool] = True
    features: tuple[str, ...] = ("log frequency", "entropy", "seen")
    reads = Reads(source=True)

    def __init__(self, table: TranslationTable) -> None:
        self.table, self.vocabulary, self.source_vocabulary = table, table.target, table.source
        self.columns: tuple[str, ...] = (self.kind,)

    @cached_property
    def features_VF(self) -> Floats:
        """Of the column over each word of the source's vocabulary."""
        seen_V = self.table.seen_V > 0
        return np.stack([np.log1p(self.table.frequency), self.table.entropy_V, seen_V], axis=1).astype(np.float64)

    def source_features(self, words_S: Ids) -> Floats:
        """The features (S, F) of the columns over source words."""
        return self.features_VF[words_S]

    @property
    def arrays(self) -> tuple[Ints, Ids, Floats]:
        """The table as kernels take it."""
        return self.table.first, self.table.words, self.table.probs

    def rows(self, ids: Ids, beside: Beside = ALONE) -> Rows:
        """(T, S) along a text; without a source there are no columns."""
        return self._entries(ids, np.cumsum(ids == self.vocabulary.start) - 1, beside)

    def rows_after(self, windows_BC: Ids, words_B: Ids, beside: Beside = ALONE) -> Rows:
        """(B, S) for a word after each window."""
        return self._entries(words_B, np.arange(len(words_B)), beside)

    def _entries(self, ids: Ids, numbers_T: Ints, beside: Beside) -> Rows:
        """The entries of words in the columns over the source of that number each."""
        probs_TS = np.zeros((len(ids), beside.longest))
        if probs_TS.size:
            vocab_size, ids = len(self.vocabulary), np.ascontiguousarray(ids, np.uint32)
            source_kernels.entries(*self.arrays, vocab_size, *laid_out(beside.sources), numbers_T, ids, probs_TS)
        return Rows(probs_TS, np.zeros((len(ids), 0)))

    def after(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Floats]:
        """Whole columns (B, J, S): for a look at them; `to_mix` adds them up without making them."""
        return made_whole(self, windows_BC, beside, beside.longest)

    def to_mix(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Callable[[Floats, AnyFloats], None]]:
        """Costs as much as the sources' words have translations."""
        if not beside.sources:
            return np.zeros((len(windows_BC), 0)), lambda weights_BS, out_BJ: None
        return np.zeros((len(windows_BC), 0)), partial(source_kernels.add_rows, *self.arrays, *laid_out(beside.sources))

    def parts(self) -> Parts:
        """The table."""
        return self.table.parts()

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> Self:
        """The block of the table that a folder keeps."""
        return cls(TranslationTable.from_parts(stored, vocabulary))
