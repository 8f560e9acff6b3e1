"""Rows for training: at every position of a text its word, the log row of D and the features of its context.

A corpus and count blocks come in, `TextRows` go out, in memory or as memory-mapped `.npy` files in a folder. This is
all that training sees of counts. Rows of the training text itself are made fold by fold from the counts of all other
folds, so that no position is looked at with counts that know it; columns from elsewhere give their rows as they are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from itertools import pairwise

import numpy as np

from modlm.arrays import Bools, Ints, in_parallel, threads
from modlm.blocks.block import Block
from modlm.errors import ConfigError
from modlm.progress import Progress, progress
from modlm.text.corpus import Corpus
from modlm.text.folds import fold_cuts
from modlm.text.vocabulary import UNKNOWN
from modlm.training.blocks import CountColumns
from modlm.training.text_rows import Singles, TextRows, new_rows

PIECE = 1 << 14  # positions walked at a time: few enough for caches, and for one thread
STATES = 4  # threads with held-out counts of their own, at most: each takes about the memory of the counts again

Range = tuple[int, int]

__all__ = ["TextRows", "held_out_rows", "rows"]


def rows(corpus: Corpus, blocks: Mapping[str, Block], *, folder: str | os.PathLike[str] | None = None) -> TextRows:
    """Rows of a text from blocks as they are, for validation and test texts; in memory, or mapped from a new folder."""
    with new_rows(corpus, blocks, folder) as out, progress("rows", total=len(corpus.ids) * len(blocks)) as bar:
        for name, block in blocks.items():
            _fill(out, name, block, bar)
    return out if folder is None else TextRows.open(folder)


def held_out_rows(
    corpus: Corpus,
    columns: Mapping[str, CountColumns],
    folds: int,
    *,
    folder: str | os.PathLike[str] | None = None,
    kept: Ints | None = None,
) -> TextRows:
    """Rows of the training text: each fold's from the counts of all others, discounts estimated anew for each.

    Columns that do not come from this text give their rows as they are. A pass over a fold takes its n-grams out of the
    counts and another puts them back, so the time does not depend on the number of folds. `kept` are the sentences
    wanted, rising; none: all.
    """
    parts = fold_ranges(corpus, folds)
    blocks = {name: column.block for name, column in columns.items()}
    kept_T = None if kept is None else positions_of(corpus, kept)
    wanted = corpus if kept is None else part_of(corpus, kept)
    with new_rows(wanted, blocks, folder) as out, progress("rows", total=len(corpus.ids) * len(columns)) as bar:
        for name, column in columns.items():
            if column.counts is None:
                _fill(out, name, column.block, bar)
            else:
                _fill_held_out(out.part(name), column, corpus, parts, kept_T, bar)
    return out if folder is None else TextRows.open(folder)


def positions_of(corpus: Corpus, kept: Ints) -> Bools:
    """True at all positions of some sentences."""
    chosen_S = np.zeros(corpus.sentences, np.bool_)
    chosen_S[kept] = True
    return np.repeat(chosen_S, np.diff(corpus.starts))


def part_of(corpus: Corpus, kept: Ints) -> Corpus:
    """Some sentences, their numbers rising, as a corpus of their own."""
    ids = corpus.ids[positions_of(corpus, kept)]
    return Corpus(ids, corpus.vocabulary, len(kept), int(np.count_nonzero(ids == UNKNOWN)))


def fold_ranges(corpus: Corpus, folds: int) -> list[list[Range]]:
    """The positions of each fold as ranges, one of each source, as `Corpus.folds` cuts."""
    cuts = fold_cuts(corpus.sources or (corpus.sentences,), folds)
    if len(cuts) < 2:
        raise ConfigError(
            f"The training text has {corpus.sentences} sentences and makes {len(cuts)} folds, but rows without "
            f"their fold need at least two. Give more text or more folds."
        )
    return [[(int(corpus.starts[first]), int(corpus.starts[after])) for first, after in fold] for fold in cuts]


def pieces(starts: np.ndarray, low: int, high: int) -> list[Range]:
    """Neighbouring ranges of whole sentences that cover the positions low..high, one a sentence at least."""
    places = starts[np.searchsorted(starts, low) : np.searchsorted(starts, high) + 1]
    ends = [0]
    while ends[-1] < len(places) - 1:
        far = int(np.searchsorted(places, places[ends[-1]] + PIECE, side="right")) - 1
        ends.append(max(ends[-1] + 1, far))
    return [(int(places[a]), int(places[b])) for a, b in pairwise(ends)]


def _fill(out: TextRows, name: str, block: Block, bar: Progress) -> None:
    log_probs_TC, features_TF = out.part(name)

    def fill(low: int, high: int) -> None:
        block.log_rows(out.ids[low:high], log_probs_TC[low:high], features_TF[low:high])
        bar.advance(high - low)

    in_parallel([partial(fill, *piece) for piece in pieces(out.starts, 0, len(out.ids))])


def _fill_held_out(
    target: tuple[Singles, Singles],
    column: CountColumns,
    corpus: Corpus,
    folds: list[list[Range]],
    kept_T: Bools | None,
    bar: Progress,
) -> None:
    columns, rows_T = column.held_out(), None if kept_T is None else np.cumsum(kept_T) - 1
    workers = min(threads(), len(folds), STATES)

    def fill(worker: int) -> None:
        state = columns.copy()
        for fold in folds[worker::workers]:
            places = np.concatenate([np.arange(*part) for part in fold])
            kept = None if kept_T is None else kept_T[places]
            rows = places if rows_T is None else rows_T[places[kept]]
            made = [np.empty((len(rows), table.shape[1]), np.float32) for table in target]
            state.fill(corpus.ids[places], *made, counted=inside(fold, column.counted), kept_T=kept)
            for table, filled in zip(target, made, strict=True):
                table[rows] = filled
            bar.advance(len(places))

    in_parallel([partial(fill, worker) for worker in range(workers)])


def inside(fold: list[Range], part: Range) -> slice:
    """Which of a fold's positions, one behind the other, lie in a part of the text."""
    before = [sum(max(0, min(high, edge) - low) for low, high in fold) for edge in part]
    return slice(*before)
