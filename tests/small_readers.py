"""The smallest blocks, mixer and body that read more than words: the text so far, and a source sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch

from modlm.blocks.block import ALONE, Beside, Block, ColumnLayout, Memories, Reads
from modlm.ground.arrays import Floats, Ids
from modlm.mixers.mixer import Mixer, State
from modlm.nets.bodies import Lstm
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import Vocabulary

ATTENTIVE = "small_readers:Attentive"  # as a body is named


@dataclass(frozen=True)
class Read:
    """One more word; what was read before is shared."""

    before: Read | None
    word: int
    count: int

    def words(self) -> Iterator[int]:
        at: Read | None = self
        while at is not None:
            yield at.word
            at = at.before


class SoFar(Block):
    """The words that were read so far, and one of each."""

    kind: ClassVar[str] = "so-far"
    columns = ("so far",)
    features = ("log read",)
    reads = Reads(learns=True)

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def after(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Floats]:
        memory = [None] * len(windows_BC) if beside.memory is None else beside.memory
        counts = np.ones((len(windows_BC), len(self.vocabulary), 1))
        for row, read in zip(counts, memory, strict=True):
            for word in read.words() if read is not None else ():
                row[word, 0] += word < len(row)
        features = [[np.log(1 + read.count) if read is not None else 0.0] for read in memory]
        return counts / counts.sum(axis=1, keepdims=True), np.array(features).reshape(-1, 1)

    def remember(self, memory_B: Memories, words_B: Ids) -> Memories:
        after = np.empty_like(memory_B)
        for place, (read, word) in enumerate(zip(memory_B, words_B.tolist(), strict=True)):
            known = word < len(self.vocabulary)
            after[place] = Read(read, word, (read.count if read else 0) + 1) if known else read
        return after

    def parts(self) -> Parts:
        return Parts()

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> Self:
        return cls(vocabulary)


class Copied(SoFar):
    """The words of the source sentence, and one of each."""

    kind: ClassVar[str] = "copied"
    columns = ("copied",)
    features = ("source words",)
    reads = Reads(source=True)

    def after(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Floats]:
        sources = beside.sources or [np.zeros(0, np.uint32)] * len(windows_BC)
        counts = np.ones((len(windows_BC), len(self.vocabulary), 1))
        for row, source in zip(counts, sources, strict=True):
            np.add.at(row[:, 0], source, 1.0)
        return counts / counts.sum(axis=1, keepdims=True), np.array([[float(len(one))] for one in sources])


class BySource(Mixer):
    """More weight for the first column the longer the source is, and after `a`."""

    kind: ClassVar[str] = "by-source"
    reads = Reads(words=1, source=True)

    def __init__(self, columns: int) -> None:
        self.columns = columns

    def log_weights(
        self, contexts_BW: Ids, features_BF: Floats, state_BS: State, beside: Beside = ALONE
    ) -> tuple[Floats, State]:
        lengths = [len(source) for source in beside.sources] or [0] * len(features_BF)
        logits_BK = np.zeros((len(features_BF), self.columns))
        logits_BK[:, 0] = np.array(lengths) + 0.5 * (contexts_BW[:, 0] == 2)
        return logits_BK - np.log(np.exp(logits_BK).sum(axis=1, keepdims=True)), state_BS

    def parts(self) -> Parts:
        return Parts()

    @classmethod
    def from_parts(cls, stored: Folder, layout: ColumnLayout) -> Self:
        return cls(len(layout))


class Attentive(Lstm):
    """An LSTM that adds how many words the source has of each remainder to its hidden vectors."""

    reads_source = True

    def forward(self, inputs_TBI: Any, state_SBH: Any, dropout: Any, sources: Sequence[Ids] = ()) -> Any:
        hidden_TBH, after = super().forward(inputs_TBI, state_SBH, dropout)
        counts = [np.bincount(source % self.units, minlength=self.units) for source in sources]
        return hidden_TBH + torch.tensor(np.array(counts), dtype=torch.float32).reshape(-1, self.units), after
