"""Text files written in bulk: aside, packed when the name says so, words looked up in one array of bytes."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from modlm.arrays import Bytes, Ids, Ints
from modlm.errors import require
from modlm.files import new_file
from modlm.formats import write_kernels
from modlm.text.vocabulary import START_NAME, Vocabulary

BUFFER_BYTES = 1 << 22
GZIP_LEVEL = 6  # twice as fast as the highest for a few per cent


def _zstandard(stream: BinaryIO) -> Any:
    packer = require("zstandard", extra="scale", purpose="Writing zstandard files").ZstdCompressor()
    return packer.stream_writer(stream, closefd=False)


PACKERS: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": lambda stream: gzip.GzipFile("", "wb", GZIP_LEVEL, stream, mtime=0),
    ".bz2": lambda stream: bz2.BZ2File(stream, "wb"),
    ".xz": lambda stream: lzma.LZMAFile(stream, "wb"),  # noqa: SIM115
    ".zst": _zstandard,
}


@contextmanager
def text_output(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """A stream whose file gets its name when the block ends well; packed as the end of its name says."""
    with new_file(path, overwrite=overwrite) as aside, aside.open("wb") as stream:
        if path.suffix not in PACKERS:
            yield cast(BinaryIO, stream)
            return
        with PACKERS[path.suffix](cast(BinaryIO, stream)) as packed:
            yield cast(BinaryIO, packed)


class RowWriter:
    """Writes rows of word ids through a kernel; its buffer is reused."""

    def __init__(self, stream: BinaryIO, vocabulary: Vocabulary) -> None:
        lines, offsets, _ = vocabulary.kernel_tables()
        start = f"{START_NAME}\n".encode()
        self.stream, self.vocabulary = stream, vocabulary
        self.blob: Bytes = np.concatenate([lines[: offsets[-1]], np.frombuffer(start, np.uint8)])
        self.offsets: Ints = np.append(offsets, offsets[-1] + len(start))
        self.buffer: Bytes = np.empty(BUFFER_BYTES, np.uint8)

    def write(
        self,
        ngrams: Ids,
        rows: Callable[[int, Bytes, Ints, Bytes], tuple[int, int, int]],
        odd_row: Callable[[int], bytes],
    ) -> None:
        """All rows: `rows(row, blob, offsets, buffer)` is a bound kernel; what it leaves is `odd_row`'s."""
        assert ngrams.size == 0 or ngrams.max() <= self.vocabulary.start, "ids of another vocabulary"
        row, end = 0, -1
        while end != write_kernels.ALL_WRITTEN:
            row, size, end = rows(row, self.blob, self.offsets, self.buffer)
            self.stream.write(self.buffer[:size].data)
            if end == write_kernels.ODD_NUMBER:
                self.stream.write(odd_row(row))
                row += 1
            elif end != write_kernels.ALL_WRITTEN and size == 0:  # a single row that is longer than the buffer
                self.buffer = np.empty(2 * len(self.buffer), np.uint8)
