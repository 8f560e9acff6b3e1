"""Columns of D: what a block is, and the one place that knows what index k means.

A block is a few neighbouring columns together with the features that tell when to trust them. It answers two questions,
both in bulk: the row of D at every position of a text (with the features of its context), and whole columns after given
contexts. Texts are flat ids, `<s> w … </s>` for each sentence. Windows are contexts cut out of a text, one a row, the
nearest word last, filled up at the left with NOTHING. What else there is to look at stands beside the words, and who
looks at it declares so.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from modlm.errors import ModlmError
from modlm.ground.arrays import AnyFloats, Bools, Floats, Ids, Ints
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import Vocabulary

DELTA = "delta"
NOTHING = 0xFFFFFFFF  # fills windows that are longer than the text before them
UNLIMITED = 1 << 30  # the context length of what looks at all of a sentence
TOGETHER = 256  # contexts whose whole columns are in memory at a time

Memories = NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class Reads:
    """What a block or a mixer looks at."""

    words: int = 0
    """How many words before the predicted one, within its sentence."""
    document: bool = False
    """Whether sentences before its own as well."""
    source: bool = False
    """Whether the source sentence that comes with each sentence."""
    learns: bool = False
    """Whether it learns from what it reads: what it says depends on all that it has read before."""

    @staticmethod
    def joined(parts: Iterable[Reads]) -> Reads:
        """What all of them look at together."""
        return Reads(*map(max, zip(*map(astuple, (Reads(), *parts)), strict=True)))


@dataclass(frozen=True, slots=True)
class Beside:
    """What stands beside the words of a text, or of windows."""

    sources: Sequence[Ids] = ()
    """The source sentence of each sentence of a text, or of each window, as ids of the source's own vocabulary."""
    memory: Any = None
    """What a block that learns has kept of all that was read before; beside windows an array of objects, one for each.
    Beside several blocks, this by the name of each. None: nothing was read yet."""
    features: Sequence[Floats] = ()
    """For each source the features (S, F) of the columns over its words, those of all blocks side by side."""

    def of(self, name: str) -> Beside:
        """What one of several blocks is given."""
        if not isinstance(self.memory, np.ndarray):
            return self if self.memory is None else Beside(self.sources, self.memory.get(name))
        memory_B = one_each(None, len(self.memory))
        for place, kept in enumerate(self.memory):
            memory_B[place] = None if kept is None else kept.get(name)
        return Beside(self.sources, memory_B)

    def knowing(self, memory: Any) -> Beside:
        """The same, with this memory where there is none."""
        return self if self.memory is not None or memory is None else Beside(self.sources, memory)

    def along(self, ids: Ids, start: int) -> Beside:
        """The source of every position of a text."""
        if not self.sources:
            return ALONE
        numbers = (np.cumsum(ids == start) - 1).tolist()
        features = [self.features[number] for number in numbers] if self.features else ()
        return Beside([self.sources[number] for number in numbers], features=features)

    @property
    def longest(self) -> int:
        """How many words the longest source has."""
        return max(map(len, self.sources), default=0)


ALONE = Beside()


@dataclass(frozen=True, slots=True)
class Rows:
    """At every position t of a text: the probability of its word in each column, and the features of its context.

    At `<s>`, which is never predicted, probabilities are 1 and features 0.
    """

    probs_TK: Floats
    features_TF: Floats
    memory: Any = None
    """What a block that learns keeps of the text and of all before it; of several blocks, by the name of each."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Whole sentences of a text, for rows made without them."""

    ids: Ids
    counted: slice | Bools = field(default_factory=lambda: slice(None))
    """The part that was counted, whole sentences; the rest is of other texts."""
    kept_T: Bools | None = None
    """True at the positions whose rows are wanted, whole sentences too; none: all."""
    beside: Beside = ALONE

    @property
    def wanted(self) -> Bools | slice:
        """The positions whose rows are wanted, as an index."""
        return slice(None) if self.kept_T is None else self.kept_T


class HeldOut(Protocol):
    """The columns of a block for folds of the text that it was made from."""

    def copy(self) -> Self:
        """The same for another thread."""
        ...

    def fill(self, fold: Fold, log_probs_TK: AnyFloats, features_TF: AnyFloats) -> None:
        """The log rows and features of a fold from everything else."""
        ...


class Block(abc.ABC):
    """Neighbouring columns of D; `after` is all that a block must know of them, the rest can be had from it."""

    kind: ClassVar[str]
    vocabulary: Vocabulary
    columns: tuple[str, ...]
    """A label for each column; the delta block has one label and J columns."""
    features: tuple[str, ...] = ()
    """A label for each feature."""
    steady: int = 0
    """How many features, the first ones, are the same after every context: they would tell a net the fold it is in."""
    reads: Reads = Reads()
    per_source: ClassVar[bool] = False
    """Whether it has a column for each word of the source, under one label: S columns, in bulk as many as the longest
    source has words, all 0 beyond the words of a shorter one. Features are then of columns, not of contexts."""

    source_vocabulary: Vocabulary | None = None
    """The words of the sources that it looks at itself."""

    def source_features(self, words_S: Ids) -> Floats:
        """The features (S, F) of the columns over source words."""
        return np.zeros((len(words_S), len(self.features)))

    @abc.abstractmethod
    def after(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Floats]:
        """Whole columns (B, J, K) and features (B, F) after each window."""

    def to_mix(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Callable[[Floats, AnyFloats], None]]:
        """The features after each window, and what adds the columns under weights (B, K) to P (B, J)."""
        columns_BJK, features_BF = self.after(windows_BC, beside)

        def add(weights_BK: Floats, out_BJ: AnyFloats) -> None:
            out_BJ += np.einsum("bjk,bk->bj", columns_BJK, weights_BK)

        return features_BF, add

    def remember(self, memory_B: Memories, words_B: Ids) -> Memories:
        """What a block that learns keeps after one more word each, `<s>` among them; None when nothing was read.

        Hypotheses share what they have read, so a memory is never changed: a new one may refer to the one before.
        """
        raise ModlmError(f"A block that learns says what it remembers, but {type(self).__name__} does not.")

    def rows(self, ids: Ids, beside: Beside = ALONE) -> Rows:
        """Rows of D and features along a text; here by asking for whole columns once for each context that occurs."""
        if self.reads.document:
            raise ModlmError(f"A block that reads documents writes its own rows, but {type(self).__name__} does not.")
        if self.reads.learns:
            return self._rows_as_read(ids, beside)
        places = np.flatnonzero(ids < len(self.vocabulary))
        probs_TK, features_TF = np.ones((len(ids), len(self.columns))), np.zeros((len(ids), len(self.features)))
        windows_PC = windows_before(ids, places, self.reads.words, self.vocabulary.start)
        sources_T = beside.along(ids, self.vocabulary.start).sources
        different_UC, which_P = windows_PC, np.arange(len(places))
        if not sources_T:
            different_UC, which_P = np.unique(windows_PC, axis=0, return_inverse=True)
        order = np.argsort(which_P, kind="stable")
        bounds = np.searchsorted(which_P[order], np.arange(0, len(different_UC) + TOGETHER, TOGETHER))
        for batch, (low, high) in enumerate(pairwise(bounds)):
            chosen = order[low:high]
            among, at = which_P[chosen] - batch * TOGETHER, places[chosen]
            own = Beside([sources_T[place] for place in at.tolist()]) if sources_T else ALONE
            columns_BJK, features_BF = self.after(different_UC[batch * TOGETHER : (batch + 1) * TOGETHER], own)
            probs_TK[at], features_TF[at] = columns_BJK[among, ids[at]], features_BF[among]
        return Rows(probs_TK, features_TF)

    def _rows_as_read(self, ids: Ids, beside: Beside) -> Rows:
        """Word by word: a word is scored before it is learned."""
        memory_1, sources_T = one_each(beside.memory, 1), beside.along(ids, self.vocabulary.start).sources
        probs_TK, features_TF = np.ones((len(ids), len(self.columns))), np.zeros((len(ids), len(self.features)))
        windows_TC = windows_before(ids, np.arange(len(ids)), self.reads.words, self.vocabulary.start)
        for place in range(len(ids)):
            word_1 = ids[place : place + 1]
            if word_1[0] < len(self.vocabulary):
                own = Beside(sources_T[place : place + 1], memory_1)
                row = self.rows_after(windows_TC[place : place + 1], word_1, own)
                probs_TK[place], features_TF[place] = row.probs_TK[0], row.features_TF[0]
            memory_1 = self.remember(memory_1, word_1)
        return Rows(probs_TK, features_TF, memory_1[0])

    def rows_after(self, windows_BC: Ids, words_B: Ids, beside: Beside = ALONE) -> Rows:
        """The row of D for a word after each window, and the features of the window."""
        if self.reads.source or self.reads.learns:
            return entries(*self.after(windows_BC, beside), words_B)
        step = windows_BC.shape[1] + 2
        rows = self.rows(flattened(windows_BC, words_B))
        return Rows(rows.probs_TK[step - 1 :: step], rows.features_TF[step - 1 :: step])

    def log_rows(self, ids: Ids, log_probs_TK: AnyFloats, features_TF: AnyFloats, beside: Beside = ALONE) -> Any:
        """`rows` into arrays of any precision, with logarithms of probabilities (-inf of 0); gives their memory."""
        found = self.rows(ids, beside)
        with np.errstate(divide="ignore"):
            np.log(found.probs_TK, out=log_probs_TK, casting="same_kind")
        features_TF[:] = found.features_TF
        return found.memory

    def held_out(self, ids: Ids, starts: Ints) -> HeldOut | None:
        """What gives rows of a text without a fold of it, if the block was made from that text and knows how."""
        return None

    @abc.abstractmethod
    def parts(self) -> Parts:
        """What a model folder keeps of it."""

    @classmethod
    @abc.abstractmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> Self:
        """The block that a folder keeps; what `parts` gave, read back."""


Blocks = Mapping[str, Block]


@dataclass(frozen=True, slots=True)
class Span:
    """Where a block's columns and features stand among all; `steady` of these, the first ones, never change."""

    name: str
    columns: slice
    features: slice
    steady: int = 0


class ColumnLayout:
    """Which columns and features of D belong to which block.

    A column is called by its label, with the block's name before it where labels alone would be ambiguous. The dense
    columns come first; those over the words of a source, which are not counted here, stand behind them, block by block;
    the J delta columns are the last, under one name.
    """

    def __init__(self, blocks: Blocks) -> None:
        self.spans: dict[str, Span] = {}
        """Of the dense blocks."""
        self.vocab_size = max((len(block.vocabulary) for block in blocks.values()), default=0)
        self.deltas = self.vocab_size if any(block.kind == DELTA for block in blocks.values()) else 0
        """J, or 0 without delta columns."""
        self.over_source = {name: block.features for name, block in blocks.items() if block.per_source}
        """The blocks with a column for each source word, and the labels of the features of each."""
        blocks = {name: block for name, block in blocks.items() if block.kind != DELTA and not block.per_source}
        labels = [label for block in blocks.values() for label in block.columns]
        alone = len(set(labels)) == len(labels) and all(labels)
        names: list[str] = []
        column = feature = 0
        for name, block in blocks.items():
            columns = slice(column, column + len(block.columns))
            features = slice(feature, feature + len(block.features))
            self.spans[name] = Span(name, columns, features, block.steady)
            names += [
                label if alone else f"{name}/{label}" if label not in ("", name) else name for label in block.columns
            ]
            column, feature = columns.stop, features.stop
        self.dense, self.features = column, feature
        self.names = (*names, DELTA) if self.deltas else tuple(names)

    def __len__(self) -> int:
        """How many weights there are without a source: one for each dense column and each word with a delta column."""
        return self.dense + self.deltas

    def names_over(self, sources: Sequence[Ids], vocabulary: Vocabulary | None) -> tuple[str, ...]:
        """The names of all columns; those over a source, the longest if there are several, have its words in them."""
        longest = max(sources, key=len, default=np.zeros(0, np.uint32))
        words = vocabulary.decode(longest) if vocabulary else []
        over = [f"{name}[{place}] {word}" for name in self.over_source for place, word in enumerate(words, start=1)]
        return (*self.names[: self.dense], *over, *self.names[self.dense :])

    def parts_of(self, weights: int) -> dict[str, slice]:
        """Where the columns of each block stand among so many of all, the deltas' without a name."""
        own = {name: span.columns for name, span in self.spans.items()}
        size = (weights - len(self)) // max(1, len(self.over_source))
        return own | {
            name: slice(self.dense + place * size, self.dense + (place + 1) * size)
            for place, name in enumerate(self.over_source)
        }


def rows_of(blocks: Blocks, ids: Ids, beside: Beside = ALONE) -> Rows:
    """The rows of blocks side by side along a text."""
    found = {name: block.rows(ids, beside.of(name)) for name, block in blocks.items()}
    joined = Rows.joined([Rows.empty(len(ids)), *found.values()])
    memory = {name: found[name].memory for name, block in blocks.items() if block.reads.learns}
    return replace(joined, memory=memory) if memory else joined


def entries(columns_BJK: Floats, features_BF: Floats, words_B: Ids) -> Rows:
    """Of whole columns, the row of D for a word each; 1 for `<s>` and NOTHING, which are never predicted."""
    known_B = words_B < columns_BJK.shape[1]
    probs_BK = columns_BJK[np.arange(len(words_B)), np.where(known_B, words_B, 0)]
    return Rows(np.where(known_B[:, None], probs_BK, 1.0), features_BF)


def made_whole(block: Block, windows_BC: Ids, beside: Beside, columns: int) -> tuple[Floats, Floats]:
    """Whole columns and features after each window of a block that adds its columns up without making them."""
    features_BF, add = block.to_mix(windows_BC, beside)
    columns_KBJ = np.zeros((columns, len(windows_BC), len(block.vocabulary)))
    for columns_BJ, weights_K in zip(columns_KBJ, np.eye(columns), strict=True):
        add(np.repeat(weights_K[None], len(windows_BC), axis=0), columns_BJ)
    return np.moveaxis(columns_KBJ, 0, 2), features_BF


def one_each(memory: Any, count: int) -> Memories:
    """Memories of so many windows: the same for all of them, unless each has its own already."""
    if isinstance(memory, np.ndarray) and memory.dtype == object:
        return memory
    memory_B = np.empty(count, dtype=object)
    for place in range(count):
        memory_B[place] = memory
    return memory_B


def flattened(windows_BC: Ids, words_B: Ids) -> Ids:
    """Windows and the word after each as one text in which every row begins with an empty context."""
    flat = np.empty((len(windows_BC), windows_BC.shape[1] + 2), dtype=np.uint32)
    flat[:, 0] = NOTHING
    flat[:, 1:-1] = windows_BC
    flat[:, -1] = words_B
    return flat.ravel()


def windows_before(ids: Ids, places: NDArray[np.int64], length: int, start: int) -> Ids:
    """The words before each place of a text, back to its `<s>` or NOTHING, filled up at the left with NOTHING.

    Windows are as long as the longest that there is, at most `length`.
    """
    columns = list[NDArray[np.uint32]]()
    open_ = np.ones(len(places), dtype=bool)
    while len(columns) < length and open_.any():
        at = places - len(columns) - 1
        word = np.where(open_ & (at >= 0), ids[np.maximum(at, 0)], NOTHING).astype(np.uint32)
        columns.append(word)
        open_ &= (word != NOTHING) & (word != start)
    return np.stack(columns[::-1], axis=1) if columns else np.zeros((len(places), 0), dtype=np.uint32)


def trimmed(windows_BC: Ids) -> Ids:
    """Windows without the columns at the left in which there are no words; one column stays."""
    used = np.flatnonzero((windows_BC != NOTHING).any(axis=0))
    return windows_BC[:, min(used[0], windows_BC.shape[1] - 1) if len(used) else -1 :]


def since_the_start(windows_BC: Ids, begins_BC: Bools) -> Ids:
    """Windows with NOTHING before the last place at which a context begins."""
    behind_BC: Ints = np.cumsum(begins_BC[:, ::-1], axis=1)[:, ::-1] - begins_BC  # how many begin after each place
    return np.where(behind_BC > 0, np.uint32(NOTHING), windows_BC)
