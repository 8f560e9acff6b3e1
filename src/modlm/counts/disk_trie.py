"""A trie that grows in files, from sorted windows to the mapped arrays of the result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from modlm.counts import disk_kernels
from modlm.counts.counts import MOST, Frequencies
from modlm.counts.disk_runs import OUT_ROWS, RowsUK, packing
from modlm.counts.linking import link_suffixes
from modlm.counts.trie import Trie
from modlm.store.npy import AnyArray, NpyWriter, forget, new_npy, open_npy

PIECE = 1 << 20  # entries copied at a time


class TrieWriter:
    """Takes sorted windows, gives a trie. Each order's words, first followers and frequencies gather in files.

    A window may come several times in a row. With `frequencies_only` nothing else is kept, for a trie that is known.
    """

    def __init__(self, folder: Path, *, order: int, vocab_size: int, frequencies_only: bool = False) -> None:
        self.folder, self.order, self.vocab_size = folder, order, vocab_size
        self.frequencies_only = frequencies_only
        self.bits, _ = packing(order, vocab_size)
        self.window, self.nodes = np.zeros((2, order + 2), dtype=np.int64)
        self.total = np.zeros(order + 2, dtype=np.uint64)
        self.unigrams, self.unigram_first = np.zeros((2, vocab_size + 1), dtype=np.uint64)
        self.words_NU = np.empty((order + 1, OUT_ROWS), dtype=np.uint32)
        self.first_NU = np.empty((order + 1, OUT_ROWS), dtype=np.uint64)
        self.frequencies_NU = np.empty((order + 1, OUT_ROWS + 1), dtype=np.uint64)
        self.largest = 0
        self._stack = ExitStack()
        self._streams: dict[tuple[str, int], BinaryIO] = {}
        for name in ("frequencies",) if frequencies_only else ("words", "first", "frequencies"):
            for n in range(2, order + 1):
                self._streams[name, n] = self._stack.enter_context(self._path(name, n).open("wb"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def _path(self, name: str, order: int) -> Path:
        return self.folder / f"{name}-{order}"

    def append(self, rows_UK: RowsUK) -> None:
        opened, closed = np.zeros((2, self.order + 1), dtype=np.int64)
        disk_kernels.read_off(
            rows_UK, self.order, self.bits, self.vocab_size, self.window, self.total, self.nodes, self.unigrams,
            self.unigram_first, self.words_NU, self.first_NU, self.frequencies_NU, opened, closed,
        )  # fmt: skip
        for n in range(2, self.order + 1):
            if not self.frequencies_only:
                self._streams["words", n].write(self.words_NU[n, : opened[n]].data)
                self._streams["first", n].write(self.first_NU[n, : opened[n]].data)
            self._write_frequencies(n, self.frequencies_NU[n, : closed[n]])

    def _write_frequencies(self, order: int, frequencies: NDArray[np.uint64]) -> None:
        self._streams["frequencies", order].write(frequencies.data)
        self.largest = max(self.largest, int(frequencies.max(initial=0)))

    def finish(self, *, workers: int | None = None) -> tuple[Trie, Frequencies]:
        """End the last n-grams, join the orders, link the suffixes; the arrays are mapped.

        Where 32 bits do not tell all n-grams apart, links have 64.
        """
        levels = self._ended()
        link = "<u8" if levels[-1] > MOST else "<u4"
        words = self._join("words", "<u4", [np.zeros(1), np.arange(self.vocab_size + 1)])
        wide = max(self.largest, int(self.unigrams.max())) > MOST
        frequencies = self._join("frequencies", "<u8" if wide else "<u4", [np.zeros(1), self.unigrams])
        unigram_first = [self.unigram_first + np.uint64(levels[2])] if self.order > 1 else []
        first = self._join("first", link, [np.ones(1), *unigram_first], levels)
        path = self.folder / "suffix.npy"
        suffix = new_npy(path, dtype=link, shape=(levels[-1],))

        def pause() -> None:
            for array in (words, first, suffix):
                forget(array)

        link_suffixes(words, first, np.asarray(suffix), levels, workers=workers, pause=pause)
        suffix = open_npy(path, dtype=link, shape=(levels[-1],))
        return Trie(words, first, suffix, levels), frequencies

    def finish_frequencies(self, dtype: np.dtype[Any]) -> Frequencies:
        """The frequencies alone, in the dtype of those of the whole."""
        self._ended()
        return self._join("frequencies", dtype.str, [np.zeros(1), self.unigrams])

    def _ended(self) -> tuple[int, ...]:
        """End the last n-grams; the levels of the trie."""
        for n in range(2, self.order + 1):
            if self.window[n] > 0:
                self._write_frequencies(n, self.total[n : n + 1])
        self.unigram_first[self.window[1] :] = self.nodes[2]
        self._stack.close()
        sizes = np.cumsum([0, *self.nodes[2 : self.order + 1]])
        return (0, 1, *(int(level) for level in self.vocab_size + 2 + sizes))

    def _join(self, name: str, dtype: str, start: list[NDArray[Any]], levels: tuple[int, ...] = ()) -> AnyArray:
        """All orders in one file; with levels they are first followers, counted from the order's first n-gram."""
        with NpyWriter(self.folder / f"{name}.npy", dtype) as writer:
            for part in start:
                writer.append(part)
            for n in range(2, self.order if levels else self.order + 1):
                for piece in self._pieces(name, n):
                    writer.append(piece + np.uint64(levels[n + 1]) if levels else piece)
            writer.append(np.array(levels[-1:]))
            return writer.finish()

    def _pieces(self, name: str, order: int) -> Iterator[NDArray[Any]]:
        """An order's file, piece by piece; it is removed afterwards."""
        dtype = np.dtype("<u4" if name == "words" else "<u8")
        with self._path(name, order).open("rb") as stream:
            while data := stream.read(PIECE * dtype.itemsize):
                yield np.frombuffer(data, dtype)
        self._path(name, order).unlink()
