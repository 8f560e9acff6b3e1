"""Rows for training: a corpus and the blocks of a run come in, `LogRows` go out.

Rows of the training text itself are made fold by fold from the counts of all other folds, so that no position is looked
at with counts that know it; columns from elsewhere give their rows as they are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from modlm.blocks.block import Beside, Block, Fold
from modlm.blocks.log_rows import LogRows, new_rows
from modlm.blocks.source_rows import SourceRows, source_rows
from modlm.errors import ConfigError
from modlm.ground.arrays import Bools, Ids, Ints, Singles, in_parallel, threads
from modlm.ground.progress import Progress, progress
from modlm.text.corpus import Corpus
from modlm.text.folds import fold_cuts, stretches
from modlm.training.blocks import RunBlock

PIECE = 1 << 14  # positions walked at a time: few enough for caches, and for one thread
STATES = 4  # threads with held-out counts of their own, at most: each takes about the memory of the counts again

Range = tuple[int, int]
Tables = tuple[Singles, Singles]


def rows(
    corpus: Corpus,
    blocks: Mapping[str, RunBlock],
    *,
    folds: int = 0,
    folder: str | os.PathLike[str] | None = None,
    kept: Ints | None = None,
    sources: Sequence[Ids] = (),
) -> LogRows:
    """Rows of a text, in memory or mapped from a new folder.

    With `folds`, for the training text: each fold's from the counts of all others, discounts estimated anew for each. A
    pass over a fold takes its n-grams out of the counts and another puts them back, so the time does not depend on the
    number of folds. `kept` are the sentences wanted, rising; none: all. `sources` come with the sentences of the text.
    Blocks that learn read the text from its beginning.
    """
    of_text = {name for name, own in blocks.items() if own.counts is not None or own.without is not None}
    held_out = of_text if folds else set()
    parts = fold_ranges(corpus, folds) if held_out else []
    ids, starts, kept_T = np.asarray(corpus.ids), corpus.starts, None
    if kept is not None:
        kept_T = positions_of(corpus, kept)
        ids, starts = ids[kept_T], np.append(0, np.cumsum(np.diff(starts)[kept]))
    plain = {name: own.block for name, own in blocks.items() if not own.block.per_source}
    with new_rows(ids, starts, plain, folder) as out, progress("rows", total=len(corpus.ids) * len(plain)) as bar:
        for name in plain:
            own = blocks[name]
            if name in held_out:
                _fill_held_out(out.block(name), own, corpus, sources, parts, kept_T, bar)
            elif own.block.reads.learns:
                _fill_in_order(out.block(name), own.block, corpus, sources, kept_T, bar)
            else:
                _fill(out, name, own.block, sources if kept is None or not sources else [sources[n] for n in kept], bar)
    over = _over_sources(corpus, blocks, sources, folds)
    made = replace(out if folder is None else LogRows.open(folder), sources=sources, over_sources=over)
    return made if kept is None else replace(made, text_starts=corpus.starts, kept=kept)


def _over_sources(
    corpus: Corpus, blocks: Mapping[str, RunBlock], sources: Sequence[Ids], folds: int
) -> SourceRows | None:
    """The rows of blocks that have a column for each word of the source, of all sentences."""
    over = {name: own for name, own in blocks.items() if own.block.per_source}
    if not over:
        return None
    without = {name: own.folds for name, own in over.items() if own.folds and folds}
    cuts = fold_cuts(corpus.sources or (corpus.sentences,), folds) if folds else ()
    plain, ids = {name: own.block for name, own in over.items()}, np.asarray(corpus.ids)
    return source_rows(plain, ids, corpus.starts, sources, held_out=without, cuts=cuts)


def positions_of(corpus: Corpus, kept: Ints) -> Bools:
    """True at all positions of some sentences."""
    chosen_S = np.zeros(corpus.sentences, np.bool_)
    chosen_S[kept] = True
    return np.repeat(chosen_S, np.diff(corpus.starts))


def fold_ranges(corpus: Corpus, folds: int) -> list[list[Range]]:
    """The positions of each fold as ranges, one of each source, as `Corpus.folds` cuts."""
    cuts = fold_cuts(corpus.sources or (corpus.sentences,), folds)
    if len(cuts) < 2:
        raise ConfigError(
            f"The training text has {corpus.sentences} sentences and makes {len(cuts)} folds, but rows without "
            f"their fold need at least two. Give more text or more folds."
        )
    return [[(int(corpus.starts[first]), int(corpus.starts[after])) for first, after in fold] for fold in cuts]


def pieces(starts: Ints) -> list[Range]:
    """Neighbouring ranges of whole sentences that cover a text, one a sentence at least."""
    return [(int(starts[a]), int(starts[b])) for a, b in stretches(starts, PIECE)]


def part_of(sources: Sequence[Ids], starts: Ints, low: int, high: int) -> Sequence[Ids]:
    """The sources of the sentences between two positions."""
    return sources[slice(*np.searchsorted(starts, (low, high)))] if sources else ()


def _fill(out: LogRows, name: str, block: Block, sources: Sequence[Ids], bar: Progress) -> None:
    log_probs_TK, features_TF = out.block(name)

    def fill(low: int, high: int) -> None:
        own = Beside(part_of(sources, out.starts, low, high))
        block.log_rows(out.ids[low:high], log_probs_TK[low:high], features_TF[low:high], own)
        bar.advance(high - low)

    in_parallel([partial(fill, *piece) for piece in pieces(out.starts)])


def _fill_in_order(
    target: Tables, block: Block, corpus: Corpus, sources: Sequence[Ids], kept_T: Bools | None, bar: Progress
) -> None:
    """What a block has learned of a piece goes on to the next; sentences that are not wanted are read too."""
    memory, at = None, 0
    for low, high in pieces(corpus.starts):
        made = [np.empty((high - low, table.shape[1]), np.float32) for table in target]
        own = Beside(part_of(sources, corpus.starts, low, high), memory)
        memory = block.log_rows(corpus.ids[low:high], made[0], made[1], own)
        wanted = slice(None) if kept_T is None else kept_T[low:high]
        count = len(made[0][wanted])
        for table, filled in zip(target, made, strict=True):
            table[at : at + count] = filled[wanted]
        at += count
        bar.advance(high - low)


def _fill_held_out(
    target: Tables, own: RunBlock, corpus: Corpus, sources: Sequence[Ids], folds: list[list[Range]],
    kept_T: Bools | None, bar: Progress,
) -> None:  # fmt: skip
    columns, rows_T = own.held_out(), None if kept_T is None else np.cumsum(kept_T) - 1
    workers = min(threads(), len(folds), STATES)

    def fill(worker: int) -> None:
        state = columns.copy()
        for fold in folds[worker::workers]:
            places = np.concatenate([np.arange(*part) for part in fold])
            kept = None if kept_T is None else kept_T[places]
            rows = places if rows_T is None else rows_T[places[kept]]
            made = [np.empty((len(rows), table.shape[1]), np.float32) for table in target]
            beside = Beside([source for part in fold for source in part_of(sources, corpus.starts, *part)])
            state.fill(Fold(corpus.ids[places], inside(fold, own.counted), kept, beside), *made)
            for table, filled in zip(target, made, strict=True):
                table[rows] = filled
            bar.advance(len(places))

    in_parallel([partial(fill, worker) for worker in range(workers)])


def inside(fold: list[Range], part: Range) -> slice:
    """Which of a fold's positions, one behind the other, lie in a part of the text."""
    before = [sum(max(0, min(high, edge) - low) for low, high in fold) for edge in part]
    return slice(*before)
