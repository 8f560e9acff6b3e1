"""A column: words that stand among the last few are likely to come again."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from modlm.blocks.block import ALONE, Beside, Block, Reads
from modlm.store.folder import Folder, Parts
from modlm.text import Vocabulary


class Recent(Block):
    """`share` of the mass on the last `length` words, the rest on all words alike; one feature, how many there are."""

    kind: ClassVar[str] = "recent"
    columns = ("recent",)
    features = ("recent words",)

    def __init__(self, vocabulary: Vocabulary, *, length: int = 8, share: float = 0.9) -> None:
        self.vocabulary, self.length, self.share, self.reads = vocabulary, length, share, Reads(words=length)

    @classmethod
    def configured(cls, vocabulary: Vocabulary, *, length: int = 8, share: float = 0.9) -> Self:
        """From `columns.NAME.settings`."""
        return cls(vocabulary, length=length, share=share)

    def after(self, windows_BC: np.ndarray, beside: Beside = ALONE) -> tuple[np.ndarray, np.ndarray]:
        """Whole columns (B, J, 1) and features (B, 1) after windows of words."""
        near_BC = windows_BC[:, max(0, windows_BC.shape[1] - self.length) :]
        words_BC = near_BC < len(self.vocabulary)  # neither <s> nor empty
        many_B = words_BC.sum(axis=1)
        share_B = np.where(many_B > 0, self.share, 0.0)
        columns_BJ = np.repeat(((1 - share_B) / len(self.vocabulary))[:, None], len(self.vocabulary), axis=1)
        rows, places = np.nonzero(words_BC)
        np.add.at(columns_BJ, (rows, near_BC[rows, places]), (share_B / np.maximum(many_B, 1))[rows])
        return columns_BJ[:, :, None], many_B[:, None].astype(float)

    def parts(self) -> Parts:
        """What a model folder keeps of it."""
        return Parts({"length": self.length, "share": self.share})

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> Self:
        """The same from a model folder."""
        return cls(vocabulary, length=stored.whole("length"), share=stored.real("share"))
