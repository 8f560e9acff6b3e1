"""Another language model as one column, over our vocabulary.

Where the vocabularies differ, words that both have keep the other model's probability. What is left of its mass (its
own unknown word and all words that we do not have) is shared equally by our `<unk>` and the words of ours that it does
not know. So the column is proper whatever the other model was trained on.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray

from modlm.blocks.block import ALONE, NOTHING, TOGETHER, Beside, Block, Memories, Reads, Rows, windows_before
from modlm.families import MODELS
from modlm.ground.arrays import AnyFloats, Floats, Ids
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import END, UNKNOWN, Vocabulary
from modlm.text.vocabulary_files import vocabulary_in


class Predictor(Protocol):
    """As much of a language model as a column needs."""

    vocabulary: Vocabulary
    context_length: int
    reads: Reads

    def word_probs(self, ids: Ids) -> Floats:
        """P of each word of a text."""
        ...

    def state_after(self, windows_BC: Ids) -> NDArray[Any]:
        """States after windows of words."""
        ...

    def distributions(self, states: NDArray[Any]) -> AnyFloats:
        """P of every word after each state."""
        ...

    def parts(self) -> Parts:
        """What a model folder keeps of it."""
        ...


class Reader(Predictor, Protocol):
    """What a column needs besides of a model that learns or reads sources; a mixture has it."""

    def read(self, ids: Ids, beside: Beside) -> tuple[Floats, Any, Any]:
        """log P of each word, the mixer's state, and what the model keeps of the text."""
        ...

    def state_after(self, windows_BC: Ids, beside: Beside = ALONE) -> NDArray[Any]:
        """States after windows of words, with what stands beside them."""
        ...

    def remember(self, memory_B: Memories, words_B: Ids) -> Memories:
        """What the model keeps after one more word each."""
        ...


class ModelBlock(Block):
    """One column: a whole language model; without features."""

    kind: ClassVar[str] = "model"
    columns: tuple[str, ...] = ("",)

    def __init__(self, model: Predictor, vocabulary: Vocabulary) -> None:
        self.model = model
        self.vocabulary = vocabulary
        self.reads = Reads(model.context_length, source=model.reads.source, learns=model.reads.learns)
        self._reader = cast(Reader, model) if model.reads.source or model.reads.learns else None
        self.same = model.vocabulary == vocabulary
        self._theirs = (
            np.arange(len(vocabulary) + 1, dtype=np.uint32) if self.same else vocabulary.mapping(model.vocabulary)
        )
        """For each word of ours, its id there."""
        lost = self._theirs[: len(vocabulary)] == UNKNOWN
        lost[END] = False
        self._lost = np.flatnonzero(lost)
        """Words of ours, `<unk>` among them, that share what the other model leaves."""
        self._shared = np.flatnonzero(~lost)

    def rows(self, ids: Ids, beside: Beside = ALONE) -> Rows:
        """The other model's probability of each word."""
        if self._reader is not None:
            if not self.same:  # what is left for words that it does not know depends on what it has learned by then
                return super().rows(ids, beside)
            log_probs, _, memory = self._reader.read(ids, beside)
            return Rows(np.exp(log_probs)[:, None], np.zeros((len(ids), 0)), memory)
        whole = self.same and not (ids == NOTHING).any()
        probs = self.model.word_probs(ids) if whole else self._along(ids)
        return Rows(probs[:, None], np.zeros((len(ids), 0)))

    def _along(self, ids: Ids) -> Floats:
        """Word by word where the text holds windows or words that the other model does not know."""
        theirs = np.where(ids == NOTHING, NOTHING, self._theirs[np.minimum(ids, len(self.vocabulary))]).astype(
            np.uint32
        )
        whole = not (ids == NOTHING).any()
        probs = self.model.word_probs(theirs) if whole else np.ones(len(ids))
        lost = np.isin(ids, self._lost) if not self.same else np.zeros(len(ids), dtype=bool)
        asked = np.flatnonzero(lost if whole else ids < len(self.vocabulary))
        length = max(1, self.reads.words)
        for begin in range(0, len(asked), TOGETHER):
            places = asked[begin : begin + TOGETHER]
            columns_BJ = self._columns(windows_before(theirs, places, length, self.model.vocabulary.start))
            probs[places] = columns_BJ[np.arange(len(places)), ids[places]]
        return probs

    def rows_after(self, windows_BC: Ids, words_B: Ids, beside: Beside = ALONE) -> Rows:
        """The row of D for a word after each window."""
        if self._reader is not None:
            return super().rows_after(windows_BC, words_B, beside)
        probs = np.ones(len(words_B))
        asked = np.flatnonzero(words_B < len(self.vocabulary))
        for begin in range(0, len(asked), TOGETHER):
            places = asked[begin : begin + TOGETHER]
            columns_BJK, _ = self.after(windows_BC[places])
            probs[places] = columns_BJK[np.arange(len(places)), words_B[places], 0]
        return Rows(probs[:, None], np.zeros((len(words_B), 0)))

    def after(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Floats]:
        """The column after each window."""
        theirs = np.where(windows_BC == NOTHING, NOTHING, self._theirs[np.minimum(windows_BC, len(self.vocabulary))])
        return self._columns(theirs.astype(np.uint32), beside)[:, :, None], np.zeros((len(windows_BC), 0))

    def remember(self, memory_B: Memories, words_B: Ids) -> Memories:
        """What the model keeps."""
        assert self._reader is not None
        return self._reader.remember(memory_B, self._theirs[np.minimum(words_B, len(self.vocabulary))])

    def _columns(self, windows_BC: Ids, beside: Beside = ALONE) -> Floats:
        reader = self._reader
        states = self.model.state_after(windows_BC) if reader is None else reader.state_after(windows_BC, beside)
        full_BI = np.asarray(self.model.distributions(states), dtype=np.float64)
        if self.same:
            return full_BI
        columns_BJ = np.empty((len(full_BI), len(self.vocabulary)))
        columns_BJ[:, self._shared] = full_BI[:, self._theirs[self._shared]]
        left_B = np.maximum(0.0, 1.0 - columns_BJ[:, self._shared].sum(axis=1))
        columns_BJ[:, self._lost] = left_B[:, None] / len(self._lost)
        return columns_BJ

    def parts(self) -> Parts:
        """The model itself."""
        inner = self.model.parts()
        return Parts({"model": inner.settings}, inner.arrays, inner.texts)

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> Self:
        """The block of a model inside a model."""
        inner = stored.part("model")
        return cls(inner.member(MODELS).from_parts(inner, vocabulary_in(inner, what="model was")), vocabulary)
