"""Which fold each sentence belongs to, cut as `Corpus.folds` cuts: a stretch of every file in each.

Spark reads pieces of files in any order. A piece's sentences are numbered along it, so it is enough to know how many
sentences stand before each piece: a small table, made from one pass over the lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from modlm.counts.spark import functions as F
from modlm.counts.spark.store import Store
from modlm.counts.spark.text import Lines, _reader
from modlm.counts.spark.watching import watched
from modlm.text.folds import fold_cuts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PART_BITS = 33  # of monotonically_increasing_id, below the number of the partition


def in_folds(
    store: Store, lines: Lines | None, sources: Sequence[int], folds: int
) -> tuple[DataFrame, list[int]]:  # fmt: skip
    """The sentences of the store as `fold` and `ids`, and how many each fold has.

    `sources` are those of a corpus; of lines, each file that has any is one.
    """
    sentences = store.read("sentences")
    if lines is None:
        sentences = sentences.withColumnRenamed("line", "number")
    else:
        pieces, sources = _pieces(store, lines)
        sentences = _numbered(sentences, pieces)
    cuts = fold_cuts(sources, folds)
    stretches = sorted((first, fold) for fold, parts in enumerate(cuts) for first, _ in parts)
    begun = F.size(F.filter(F.lit([first for first, _ in stretches]), lambda first: first <= F.col("number")))
    fold = F.element_at(F.lit([fold for _, fold in stretches]), begun)
    sizes = [sum(after - first for first, after in parts) for parts in cuts]
    return sentences.select(fold.cast("int").alias("fold"), "ids"), sizes


def _numbered(sentences: DataFrame, pieces: DataFrame) -> DataFrame:
    """The sentences with their `number` in the text in place of `line`."""
    pieces = F.broadcast(pieces)
    part: Column = F.shiftright("line", PART_BITS)
    inside = (part == F.col("part")) & F.col("line").between(F.col("low"), F.col("high"))
    joined = sentences.join(pieces, inside)
    return joined.select((F.col("line") - F.col("low") + F.col("before")).alias("number"), "ids")


def _pieces(store: Store, lines: Lines) -> tuple[DataFrame, list[int]]:
    """For each piece of a file its partition, first and last line, and the sentences before it; those of each file."""
    import pyarrow

    line = F.monotonically_increasing_id()
    piece = lines.frame.select("round", "file", "start", line.alias("line")).groupBy("round", "file", "start")
    with watched(store.session, "numbering sentences"):
        rows = piece.agg(F.min("line").alias("low"), F.max("line").alias("high")).collect()
    order = _order_of_files(store, lines)
    rows.sort(key=lambda row: (order[row["round"], _plain(row["file"])], row["start"]))
    counts = [row["high"] - row["low"] + 1 for row in rows]
    low, high = ([row[name] for row in rows] for name in ("low", "high"))
    table = pyarrow.table(
        {
            "part": pyarrow.array([first >> PART_BITS for first in low], pyarrow.int64()),
            "low": pyarrow.array(low, pyarrow.int64()),
            "high": pyarrow.array(high, pyarrow.int64()),
            "before": pyarrow.array([0, *accumulate(counts)][: len(counts)], pyarrow.int64()),
        }
    )
    with store.writer("pieces", table.schema) as writer:
        writer.write_table(table)
    files: dict[int, int] = {}
    for row, count in zip(rows, counts, strict=True):
        place = order[row["round"], _plain(row["file"])]
        files[place] = files.get(place, 0) + count
    return store.read("pieces"), list(files.values())


def _order_of_files(store: Store, lines: Lines) -> dict[tuple[int, str], int]:
    """The place of each file in the text: as paths were given, inside folders and patterns by name."""
    order: dict[tuple[int, str], int] = {}
    for path in lines.paths:
        for file in sorted(_reader(store.session, [path]).inputFiles()):
            times = sum((again, _plain(file)) in order for again in range(len(lines.paths)))
            order[times, _plain(file)] = len(order)
    return order


def _plain(file: str) -> str:
    """A file's URL with one slash behind the scheme, which Spark writes in two ways."""
    return re.sub(r"^(\w+):/+", r"\1:/", file)
