"""Columns of D: what a block is, and the one place that knows what index k means.

A block is a few neighbouring columns together with the features that tell when to trust them. It answers two questions,
both in bulk: the row of D at every position of a text (with the features of its context), and whole columns after given
contexts. Texts are flat ids, `<s> w … </s>` for each sentence. Windows are contexts cut out of a text, one a row, the
nearest word last, filled up at the left with NOTHING.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

import numpy as np

from modlm.arrays import Floats, Ids
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import Vocabulary

DELTA = "delta"
NOTHING = 0xFFFFFFFF  # fills windows that are longer than the text before them
UNLIMITED = 1 << 30  # the context length of what looks at all of a sentence


@dataclass(frozen=True, slots=True)
class Rows:
    """At every position t of a text: the probability of its word in each column, and the features of its context.

    At `<s>`, which is never predicted, probabilities are 1 and features 0.
    """

    probs_TK: Floats
    features_TF: Floats

    @staticmethod
    def empty(length: int) -> Rows:
        """The rows of no block at all."""
        return Rows(np.ones((length, 0)), np.zeros((length, 0)))

    @staticmethod
    def joined(parts: Sequence[Rows]) -> Rows:
        """The rows of several blocks side by side."""
        return Rows(
            np.concatenate([part.probs_TK for part in parts], axis=1),
            np.concatenate([part.features_TF for part in parts], axis=1),
        )


class Block(Protocol):
    """Neighbouring columns of D."""

    kind: ClassVar[str]
    vocabulary: Vocabulary
    columns: tuple[str, ...]
    """A label for each column; the delta block has one label and J columns."""
    features: tuple[str, ...]
    """A label for each feature."""
    steady: int
    """How many features, the first ones, are the same after every context: they would tell a net the fold it is in."""
    context_length: int
    """How many words of context the columns look at."""
    reads_documents: bool
    """Whether they look at sentences before their own."""

    def rows(self, ids: Ids) -> Rows:
        """Rows of D and features along a text."""
        ...

    def after(self, windows_BC: Ids) -> tuple[Floats, Floats]:
        """Whole columns (B, J, K) and features (B, F) after each window."""
        ...

    def parts(self) -> Parts:
        """What a model folder keeps of it."""
        ...

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> Self:
        """The block that a folder keeps; what `parts` gave, read back."""
        ...


@dataclass(frozen=True, slots=True)
class Span:
    """Where a block's columns and features stand among all."""

    name: str
    columns: slice
    features: slice


class ColumnLayout:
    """Which columns and features of D belong to which block.

    A column is called by its label, with the block's name before it where labels alone would be ambiguous. The dense
    columns come first; the J delta columns stand behind them under one name.
    """

    def __init__(self, blocks: Mapping[str, Block]) -> None:
        self.spans: dict[str, Span] = {}
        """Of the dense blocks."""
        self.vocab_size = max((len(block.vocabulary) for block in blocks.values()), default=0)
        self.deltas = self.vocab_size if any(block.kind == DELTA for block in blocks.values()) else 0
        """J, or 0 without delta columns."""
        blocks = {name: block for name, block in blocks.items() if block.kind != DELTA}
        labels = [label for block in blocks.values() for label in block.columns]
        alone = len(set(labels)) == len(labels) and all(labels)
        names: list[str] = []
        column = feature = 0
        for name, block in blocks.items():
            self.spans[name] = Span(
                name,
                slice(column, column + len(block.columns)),
                slice(feature, feature + len(block.features)),
            )
            names += [
                label if alone else f"{name}/{label}" if label not in ("", name) else name for label in block.columns
            ]
            column, feature = column + len(block.columns), feature + len(block.features)
        self.dense, self.features = column, feature
        self.names = (*names, DELTA) if self.deltas else tuple(names)

    def __len__(self) -> int:
        """How many weights there are: one for each dense column and each word with a delta column."""
        return self.dense + self.deltas


def rows_of(blocks: Iterable[Block], ids: Ids) -> Rows:
    """The rows of blocks side by side along a text."""
    return Rows.joined([Rows.empty(len(ids)), *(block.rows(ids) for block in blocks)])


def flattened(windows_BC: Ids, words_B: Ids) -> Ids:
    """Windows and the word after each as one text in which every row begins with an empty context."""
    flat = np.empty((len(windows_BC), windows_BC.shape[1] + 2), dtype=np.uint32)
    flat[:, 0] = NOTHING
    flat[:, 1:-1] = windows_BC
    flat[:, -1] = words_B
    return flat.ravel()
