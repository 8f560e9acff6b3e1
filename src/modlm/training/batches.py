"""Batches of sentences of like length, as tensors with time first.

Rows of a text come in, batches go out. Which sentences share a batch is settled once: sorted by falling length, then
packed as long as longest times number stays within `batch_words` (padding counted). Only the order of batches changes
from epoch to epoch, and it follows from the seed and the epoch alone; so any batch of any epoch can be made directly,
which is what a resumed run does. Nothing here runs once a word in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from modlm.arrays import Bools, Ids, Ints
from modlm.errors import InputError
from modlm.text.vocabulary import UNKNOWN


class RowsOfText(Protocol):
    """What batches are cut from: `training.rows.TextRows`."""

    @property
    def ids(self) -> Ids: ...
    @property
    def starts(self) -> Ints: ...
    @property
    def log_probs_TC(self) -> NDArray[np.float32]: ...
    @property
    def features_TF(self) -> NDArray[np.float32]: ...


@dataclass(frozen=True, slots=True)
class Shard:
    """The part of every batch that this process works on: sentences rank, rank + world, ..."""

    rank: int = 0
    world: int = 1

    @property
    def places(self) -> slice:
        """The shard along the sentence axis of a whole batch."""
        return slice(self.rank, None, self.world)


WHOLE = Shard()


@dataclass(frozen=True, slots=True)
class Batch:
    """One process's part of a batch: T steps of B sentences, P of their T times B positions being predicted."""

    contexts_TBW: Tensor
    """The words before, oldest first; `<s>` before the beginning."""
    features_TBF: Tensor
    real_TB: Tensor
    """False where a sentence or stream is over: padding."""
    places_P: Tensor | None
    """Where the predicted positions stand in a (T times B) flattened; None when all are."""
    words_P: Tensor
    log_probs_PD: Tensor
    """Dense rows of D: count columns, then the constant ones."""
    whole: tuple[int, int]
    """T and B of the batch over all processes."""
    words: int
    """Predictions of the batch over all processes."""

    def predicted(self, values_TBX: Tensor) -> Tensor:
        """The rows of the predicted positions: (P, X) out of (T, B, X)."""
        flat = values_TBX.reshape(-1, values_TBX.shape[-1])
        return flat if self.places_P is None else flat.index_select(0, self.places_P)

    def to(self, device: torch.device) -> Batch:
        """The batch on a device."""
        if device.type == "cpu":
            return self
        return Batch(
            self.contexts_TBW.to(device, non_blocking=True),
            self.features_TBF.to(device, non_blocking=True),
            self.real_TB.to(device, non_blocking=True),
            None if self.places_P is None else self.places_P.to(device, non_blocking=True),
            self.words_P.to(device, non_blocking=True),
            self.log_probs_PD.to(device, non_blocking=True),
            self.whole,
            self.words,
        )


@dataclass(frozen=True, slots=True)
class Part:
    """What rows of some sentences of a text are rows of."""

    starts: Ints
    """Where the sentences of the whole text begin, and behind them its length."""
    kept: Ints
    """The sentences that the rows have, by their number in the text, in its order."""


@dataclass(frozen=True, slots=True)
class DenseRows:
    """Gathers positions of a text into batches; puts the constant columns behind the count columns."""

    rows: RowsOfText
    vocab_size: int
    context_words: int = 1
    """How many previous words a context holds; 0 where the net reads none."""
    extra: tuple[str, ...] = ()
    """Constant columns in the order of the model: `uniform`, `unknown`."""
    part: Part | None = None
    """None when the rows have all sentences of the text."""

    @property
    def starts(self) -> Ints:
        """Where the sentences of the text begin, and behind them its length."""
        return np.asarray(self.rows.starts if self.part is None else self.part.starts, np.int64)

    def firsts(self) -> Ints:
        """Where the rows of each sentence begin; far out of reach for those that are not here."""
        begins = np.asarray(self.rows.starts, np.int64)[:-1]
        if self.part is None:
            return begins
        firsts = np.full(len(self.part.starts) - 1, np.iinfo(np.int32).min, np.int64)
        firsts[self.part.kept] = begins
        return firsts

    def log_probs(self, at_P: Ints, words_P: Ints) -> NDArray[np.float32]:
        """(P, D) with the constant columns last."""
        counted = self.rows.log_probs_TC
        columns = counted.shape[1]
        out_PD = np.empty((len(at_P), columns + len(self.extra)), np.float32)
        out_PD[:, :columns] = counted[at_P]
        for place, name in enumerate(self.extra, start=columns):
            out_PD[:, place] = constant_column(name, words_P, self.vocab_size)
        return out_PD

    def gather(self, at_TB: Ints, first_TB: Ints, real_TB: Bools, *, whole: tuple[int, int], words: int) -> Batch:
        """The batch of the positions `at`; `first` is the `<s>` at which the context of each begins at the latest."""
        back = np.arange(self.context_words, 0, -1)
        contexts_TBW = self.rows.ids[np.maximum(at_TB[..., None] - back, first_TB[..., None])]
        features_TBF = self.rows.features_TF[at_TB]
        full = bool(real_TB.all())
        places_P = np.flatnonzero(real_TB)
        at_P = at_TB.ravel() if full else at_TB.ravel()[places_P]
        words_P = self.rows.ids[at_P].astype(np.int64)
        return Batch(
            torch.from_numpy(contexts_TBW.astype(np.int64)),
            torch.from_numpy(np.ascontiguousarray(features_TBF, np.float32)),
            torch.from_numpy(real_TB),
            None if full else torch.from_numpy(places_P),
            torch.from_numpy(words_P),
            torch.from_numpy(self.log_probs(at_P, words_P)),
            whole,
            words,
        )


def constant_column(name: str, words_P: Ints, vocab_size: int) -> NDArray[Any] | float:
    """The logarithm of a constant column's entry for each word."""
    if name == "uniform":
        return -float(np.log(vocab_size))
    assert name == "unknown", name
    return np.where(words_P == UNKNOWN, 0.0, -np.inf)


class BatchSource(Protocol):
    """What a run takes its batches from, sentences or streams."""

    words: int
    """Predictions in one epoch."""

    def __len__(self) -> int: ...

    def order(self, epoch: int) -> Ints:
        """The batches of an epoch, counted from 0, in the order in which they come."""
        ...

    def batch(self, number: int, shard: Shard = WHOLE) -> Batch:
        """One batch, or one process's part of it."""
        ...

    def sentences_of(self, number: int) -> Ints:
        """The sentences of a batch, by their number in the text."""
        ...

    def owners(self, world: int) -> Ints:
        """For each sentence of the text the process, of so many, in whose parts of batches it is."""
        ...


class Batches:
    """Sentences, each with a context of its own."""

    def __init__(self, dense: DenseRows, *, batch_words: int, seed: int) -> None:
        self.dense, self.seed = dense, seed
        self.firsts = dense.firsts()
        lengths = np.diff(dense.starts) - 1  # predictions: all but `<s>`
        if not len(lengths):
            raise InputError("There is no sentence in the text. Give a text with one sentence a line.")
        self.sentences = np.argsort(-lengths, kind="stable")
        self.bounds = packed(lengths[self.sentences], batch_words)
        self.lengths = lengths
        self.words = int(lengths.sum())

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def order(self, epoch: int) -> Ints:
        """A permutation that follows from the seed and the epoch."""
        return np.random.default_rng((self.seed, epoch)).permutation(len(self))

    def sentences_of(self, number: int) -> Ints:
        """The sentences of a batch, longest first."""
        return self.sentences[self.bounds[number] : self.bounds[number + 1]]

    def owners(self, world: int) -> Ints:
        """Shards take sentences of a batch in turns."""
        owners = np.empty_like(self.sentences)
        owners[self.sentences] = np.arange(len(self.sentences)) - np.repeat(self.bounds[:-1], np.diff(self.bounds))
        return owners % world

    def batch(self, number: int, shard: Shard = WHOLE) -> Batch:
        """The batch; T is that of the longest sentence in the whole batch, whatever the shard."""
        every = self.sentences_of(number)
        mine = every[shard.places]
        longest = int(self.lengths[every[0]])
        first_B, length_B = self.firsts[mine], self.lengths[mine]
        steps_T = np.arange(1, longest + 1)
        real_TB = steps_T[:, None] <= length_B
        at_TB = first_B + np.minimum(steps_T[:, None], length_B)
        first_TB = np.broadcast_to(first_B, at_TB.shape)
        words = int(self.lengths[every].sum())
        return self.dense.gather(at_TB, first_TB, real_TB, whole=(longest, len(every)), words=words)


class Streams:
    """Documents: the text cut into streams of whole sentences; batch i is their i-th stretch of `steps` predictions.

    The state of a net passes from each batch to the next of its epoch. One step is one prediction: after `</s>`, which
    is predicted and not read, comes `<s>`, which is read and not predicted. Windows of words end at their `<s>`.
    """

    def __init__(self, dense: DenseRows, *, streams: int, steps: int) -> None:
        self.dense, self.steps = dense, steps
        self.firsts = dense.firsts()
        starts = dense.starts
        if len(starts) < 2:
            raise InputError("There is no sentence in the text. Give a text with one sentence a line.")
        self.begins = starts - np.arange(len(starts))  # where sentences begin when only predictions count
        self.words = int(self.begins[-1])
        wanted = self.words * np.arange(1, streams) // streams
        cuts = np.unique(np.concatenate(([0], self.begins[np.searchsorted(self.begins, wanted)], [self.words])))
        self.first_B, self.end_B = cuts[:-1], cuts[1:]
        self.longest = int((self.end_B - self.first_B).max())

    def __len__(self) -> int:
        return -(-self.longest // self.steps)

    def order(self, epoch: int) -> Ints:
        """Always that of the text: states pass from batch to batch."""
        return np.arange(len(self))

    def _predictions(self, number: int) -> Ints:
        """(T, B) predictions of all streams, counted through the text; too large where a stream is over."""
        begin = number * self.steps
        return self.first_B + np.arange(begin, min(self.longest, begin + self.steps))[:, None]

    def _sentences(self, predictions: Ints) -> Ints:
        return np.searchsorted(self.begins, predictions, side="right") - 1

    def sentences_of(self, number: int) -> Ints:
        """The sentences that the batch touches."""
        predictions_TB = self._predictions(number)
        return np.unique(self._sentences(predictions_TB[predictions_TB < self.end_B]))

    def owners(self, world: int) -> Ints:
        """Shards take streams in turns."""
        return (np.searchsorted(self.first_B, self.begins[:-1], side="right") - 1) % world

    def batch(self, number: int, shard: Shard = WHOLE) -> Batch:
        """Stretch `number` of the streams."""
        every_TB = self._predictions(number)
        steps, streams = every_TB.shape
        mine_TB, end_B = every_TB[:, shard.places], self.end_B[shard.places]
        real_TB = mine_TB < end_B
        mine_TB = np.minimum(mine_TB, end_B - 1)
        sentences_TB = self._sentences(mine_TB)
        first_TB = self.firsts[sentences_TB]
        at_TB = first_TB + (mine_TB - self.begins[sentences_TB]) + 1
        words = int(np.count_nonzero(every_TB < self.end_B))
        return self.dense.gather(at_TB, first_TB, real_TB, whole=(steps, streams), words=words)


def packed(falling: Ints | Sequence[int], batch_words: int) -> Ints:
    """Bounds of batches: as many neighbours as fit when each takes as much room as the longest, at least one."""
    lengths = np.asarray(falling)
    bounds = [0]
    while bounds[-1] < len(lengths):
        room = max(1, batch_words // max(1, int(lengths[bounds[-1]])))
        bounds.append(min(len(lengths), bounds[-1] + room))
    return np.array(bounds, np.int64)
