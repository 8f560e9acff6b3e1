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
from modlm.blocks.held_out import HeldOutColumns
from modlm.blocks.log_rows import fill_log_rows
from modlm.errors import ConfigError
from modlm.progress import Progress, progress
from modlm.text.corpus import Corpus
from modlm.text.vocabulary import UNKNOWN
from modlm.training.blocks import CountColumns
from modlm.training.text_rows import TextRows, new_rows

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
            held_out = column.held_out()
            if held_out is None:
                _fill(out, name, column.block, bar)
            else:
                _fill_held_out(out, name, held_out, corpus, parts, kept_T, bar)
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


def fold_ranges(corpus: Corpus, folds: int) -> list[Range]:
    """First and last position of each fold, as `Corpus.folds` cuts."""
    ends = np.cumsum([0] + [len(fold.ids) for fold in corpus.folds(folds)])
    if len(ends) < 3:
        raise ConfigError(
            f"The training text has {corpus.sentences} sentences and makes {len(ends) - 1} folds, but rows without "
            f"their fold need at least two. Give more text or more folds."
        )
    return [(int(low), int(high)) for low, high in pairwise(ends)]


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
        fill_log_rows(block, out.ids[low:high], log_probs_TC[low:high], features_TF[low:high])
        bar.advance(high - low)

    in_parallel([partial(fill, *piece) for piece in pieces(out.starts, 0, len(out.ids))])


def _fill_held_out(
    out: TextRows,
    name: str,
    columns: HeldOutColumns,
    corpus: Corpus,
    folds: list[Range],
    kept_T: Bools | None,
    bar: Progress,
) -> None:
    log_probs_TC, features_TF = out.part(name)
    workers = min(threads(), len(folds), STATES)
    sizes = [high - low if kept_T is None else np.count_nonzero(kept_T[low:high]) for low, high in folds]
    ends = np.cumsum([0, *sizes])

    def fill(worker: int) -> None:
        state = columns.copy()
        for fold in range(worker, len(folds), workers):
            low, high = folds[fold]
            rows, kept = slice(ends[fold], ends[fold + 1]), None if kept_T is None else kept_T[low:high]
            state.fill(corpus.ids[low:high], log_probs_TC[rows], features_TF[rows], kept_T=kept)
            bar.advance(high - low)

    in_parallel([partial(fill, worker) for worker in range(workers)])
