"""The working folder: Parquet tables that jobs leave for one another and for the program that asked.

It must lie where every machine of the cluster sees it. Each table's rows are counted as they are written and again as
they are seen from here, so that a folder which only looks shared is found out.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modlm.counts.spark.watching import watched
from modlm.errors import EngineError
from modlm.ground.files import scratch_folder

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}  # what pyarrow calls the file systems of Hadoop


def has_scheme(path: str) -> bool:
    """Whether it is a URL and not the name of a local file."""
    return SCHEME.match(path) is not None


class Store:
    """Tables by name."""

    def __init__(self, session: SparkSession, root: str) -> None:
        from pyarrow import fs

        self.session, self.root = session, root
        scheme = SCHEME.match(root)
        if scheme is None:
            self._files, self._place = fs.LocalFileSystem(), root
        else:
            self._files, self._place = fs.FileSystem.from_uri(SAME.get(scheme[1], scheme[1]) + root[len(scheme[1]) :])

    def write(self, name: str, frame: DataFrame, *, title: str) -> None:
        from pyspark.sql import Observation, functions

        rows = Observation()
        with watched(self.session, title):
            frame.observe(rows, functions.count(functions.lit(1)).alias("rows")).write.parquet(self._url(name))
            wrote = int(rows.get.get("rows", 0))
        seen = sum(self._open(file).metadata.num_rows for file in self._parts(name))
        if seen != wrote:
            raise EngineError(
                f"The jobs wrote {wrote:,} rows into the working folder {self.root}, but {seen:,} are seen "
                f"from here. Choose a folder with --temporary that every machine of the cluster sees, such as one on "
                f"NFS, hdfs:// or s3://."
            )

    @contextmanager
    def writer(self, name: str, schema: pyarrow.Schema) -> Iterator[Any]:
        """A `ParquetWriter` of pyarrow for a table that comes from here."""
        from pyarrow import parquet

        self._files.create_dir(f"{self._place}/{name}")
        path = f"{self._place}/{name}/part-00000.parquet"
        with parquet.ParquetWriter(path, schema, filesystem=self._files, compression="zstd") as writer:
            yield writer

    def read(self, name: str) -> DataFrame:
        return self.session.read.parquet(self._url(name))

    def batches(self, name: str, columns: list[str], *, rows: int) -> Iterator[pyarrow.RecordBatch]:
        """A table from its first part to its last, in pieces of up to so many rows."""
        for file in self._parts(name):
            yield from self._open(file).iter_batches(rows, columns=columns)

    def drop(self, name: str) -> None:
        """Remove a table that nobody needs any more."""
        self._files.delete_dir(f"{self._place}/{name}")

    def remove(self) -> None:
        self._files.delete_dir(self._place)

    def _url(self, name: str) -> str:
        return f"{self.root}/{name}" if has_scheme(self.root) else f"file://{self.root}/{name}"

    def _parts(self, name: str) -> list[str]:
        from pyarrow import fs

        found = self._files.get_file_info(fs.FileSelector(f"{self._place}/{name}"))
        return sorted(str(file.path) for file in found if str(file.base_name).startswith("part-"))

    def _open(self, file: str) -> Any:
        from pyarrow import parquet

        return parquet.ParquetFile(file, filesystem=self._files)


@contextmanager
def working_store(session: SparkSession, temporary: str | os.PathLike[str] | None) -> Iterator[tuple[Store, Path]]:
    """A store in a new folder inside `temporary`, and a local folder for the arrays; both go away with the block."""
    shared = os.fspath(temporary) if temporary is not None else None
    if shared is None or not has_scheme(shared):
        with scratch_folder(temporary) as folder:
            (folder / "tables").mkdir()
            yield Store(session, str(folder.absolute() / "tables")), folder
        return
    store = Store(session, f"{shared.rstrip('/')}/modlm-{uuid.uuid4().hex}")
    with scratch_folder(None) as folder:
        try:
            yield store, folder
        finally:
            store.remove()
