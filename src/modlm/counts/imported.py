"""Counts without their text: `w1 … wn<TAB>count` files in, as `Counts` that every smoothing family accepts, and out.

A trie is closed: an n-gram without its first or its last word is there too. Files need not be; what they lack gets a
node with frequency 0, a context or a suffix that does not itself occur. An order of which the files hold nothing at all
gets its frequencies from the order above: an n-gram occurred at least as often as all its extensions to the left.

Collections are often cut off below some count. Then no n-gram occurs once or twice, no formula for discounts applies,
and the default discounts step in; `Counts.cut_off` keeps the smallest count of each order for whoever wants to know.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from modlm.counts.counts import MAX_ORDER, MOST, Counts, Frequencies, check_order, narrowed
from modlm.counts.linking import check_sound, link_suffixes
from modlm.counts.skip import SkipCounts
from modlm.counts.trie import Trie
from modlm.errors import ConfigError, EstimationError
from modlm.formats.count_files import CountTables, read_counts, write_counts
from modlm.formats.row_order import group_starts, sorting
from modlm.ground.arrays import Ids, Ints
from modlm.text.vocabulary import Vocabulary

ROWS = 1 << 18  # n-grams written at a time


def import_counts(
    files: str | Path | Iterable[str | Path], *, vocabulary: Vocabulary | None = None, order: int | None = None
) -> Counts:
    """The counts in these files, up to an order; see `formats.count_files.read_counts`."""
    return counts_from_tables(read_counts(files, vocabulary=vocabulary), order=order)


def counts_from_tables(tables: CountTables, *, order: int | None = None) -> Counts:
    """Counts from tables, with edge `once`; n-grams above the order are left out."""
    order = min(tables.max_order, MAX_ORDER) if order is None else order
    check_order(order)
    if order > tables.max_order:
        raise EstimationError(f"The counts go up to order {tables.max_order}, but order {order} was asked for.")
    rows = [(own.ngrams, own.counts) for own in tables.orders[:order]]
    trie, frequencies = closed_trie(rows, tables.vocabulary)
    smallest = [own.smallest for own in tables.orders[:order]]
    return Counts(tables.vocabulary, trie, frequencies, edge="once", cut_off=smallest if max(smallest) > 1 else ())


def closed_trie(rows: list[tuple[Ids, Ints]], vocabulary: Vocabulary) -> tuple[Trie, Frequencies]:
    """N-grams of each order with their counts, and all that are inside of them, which have 0."""
    start, order = len(vocabulary), len(rows)
    closed = _closed(rows, start)
    sizes = [1, start + 1, *(len(table) for table, _ in closed[1:])]
    levels = (0, *(int(level) for level in np.cumsum(sizes)))
    if levels[-1] >= MOST:
        raise EstimationError(f"The counts have more than {MOST:,} n-grams. Ask for a lower order.")
    words, frequencies = np.zeros(levels[-1], dtype=np.uint32), np.zeros(levels[-1], dtype=np.int64)
    first, suffix = np.empty(levels[order] + 1, dtype=np.uint32), np.empty(levels[-1], dtype=np.uint32)
    words[1 : start + 2] = np.arange(start + 1)
    unigrams, counts = closed[0]
    frequencies[1 + unigrams[:, 0].astype(np.int64)] = counts
    first[0], first[-1] = 1, levels[-1]
    for n in range(2, order + 1):
        table, counts = closed[n - 1]
        words[levels[n] : levels[n + 1]] = table[:, -1]
        frequencies[levels[n] : levels[n + 1]] = counts
        begins = group_starts(table[:, :-1])
        parents = table[begins, :-1]
        contexts = parents[:, 0].astype(np.int64) if n == 2 else _places(parents, closed[n - 2][0], start)
        size = np.zeros(levels[n] - levels[n - 1], dtype=np.int64)
        size[contexts] = np.diff(np.append(begins, len(table)))
        first[levels[n - 1] : levels[n]] = levels[n] + np.cumsum(size) - size
    link_suffixes(words, first, suffix, levels)
    trie = Trie(words, first, suffix, levels)
    for n in range(order - 1, 0, -1):
        if len(rows[n - 1][0]) == 0:
            above = trie.nodes(n + 1)
            np.add.at(frequencies, suffix[above], frequencies[above])
    frequencies[[0, 1 + start]] = 0  # `<s>` is context only
    return trie, narrowed(frequencies)


def _closed(rows: list[tuple[Ids, Ints]], start: int) -> list[tuple[Ids, Ints]]:
    """For each order its n-grams, sorted, together with what the order above needs; added ones have count 0."""
    closed: list[tuple[Ids, Ints]] = []
    above = np.zeros((0, len(rows) + 1), dtype=np.uint32)
    for ngrams, counts in reversed(rows):
        both = np.concatenate((ngrams, above[:, :-1], above[:, 1:]))
        order = sorting(both, start)
        both, number = both[order], np.append(counts, np.zeros(2 * len(above), dtype=np.int64))[order]
        begins = group_starts(both)
        above = both[begins]
        closed.append((above, np.add.reduceat(number, begins) if len(begins) else number))
    return closed[::-1]


def _places(rows: Ids, among: Ids, start: int) -> Ints:
    """Where each of the sorted rows stands among sorted rows that include them all."""
    order = sorting(np.concatenate((among, rows)), start)
    known = order < len(among)
    return (np.cumsum(known) - 1)[~known]


def export_counts(counts: Counts, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write all n-grams that occur, order by order, as `w1 … wn<TAB>count`; gzip if the name ends in .gz."""
    if isinstance(counts, SkipCounts) or counts.edge != "once":
        raise ConfigError('Count files hold n-grams with a single <s> at most. Count the text with edge = "once".')
    check_sound(counts.trie)
    write_counts(Path(path), counts.vocabulary, _pieces(counts), overwrite=overwrite)


def _pieces(counts: Counts) -> Iterator[tuple[Ids, Ints]]:
    trie = counts.trie
    for order in range(1, counts.order + 1):
        for low in range(trie.levels[order], trie.levels[order + 1], ROWS):
            nodes = np.arange(low, min(low + ROWS, trie.levels[order + 1]), dtype=np.int64)
            nodes = nodes[counts.frequencies[nodes] > 0]
            yield trie.words_of(nodes, order), counts.frequencies[nodes].astype(np.int64)
