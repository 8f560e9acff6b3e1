"""`TextRows`: what training sees of a text, in memory or memory-mapped in a folder.

A folder holds `ids.npy`, `starts.npy`, `log_probs.npy`, `features.npy` and `rows.json`, which lists them with their
sizes and sums. It is written aside and renamed, so a folder that has its name is whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from modlm.arrays import Bools, Ids, Ints, in_parallel
from modlm.blocks.block import Block, ColumnLayout
from modlm.files import new_folder
from modlm.store.folder import ARRAY, Folder, open_folder
from modlm.store.manifest import Verify, write_manifest
from modlm.store.npy import AnyArray, new_npy, record_of, write_npy
from modlm.text.corpus import Corpus

KIND = "rows"
VERSION = 2

Singles = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class BlockRows:
    """Which columns and features of the rows a block has, as half-open ranges."""

    columns: tuple[int, int]
    features: tuple[int, int]
    steady: int = 0
    """How many of the features, the first ones, are the same after every context."""


@dataclass(frozen=True, slots=True, eq=False)
class TextRows:
    """A text as training reads it. T counts all ids; at `<s>`, never predicted, log rows and features are 0."""

    ids: Ids
    """`<s> w … </s>` for each sentence, one behind the other."""
    starts: Ints
    """Where each sentence begins, and behind them the length of `ids`."""
    log_probs_TC: Singles
    """Natural log of the word's probability in each count column, -inf where it is 0."""
    features_TF: Singles
    """Features of the context, as the blocks give them."""
    blocks: dict[str, BlockRows]
    """The count blocks by name, in the order of their columns."""
    folder: Path | None = None
    """Where the arrays are mapped from, if they are."""

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, verify: Verify = "fast") -> TextRows:
        """Rows from their folder, memory-mapped; "full" reads every byte and compares it with what was written."""
        return _rows_in(open_folder(folder, kind=KIND, verify=verify, version=VERSION))

    @property
    def sentences(self) -> int:
        """How many sentences there are."""
        return len(self.starts) - 1

    @property
    def predictions(self) -> int:
        """Every word and every `</s>`."""
        return len(self.ids) - self.sentences

    @property
    def bytes(self) -> int:
        """What all arrays take."""
        return sum(array.nbytes for array in self._arrays().values())

    @property
    def steady_F(self) -> Bools:
        """True for the features that are the same after every context."""
        steady_F = np.zeros(self.features_TF.shape[1], np.bool_)
        for block in self.blocks.values():
            steady_F[block.features[0] : block.features[0] + block.steady] = True
        return steady_F

    def part(self, name: str) -> tuple[Singles, Singles]:
        """A block's log probabilities and features, as views."""
        block = self.blocks[name]
        return self.log_probs_TC[:, slice(*block.columns)], self.features_TF[:, slice(*block.features)]

    def _arrays(self) -> dict[str, AnyArray]:
        return {
            "ids": self.ids, "starts": self.starts, "log_probs": self.log_probs_TC, "features": self.features_TF,
        }  # fmt: skip


@contextmanager
def new_rows(corpus: Corpus, blocks: Mapping[str, Block], folder: str | os.PathLike[str] | None) -> Iterator[TextRows]:
    """Rows to be filled, of a text and with the columns of these blocks; a folder gets its name when the block ends."""
    shapes = _spans(blocks)
    columns = sum(len(block.columns) for block in blocks.values())
    features = sum(len(block.features) for block in blocks.values())
    length = len(corpus.ids)
    if folder is None:
        yield TextRows(
            np.asarray(corpus.ids), corpus.starts, np.empty((length, columns), np.float32),
            np.empty((length, features), np.float32), shapes,
        )  # fmt: skip
        return
    with new_folder(Path(folder), overwrite=True) as place:
        made = TextRows(
            np.asarray(corpus.ids), corpus.starts,
            new_npy(place / f"log_probs{ARRAY}", dtype=np.float32, shape=(length, columns)),
            new_npy(place / f"features{ARRAY}", dtype=np.float32, shape=(length, features)), shapes,
        )  # fmt: skip
        yield made
        _write(place, made)


def _spans(blocks: Mapping[str, Block]) -> dict[str, BlockRows]:
    return {
        name: BlockRows(
            (span.columns.start, span.columns.stop), (span.features.start, span.features.stop), blocks[name].steady
        )
        for name, span in ColumnLayout(blocks).spans.items()
    }


def _write(place: Path, made: TextRows) -> None:
    """All that is not there yet: the tables were filled through their maps."""
    writers = {"ids": write_npy, "starts": write_npy, "log_probs": record_of, "features": record_of}
    arrays = {f"{name}{ARRAY}": (writers[name], array) for name, array in made._arrays().items()}
    records = in_parallel([partial(write, place / name, array) for name, (write, array) in arrays.items()])
    about = {"blocks": {name: [*block.columns, *block.features, block.steady] for name, block in made.blocks.items()}}
    write_manifest(place, kind=KIND, about=about, files=dict(zip(arrays, records, strict=True)), version=VERSION)


def _rows_in(folder: Folder) -> TextRows:
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
    return TextRows(ids, starts, tables[0], tables[1], _blocks_in(folder, tables), folder.path)


def _blocks_in(folder: Folder, tables: list[AnyArray]) -> dict[str, BlockRows]:
    listed, blocks = folder.about.get("blocks"), {}
    column = feature = 0
    for name, bounds in listed.items() if isinstance(listed, dict) else ():
        if not isinstance(bounds, list) or len(bounds) != 5 or not all(type(bound) is int for bound in bounds):
            raise folder.damaged(f"its block {name[:80]!r} has no proper columns and features")
        blocks[name] = BlockRows((bounds[0], bounds[1]), (bounds[2], bounds[3]), bounds[4])
        beside = (bounds[0], bounds[2]) == (column, feature) and bounds[1] >= column and bounds[3] >= feature
        if not beside or not 0 <= bounds[4] <= bounds[3] - bounds[2]:
            raise folder.damaged("its blocks do not stand side by side")
        column, feature = bounds[1], bounds[3]
    if [column, feature] != [table.shape[1] for table in tables]:
        raise folder.damaged("its blocks do not fit its columns")
    return blocks
