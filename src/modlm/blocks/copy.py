"""Columns that copy the source: all mass on the source word itself, where the vocabulary that is predicted has it.

Names, numbers and, where both sides are one language, nearly everything. A source word that is not among the words to
predict cannot be copied to itself: it is the unknown word there, so its column has all mass on `<unk>`, and `known` 0.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from modlm.blocks.lexicon import LexiconBlock
from modlm.counts.translation.table import SOURCE, TranslationTable
from modlm.ground.arrays import Floats, Ids
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import UNKNOWN, Vocabulary
from modlm.text.vocabulary_files import vocabulary_in


class CopyBlock(LexiconBlock):
    """A lexicon in which every word is translated by itself; feature: whether it is a word that can be predicted."""

    kind: ClassVar[str] = "copy"
    features: tuple[str, ...] = ("known",)

    def __init__(self, source: Vocabulary, target: Vocabulary) -> None:
        size = len(source)
        own = source.mapping(target)[:size]
        nothing = np.zeros(size, np.int64)
        super().__init__(TranslationTable(source, target, np.arange(size + 1), own, np.ones(size), nothing))

    def source_features(self, words_S: Ids) -> Floats:
        """1 for words that can be predicted."""
        return np.where(self.table.words[words_S] != UNKNOWN, 1.0, 0.0)[:, None]

    def parts(self) -> Parts:
        """The source's vocabulary."""
        return Parts({"source": self.table.source.fingerprints()}, {}, self.table.parts().texts)

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> Self:
        """From the source's vocabulary that a folder keeps."""
        return cls(vocabulary_in(stored.part("source", inside=SOURCE), what="block was"), vocabulary)
