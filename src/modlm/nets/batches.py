"""Batches of a text as tensors with time first: sentences of like length side by side, or streams of a document.

Log rows come in, batches go out, for training and for scoring alike. Which sentences share a batch is settled once:
sorted by falling length, then packed as long as longest times number stays within `most` positions (padding counted).
Any batch can be made directly, which is what a resumed run does. Nothing here runs once a word in Python.
"""

from __future__ import annotations

import abc
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from modlm.blocks.log_rows import LogRows
from modlm.ground.arrays import Bools, Ids, Ints, Singles

ALL = slice(None)


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
    """Rows of D, its dense columns."""
    at_P: Ints
    """Where the predicted words stand in the text."""
    whole: tuple[int, int]
    """T and B of the batch over all processes."""
    words: int
    """Predictions of the batch over all processes."""
    sources: Sequence[Ids] = ()
    """The source sentence of each of the B sentences, where they come with one."""
    source_log_probs_PX: Tensor | None = None
    """Rows of D, its columns for words of the source: S of each block, -inf where there is no word."""
    source_features_BSF: Tensor | None = None
    """Features of these words."""

    def predicted(self, values_TBX: Tensor) -> Tensor:
        """The rows of the predicted positions: (P, X) out of (T, B, X)."""
        flat = values_TBX.flatten(0, 1)
        return flat if self.places_P is None else flat.index_select(0, self.places_P)

    def to(self, device: torch.device) -> Batch:
        """The batch on a device."""
        if device.type == "cpu":
            return self
        parts = ((field.name, getattr(self, field.name)) for field in fields(self))
        tensors: dict[str, Any] = {name: part for name, part in parts if isinstance(part, Tensor)}
        return replace(self, **{name: part.to(device, non_blocking=True) for name, part in tensors.items()})


class BatchSource(abc.ABC):
    """A text cut into batches. A `shard` is what one process takes of the sentences or streams of each."""

    carries: ClassVar[bool]
    """Whether a batch goes on where the one before ended, so that a state passes from each to the next."""
    words: int
    """Predictions in one epoch."""

    def __init__(self, rows: LogRows, context_words: int) -> None:
        """`context_words` is how many previous words a context holds; 0 where the net reads none."""
        self.rows, self.context_words = rows, context_words
        self.starts = rows.starts if rows.text_starts is None else rows.text_starts
        self.firsts = rows.firsts()
        self._tables = [as_tensor(table) for table in (rows.features_TF, rows.log_probs_TD)]

    @abc.abstractmethod
    def __len__(self) -> int: ...

    def order(self, epoch: int, seed: int) -> Ints:
        """The batches of an epoch, counted from 0, in the order in which they come: that of the text."""
        return np.arange(len(self))

    @abc.abstractmethod
    def batch(self, number: int, shard: slice = ALL) -> Batch:
        """One batch, or one process's part of it."""

    @abc.abstractmethod
    def sentences_of(self, number: int) -> Ints:
        """The sentences of a batch, by their number in the text."""

    @abc.abstractmethod
    def owners(self, world: int) -> Ints:
        """For each sentence of the text the process, of so many, in whose parts of batches it is."""

    def _gathered(self, at_TB: Ints, first_TB: Ints, real_TB: Bools, *, whole: tuple[int, int], words: int) -> Batch:
        """The batch of the positions `at`; `first` is the `<s>` at which the context of each begins at the latest."""
        ids = self.rows.ids
        back = np.arange(self.context_words, 0, -1)
        contexts_TBW = ids[np.maximum(at_TB[..., None] - back, first_TB[..., None])]
        full = bool(real_TB.all())
        places_P = np.flatnonzero(real_TB)
        at_P = at_TB.ravel() if full else at_TB.ravel()[places_P]
        features_TF, log_probs_TD = self._tables
        features_XF = features_TF.index_select(0, torch.from_numpy(at_TB.ravel()))
        return Batch(
            torch.from_numpy(contexts_TBW.astype(np.int64)),
            features_XF.view(*at_TB.shape, features_TF.shape[1]),
            torch.from_numpy(real_TB),
            None if full else torch.from_numpy(places_P),
            torch.from_numpy(ids[at_P].astype(np.int64)),
            log_probs_TD.index_select(0, torch.from_numpy(at_P)),
            at_P,
            whole,
            words,
        )


class Sentences(BatchSource):
    """Sentences, each with a context of its own."""

    carries = False

    def __init__(self, rows: LogRows, context_words: int, *, most: int) -> None:
        super().__init__(rows, context_words)
        self.lengths = np.diff(self.starts) - 1  # predictions: all but `<s>`
        self.sentences = np.argsort(-self.lengths, kind="stable")
        self.bounds = packed(self.lengths[self.sentences], most)
        self.words = int(self.lengths.sum())

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def order(self, epoch: int, seed: int) -> Ints:
        """A permutation that follows from the seed and the epoch."""
        return np.random.default_rng((seed, epoch)).permutation(len(self))

    def sentences_of(self, number: int) -> Ints:
        """The sentences of a batch, longest first."""
        return self.sentences[self.bounds[number] : self.bounds[number + 1]]

    def owners(self, world: int) -> Ints:
        """Shards take sentences of a batch in turns."""
        owners = np.empty_like(self.sentences)
        owners[self.sentences] = np.arange(len(self.sentences)) - np.repeat(self.bounds[:-1], np.diff(self.bounds))
        return owners % world

    def batch(self, number: int, shard: slice = ALL) -> Batch:
        """The batch; T is that of the longest sentence in the whole batch, whatever the shard."""
        every = self.sentences_of(number)
        mine = every[shard]
        longest = max(1, int(self.lengths[every[0]]))
        first_B, length_B = self.firsts[mine], self.lengths[mine]
        steps_T1 = np.arange(1, longest + 1)[:, None]
        at_TB = first_B + np.minimum(steps_T1, length_B)
        first_TB = np.broadcast_to(first_B, at_TB.shape)
        words = int(self.lengths[every].sum())
        made = self._gathered(at_TB, first_TB, steps_T1 <= length_B, whole=(longest, len(every)), words=words)
        sources, over = self.rows.sources, self.rows.over_sources
        if sources:
            made = replace(made, sources=[sources[sentence] for sentence in mine.tolist()])
        if over is None:
            return made
        log_probs_TBX, features_BSF, _ = over.batch(mine, longest)
        own_PX = made.predicted(torch.from_numpy(log_probs_TBX))
        return replace(made, source_log_probs_PX=own_PX, source_features_BSF=torch.from_numpy(features_BSF))


class Streams(BatchSource):
    """Documents: the text cut into streams of whole sentences; batch i is their i-th stretch of `steps` predictions.

    One step is one prediction: after `</s>`, which is predicted and not read, comes `<s>`, which is read and not
    predicted. Windows of words end at their `<s>`.
    """

    carries = True

    def __init__(self, rows: LogRows, context_words: int, *, streams: int, steps: int) -> None:
        super().__init__(rows, context_words)
        self.steps = steps
        self.begins = self.starts - np.arange(len(self.starts))  # where sentences begin when only predictions count
        self.words = int(self.begins[-1])
        self._sentence_P = np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), np.diff(self.begins))
        wanted = self.words * np.arange(1, streams) // streams
        cuts = np.unique(np.concatenate(([0], self.begins[np.searchsorted(self.begins, wanted)], [self.words])))
        self.first_B, self.end_B = cuts[:-1], cuts[1:]
        self.longest = int((self.end_B - self.first_B).max(initial=0))

    def __len__(self) -> int:
        return -(-self.longest // self.steps)

    def _predictions(self, number: int) -> Ints:
        """(T, B) predictions of all streams, counted through the text; too large where a stream is over."""
        begin = number * self.steps
        return self.first_B + np.arange(begin, min(self.longest, begin + self.steps))[:, None]

    def sentences_of(self, number: int) -> Ints:
        """The sentences that the batch touches."""
        predictions_TB = self._predictions(number)
        return np.unique(self._sentence_P[predictions_TB[predictions_TB < self.end_B]])

    def owners(self, world: int) -> Ints:
        """Shards take streams in turns."""
        return (np.searchsorted(self.first_B, self.begins[:-1], side="right") - 1) % world

    def batch(self, number: int, shard: slice = ALL) -> Batch:
        """Stretch `number` of the streams."""
        every_TB = self._predictions(number)
        mine_TB, end_B = every_TB[:, shard], self.end_B[shard]
        real_TB = mine_TB < end_B
        mine_TB = np.minimum(mine_TB, end_B - 1)
        sentences_TB = self._sentence_P[mine_TB]
        at_TB = mine_TB + sentences_TB + 1
        if self.rows.kept is not None:
            at_TB += (self.firsts - self.starts[:-1])[sentences_TB]
        first_TB = self.firsts[sentences_TB] if self.context_words else at_TB
        words = int(np.count_nonzero(every_TB < self.end_B))
        return self._gathered(at_TB, first_TB, real_TB, whole=every_TB.shape, words=words)


def as_tensor(table: Singles) -> Tensor:
    """A table as torch sees it, from which it takes rows ten times as fast as numpy; it is only ever read."""
    if table.flags.writeable:
        return torch.from_numpy(table)
    with warnings.catch_warnings():  # torch warns of what is mapped from a file
        warnings.simplefilter("ignore")
        return torch.from_numpy(table)


def packed(falling: Ints | Sequence[int], most: int) -> Ints:
    """Bounds of batches: as many neighbours as fit when each takes as much room as the longest, at least one."""
    lengths = np.asarray(falling)
    bounds = [0]
    while bounds[-1] < len(lengths):
        room = max(1, most // max(1, int(lengths[bounds[-1]])))
        bounds.append(min(len(lengths), bounds[-1] + room))
    return np.array(bounds, np.int64)
