"""A mixer: every column counts the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np

from modlm.blocks.block import ALONE, Beside, Block, ColumnLayout, Rows
from modlm.mixers.mixer import Mixer
from modlm.store.folder import Folder, Parts


class Equal(Mixer):
    """lambda = 1 / K."""

    kind: ClassVar[str] = "equal"

    def __init__(self, columns: int) -> None:
        self.columns = columns

    @classmethod
    def fitted(cls, layout: ColumnLayout, blocks: Mapping[str, Block], rows: Rows) -> Self:
        """There is nothing to learn from the rows of the validation text."""
        return cls(len(layout))

    def log_weights(
        self, contexts_BW: np.ndarray, features_BF: np.ndarray, state_BS: np.ndarray, beside: Beside = ALONE
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same everywhere."""
        return np.full((len(features_BF), self.columns), -np.log(self.columns)), state_BS

    def parts(self) -> Parts:
        """Nothing but its kind."""
        return Parts()

    @classmethod
    def from_parts(cls, stored: Folder, layout: ColumnLayout) -> Self:
        """For the columns that there are."""
        return cls(len(layout))
