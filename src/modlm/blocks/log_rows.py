"""`LogRows`: a text with its log rows of D in single precision, and its features: all that nets see of columns.

In memory, or memory-mapped in a folder that holds `ids.npy`, `starts.npy`, `log_probs.npy`, `features.npy` and
`rows.json`, which lists them with their sizes and sums. A folder is written aside and renamed, so one that has its name
is whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from modlm.blocks.block import ALONE, Beside, Blocks, ColumnLayout, Span
from modlm.blocks.source_rows import SourceRows, source_rows
from modlm.ground.arrays import Bools, Ids, Ints, Singles, in_parallel
from modlm.ground.files import new_folder
from modlm.store.folder import ARRAY, Folder, open_folder
from modlm.store.manifest import Verify, write_manifest
from modlm.store.npy import AnyArray, new_npy, record_of, write_npy

KIND = "rows"
VERSION = 2
NOT_HERE = np.iinfo(np.int32).min  # where the rows of a sentence would begin that has none


@dataclass(frozen=True, slots=True, eq=False)
class LogRows:
    """T counts all ids; at `<s>`, never predicted, log rows and features are 0."""

    ids: Ids
    """`<s> w … </s>` for each sentence, one behind the other."""
    starts: Ints
    """Where each sentence begins, and behind them the length of `ids`."""
    log_probs_TD: Singles
    """Natural log of the word's probability in each dense column, -inf where it is 0."""
    features_TF: Singles
    """Features of the context, as the blocks give them."""
    spans: Mapping[str, Span]
    """Which of these columns and features each block has."""
    folder: Path | None = None
    """Where the arrays are mapped from, if they are."""
    text_starts: Ints | None = None
    """Where the sentences of the whole text begin, if only some of them have rows here,"""
    kept: Ints | None = None
    """and which these are, rising."""
    sources: Sequence[Ids] = ()
    """The source sentence of each sentence of the whole text, where sentences come with one."""
    memory: Any = None
    """What blocks that learn keep of the text, by name."""
    over_sources: SourceRows | None = None
    """The rows of the columns over these sources, if there are any; never in the folder."""

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, verify: Verify = "fast") -> LogRows:
        """Rows from their folder, memory-mapped; "full" reads every byte and compares it with what was written."""
        return _rows_in(open_folder(folder, kind=KIND, verify=verify, version=VERSION))

    @property
    def sentences(self) -> int:
        """How many sentences have rows."""
        return len(self.starts) - 1

    @property
    def bytes(self) -> int:
        """What all arrays take."""
        return sum(array.nbytes for array in self._arrays().values())

    @property
    def steady_F(self) -> Bools:
        """True for the features that are the same after every context."""
        steady_F = np.zeros(self.features_TF.shape[1], np.bool_)
        for span in self.spans.values():
            steady_F[span.features.start : span.features.start + span.steady] = True
        return steady_F

    def block(self, name: str) -> tuple[Singles, Singles]:
        """A block's log probabilities and features, as views."""
        span = self.spans[name]
        return self.log_probs_TD[:, span.columns], self.features_TF[:, span.features]

    def part(self, first: int, end: int) -> LogRows:
        """Some neighbouring sentences."""
        low, high = int(self.starts[first]), int(self.starts[end])
        return replace(
            self, ids=self.ids[low:high], starts=self.starts[first : end + 1] - low,
            log_probs_TD=self.log_probs_TD[low:high], features_TF=self.features_TF[low:high],
        )  # fmt: skip

    def firsts(self) -> Ints:
        """Where the rows of each sentence of the text begin; far out of reach for those that have none."""
        if self.text_starts is None:
            return self.starts[:-1]
        firsts = np.full(len(self.text_starts) - 1, NOT_HERE, np.int64)
        firsts[self.kept] = self.starts[:-1]
        return firsts

    def _arrays(self) -> dict[str, AnyArray]:
        return {
            "ids": self.ids, "starts": self.starts, "log_probs": self.log_probs_TD, "features": self.features_TF,
        }  # fmt: skip


def log_rows(blocks: Blocks, ids: Ids, start: int, beside: Beside = ALONE) -> LogRows:
    """The rows of a text in which sentences begin with the id `start`."""
    with new_rows(ids, np.append(np.flatnonzero(ids == start), len(ids)), blocks) as rows:
        kept = {
            name: block.log_rows(ids, *rows.block(name), beside.of(name))
            for name, block in blocks.items()
            if not block.per_source
        }
    memory = {name: kept[name] for name, block in blocks.items() if block.reads.learns}
    if any(block.per_source for block in blocks.values()):
        sources = beside.sources or [np.zeros(0, np.uint32)] * rows.sentences
        rows = replace(rows, over_sources=source_rows(blocks, ids, rows.starts, sources))
    return replace(rows, sources=beside.sources, memory=memory or None) if memory or beside.sources else rows


# ---- in a folder -----------------------------------------------------------------------------------------------------


@contextmanager
def new_rows(ids: Ids, starts: Ints, blocks: Blocks, folder: str | os.PathLike[str] | None = None) -> Iterator[LogRows]:
    """Rows to be filled, with the columns of these blocks; a folder gets its name when the block ends."""
    layout = ColumnLayout(blocks)
    sizes = {"log_probs": (len(ids), layout.dense), "features": (len(ids), layout.features)}
    if folder is None:
        log_probs_TD, features_TF = (np.empty(size, np.float32) for size in sizes.values())
        yield LogRows(ids, starts, log_probs_TD, features_TF, layout.spans)
        return
    with new_folder(Path(folder), overwrite=True) as place:
        log_probs_TD, features_TF = (
            new_npy(place / f"{name}{ARRAY}", dtype=np.float32, shape=size) for name, size in sizes.items()
        )
        rows = LogRows(ids, starts, log_probs_TD, features_TF, layout.spans)
        yield rows
        _write(place, rows)


def _write(place: Path, rows: LogRows) -> None:
    """All that is not there yet: the tables were filled through their maps."""
    writers = {"ids": write_npy, "starts": write_npy, "log_probs": record_of, "features": record_of}
    arrays = {f"{name}{ARRAY}": (writers[name], array) for name, array in rows._arrays().items()}
    records = in_parallel([partial(write, place / name, array) for name, (write, array) in arrays.items()])
    bounds = {
        name: [span.columns.start, span.columns.stop, span.features.start, span.features.stop, span.steady]
        for name, span in rows.spans.items()
    }
    files = dict(zip(arrays, records, strict=True))
    write_manifest(place, kind=KIND, about={"blocks": bounds}, files=files, version=VERSION)


def _rows_in(folder: Folder) -> LogRows:
    ids = folder.array("ids", np.uint32)
    starts = folder.array("starts", np.int64)
    tables = []
    for name in ("log_probs", "features"):
        table = folder.arrays.get(name)
        if table is None or table.dtype != np.float32 or table.ndim != 2 or len(table) != len(ids):
            raise folder.damaged(f"{name}{ARRAY} is not a table of float32 with {len(ids)} rows")
        tables.append(table)
    if len(starts) == 0 or starts[-1] != len(ids) or starts[0] != 0 or np.any(np.diff(starts) <= 0):
        raise folder.damaged(f"starts{ARRAY} does not cut the text into sentences")
    return LogRows(ids, starts, tables[0], tables[1], _spans_in(folder, tables), folder.path)


def _spans_in(folder: Folder, tables: list[AnyArray]) -> dict[str, Span]:
    listed, spans = folder.about.get("blocks"), {}
    column = feature = 0
    for name, bounds in listed.items() if isinstance(listed, dict) else ():
        if not isinstance(bounds, list) or len(bounds) != 5 or not all(type(bound) is int for bound in bounds):
            raise folder.damaged(f"its block {name[:80]!r} has no proper columns and features")
        columns, features, steady = slice(*bounds[:2]), slice(*bounds[2:4]), bounds[4]
        ordered = columns.start == column <= columns.stop and features.start == feature <= features.stop
        if not ordered or not 0 <= steady <= features.stop - features.start:
            raise folder.damaged("its blocks do not stand side by side")
        spans[name] = Span(name, columns, features, steady)
        column, feature = columns.stop, features.stop
    if [column, feature] != [table.shape[1] for table in tables]:
        raise folder.damaged("its blocks do not fit its columns")
    return spans
