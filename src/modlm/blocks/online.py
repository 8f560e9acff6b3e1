"""The online block: counts of the text read so far, of this document, session or user. A word is scored, then counted.

The columns are the maximum-likelihood distributions of each order's context, as far as the text has gone: small counts,
but of the very text at hand, beside the frozen ones of large texts. Contexts are those of n-grams: within a sentence,
`<s>` included, unless they go on `across` sentences.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from modlm.blocks.block import ALONE, Beside, Block, Memories, Reads, Rows, made_whole, one_each
from modlm.blocks.history import MOST_ORDERS, History
from modlm.errors import ConfigError
from modlm.ground.arrays import AnyFloats, Floats, Ids
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import Vocabulary

FEATURES = ("seen", "log total", "log followers", "log distance")
WORDS = 1 << 17  # remembered, at about 250 bytes each with five orders


class LearningBlock(Block):
    """A block over the text read so far; it is made from its settings, which are all that a folder keeps of it."""

    reads = Reads(learns=True)
    history: History

    def __init__(self, vocabulary: Vocabulary, settings: dict[str, Any], *, columns: tuple[str, ...]) -> None:
        self.vocabulary, self.settings, self.columns = vocabulary, settings, columns

    @classmethod
    def configured(cls, vocabulary: Vocabulary, **settings: Any) -> Self:
        """From its settings."""
        return cls(vocabulary, **settings)

    @abc.abstractmethod
    def added(self, memory_B: Memories) -> Callable[[Floats, AnyFloats], None]:
        """What adds the columns after each memory, under weights, to distributions."""

    def to_mix(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Callable[[Floats, AnyFloats], None]]:
        """Columns are added up without being made; costs the places at which the contexts were seen."""
        any_B = np.zeros(len(windows_BC), np.uint32)
        return self.rows_after(windows_BC, any_B, beside).features_TF, self.added(one_each(beside.memory, len(any_B)))

    def after(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Floats]:
        """Whole columns and features after each memory."""
        return made_whole(self, windows_BC, beside, len(self.columns))

    def remember(self, memory_B: Memories, words_B: Ids) -> Memories:
        """The places one word further."""
        after_B = np.empty_like(memory_B)
        for row, memory in enumerate(memory_B):
            after_B[row] = self.history.read(memory, words_B[row : row + 1])
        return after_B

    def parts(self) -> Parts:
        """Its settings."""
        return Parts(dict(self.settings))

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> Self:
        """The block, which has read nothing."""
        settings = {name: value for name, value in stored.about.items() if name != "kind"}
        if not all(isinstance(value, int | float) for value in settings.values()):
            raise stored.damaged(f"its settings must be numbers, but are {settings}"[:200])
        try:
            return stored.checked(lambda: cls.configured(vocabulary, **settings))
        except TypeError as error:
            raise stored.damaged(f"its settings are not those of such a block: {error}") from None


class OnlineBlock(LearningBlock):
    """Columns `online 1` … `online N`, uniform where a context has not been seen.

    Features, for each order: seen, log total, log followers, and the logarithm of how many words ago it was last seen.
    """

    kind: ClassVar[str] = "online"

    def __init__(
        self, vocabulary: Vocabulary, *, order: int = 4, words: int = WORDS, decay: float = 1.0, across: bool = False
    ) -> None:
        """`words` are remembered at most, and half of them at least; with each word read a count keeps `decay`."""
        if not 1 <= order <= MOST_ORDERS:
            raise ConfigError(f"An online block has orders from 1 up to {MOST_ORDERS}, but order is {order}.")
        settings: dict[str, Any] = {"order": order, "words": words, "decay": float(decay), "across": bool(across)}
        super().__init__(vocabulary, settings, columns=tuple(f"online {n}" for n in range(1, order + 1)))
        self.features = tuple(f"{column} {name}" for column in self.columns for name in FEATURES)
        self.history = History(vocabulary.start, len(vocabulary), **settings)

    def rows(self, ids: Ids, beside: Beside = ALONE) -> Rows:
        """Rows of D and features along a text, each word counted after it was scored."""
        probs_TK, features_TF = np.empty((len(ids), len(self.columns))), np.empty((len(ids), len(self.features)))
        return Rows(probs_TK, features_TF, self.history.read(beside.memory, ids, probs_TK, features_TF))

    def rows_after(self, windows_BC: Ids, words_B: Ids, beside: Beside = ALONE) -> Rows:
        """The row of D for a word after each memory."""
        probs_BK, features_BF = (np.empty((len(words_B), len(own))) for own in (self.columns, self.features))
        for row, memory in enumerate(one_each(beside.memory, len(words_B))):
            one = slice(row, row + 1)
            self.history.row(memory, int(words_B[row]), probs_BK[one], features_BF[one])
        return Rows(probs_BK, features_BF)

    def added(self, memory_B: Memories) -> Callable[[Floats, AnyFloats], None]:
        """What adds the columns after each memory, under weights, to distributions."""

        def add(weights_BK: Floats, out_BJ: AnyFloats) -> None:
            for memory, weights_K, out_J in zip(memory_B, np.ascontiguousarray(weights_BK), out_BJ, strict=True):
                self.history.add(memory, weights_K, out_J)

        return add
