"""What a mixer is: features, words before and a state in; log weights over the columns, and the next state, out.

Weights are for the dense columns in the order of D; behind them, block by block, for the columns over the words of the
source, as many for each context as the longest source has words and 0 beyond its own; and, in a mixture with delta
columns, for those of the J words at the end. A mixer without memory has an empty state. Along texts `log_probs` may do
the whole product at once, as nets do; what stands here takes the weights and multiplies.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from modlm.blocks.block import ALONE, Beside, Blocks, ColumnLayout, Reads, Rows, rows_of
from modlm.errors import ConfigError
from modlm.ground.arrays import Floats, Ids
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import Vocabulary

State = NDArray[np.float32]


class Mixer(abc.ABC):
    """lambda(c)."""

    kind: ClassVar[str]
    columns: int
    """How many weights it gives: one for each dense column and each word with a delta column."""
    reads: Reads = Reads()
    """What it looks at itself; the columns may look farther. `document`: its state goes on to the next sentence."""
    state_size: int = 0
    """Numbers that it carries from word to word; all 0 before the first of a sentence."""
    deltas: int = 0
    """How many of its weights, the last ones, are for delta columns."""
    over_source: int = 0
    """How many blocks with a column for each source word it has weights for; whose features are in `Beside`."""
    source_vocabulary: Vocabulary | None = None
    """The words of the sources that it looks at itself."""

    @abc.abstractmethod
    def log_weights(
        self, contexts_BW: Ids, features_BF: Floats, state_BS: State, beside: Beside = ALONE
    ) -> tuple[Floats, State]:
        """log lambda (B, K) in each context, and the states after it; exp of a row sums to 1."""

    @classmethod
    def fitted(cls, layout: ColumnLayout, blocks: Blocks, rows: Rows) -> Self:
        """The mixer that suits the rows of a held-out text, without `<s>`; nets are trained in `training/` instead."""
        raise ConfigError(f"A mixer of the kind {cls.kind!r} cannot be fitted to a held-out text.")

    def check(self, layout: ColumnLayout) -> None:
        """An error if these are not the columns that it has weights for."""
        if self.columns != len(layout):
            raise ConfigError(
                f"The mixer has {self.columns} weights for {len(layout)} columns ({', '.join(layout.names)})."
            )
        if self.over_source != len(layout.over_source):
            raise ConfigError(
                f"The mixer ({self.kind}) weighs columns over source words of {self.over_source} blocks, but there are "
                f"{len(layout.over_source)} ({', '.join(layout.over_source) or 'none'}). Use static weights, or a net "
                f"that reads the source, trained with exactly these blocks."
            )

    def log_probs(
        self, ids: Ids, blocks: Blocks, out: Floats, state: Any = None, *, carried: bool = False, beside: Beside = ALONE
    ) -> tuple[Any, Any]:
        """Write log P of every word of a text of whole sentences from the dense blocks; at `<s>` anything.

        Gives what the next text goes on with: the state after this one, if it is `carried`, and the blocks' memory.
        """
        if self.state_size:
            raise ConfigError(f"A mixer with a state writes its own log_probs, but {type(self).__name__} does not.")
        rows = rows_of(blocks, ids, beside)
        weights_TK = np.exp(self._along(ids, rows.features_TF, beside))
        probs_T = np.einsum("tk,tk->t", rows.probs_TK, weights_TK[:, : rows.probs_TK.shape[1]])
        if self.deltas:
            probs_T += own_weights(weights_TK, ids, self.deltas)[:, -1]
        with np.errstate(divide="ignore"):
            out[:] = np.log(probs_T)
        return None, rows.memory

    def _along(self, ids: Ids, features_TF: Floats, beside: Beside) -> Floats:
        """log lambda at every position of a text, for a mixer without memory."""
        contexts_TW, sources = contexts_along(ids, self.reads.words), ALONE
        if self.reads.source and len(ids):
            sources = beside.along(ids, int(ids[0]))
        return self.log_weights(contexts_TW, features_TF, no_state(len(ids)), sources)[0]

    def weights(self, features_BF: Floats) -> Floats:
        """lambda (B, K) of a mixer that looks at nothing but features."""
        nothing_B0 = np.zeros((len(features_BF), 0), np.uint32)
        return np.exp(self.log_weights(nothing_B0, features_BF, no_state(len(features_BF)))[0])

    def next_state(self, contexts_BW: Ids, features_BF: Floats, state_BS: State, beside: Beside = ALONE) -> State:
        """The states alone, for mixers that get them with less work than the weights."""
        return self.log_weights(contexts_BW, features_BF, state_BS, beside)[1]

    def weights_of(
        self, words_B: Ids, contexts_BW: Ids, features_BF: Floats, state_BS: State, beside: Beside = ALONE
    ) -> tuple[Floats, State]:
        """lambda of the dense columns and of each word's own delta column, if there are any; and the states after."""
        log_weights_BK, after_BS = self.log_weights(contexts_BW, features_BF, state_BS, beside)
        return own_weights(np.exp(log_weights_BK), words_B, self.deltas), after_BS

    def weights_along(self, ids: Ids, features_TF: Floats, beside: Beside = ALONE) -> Floats:
        """`weights_of` every word of a sentence `<s> w … </s>`."""
        if self.state_size:
            raise ConfigError(f"A mixer with a state writes its own weights_along, but {type(self).__name__} does not.")
        return own_weights(np.exp(self._along(ids, features_TF, beside)), ids, self.deltas)

    def __repr__(self) -> str:
        return self.kind

    def described(self, names: tuple[str, ...]) -> dict[str, Any]:
        """What people want to know of it; `names` are those of the columns."""
        return {"model": "mixture", "mixer": self.kind}

    @abc.abstractmethod
    def parts(self) -> Parts:
        """What a model folder keeps of it."""

    @classmethod
    @abc.abstractmethod
    def from_parts(cls, stored: Folder, layout: ColumnLayout) -> Self:
        """The mixer that a folder keeps, for these columns."""


def own_weights(weights_BK: Floats, words_B: Ids, deltas: int) -> Floats:
    """Of weights of all columns, those of the dense ones and of each word's own delta column.

    `<s>` and NOTHING are asked for, but never counted.
    """
    if not deltas:
        return weights_BK
    dense = weights_BK.shape[1] - deltas
    own_B = weights_BK[np.arange(len(words_B)), dense + np.minimum(words_B, deltas - 1)]
    return np.concatenate((weights_BK[:, :dense], own_B[:, None]), axis=1)


def no_state(count: int) -> State:
    """The states of a mixer without memory."""
    return np.zeros((count, 0), np.float32)


def contexts_along(ids: Ids, words: int) -> Ids:
    """(T, W): the words before each position of its sentence, nearest last, `<s>` where there are none."""
    start = ids[0] if len(ids) else 0
    starts = np.flatnonzero(ids == start)
    begins = np.zeros(len(ids), dtype=np.int64)
    begins[starts] = starts
    offsets = np.arange(len(ids)) - np.maximum.accumulate(begins)
    contexts_TW = np.empty((len(ids), words), dtype=ids.dtype)
    for back in range(1, words + 1):
        before = np.concatenate((np.full(min(back, len(ids)), start, dtype=ids.dtype), ids[:-back]))
        contexts_TW[:, words - back] = np.where(offsets >= back, before, start)
    return contexts_TW
