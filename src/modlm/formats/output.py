"""Text files written in bulk: aside, packed when the name says so, words looked up in one array of bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from modlm.formats import write_kernels
from modlm.ground.arrays import Bytes, Ids, Ints
from modlm.ground.files import new_file
from modlm.text.packing import PACKINGS
from modlm.text.vocabulary import START_NAME, Vocabulary

BUFFER_BYTES = 1 << 22


@contextmanager
def text_output(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """A stream whose file gets its name when the block ends well; packed as the end of its name says."""
    with new_file(path, overwrite=overwrite) as aside, aside.open("wb") as stream:
        for packing in PACKINGS:
            if packing.ending == path.suffix:
                with packing.writer(cast(BinaryIO, stream)) as packed:
                    yield packed
                return
        yield cast(BinaryIO, stream)


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
        odd_row: Callable[[int], bytes] | None = None,
    ) -> None:
        """All rows: `rows(row, blob, offsets, buffer)` is a bound kernel; what it leaves is `odd_row`'s."""
        assert ngrams.size == 0 or ngrams.max() <= self.vocabulary.start, "ids of another vocabulary"
        row, end = 0, -1
        while end != write_kernels.ALL_WRITTEN:
            row, size, end = rows(row, self.blob, self.offsets, self.buffer)
            self.stream.write(self.buffer[:size].data)
            if end == write_kernels.ODD_NUMBER:
                assert odd_row is not None
                self.stream.write(odd_row(row))
                row += 1
            elif end != write_kernels.ALL_WRITTEN and size == 0:  # a single row that is longer than the buffer
                self.buffer = np.empty(2 * len(self.buffer), np.uint8)
