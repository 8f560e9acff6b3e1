"""A vocabulary in the making: words get provisional ids as they are first seen, and are counted.

Each thread that reads text has a table of its own. At the end the tables are merged and the words ordered by falling
count, ties by their UTF-8 bytes, so that neither threads nor blocks leave a trace in the result.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from modlm.ground.arrays import Bytes, Ids, Ints
from modlm.text import text_kernels as kernels
from modlm.text.sources import PADDING
from modlm.text.word_list import END_NAME, HEADER, START_NAME, UNKNOWN_NAME

PROVISIONAL = (UNKNOWN_NAME, END_NAME, START_NAME)
FIRST_WORD = len(PROVISIONAL)
WORDS = 1 << 15  # room in a new table; it grows


class WordTable:
    """A growing hash table of words; the arrays are those of `text_kernels`."""

    def __init__(self, names: Sequence[str] = PROVISIONAL) -> None:
        """With these words to begin with."""
        lines = "".join(f"{name}\n" for name in names).encode()
        self.blob: Bytes = np.zeros(8 * WORDS, np.uint8)
        self.blob[: len(lines)] = np.frombuffer(lines, np.uint8)
        self.offsets: Ints = np.zeros(WORDS + 1, np.int64)
        self.offsets[1 : len(names) + 1] = np.cumsum([len(name) + 1 for name in names])
        self.counts: Ints = np.zeros(WORDS, np.int64)
        self.table: kernels.Table = np.zeros(0, np.uint64)
        self.state: Ints = np.zeros(kernels.STATE, np.int64)
        self.state[kernels.TYPES], self.state[kernels.FILLED] = len(names), len(lines)
        self._rebuild(WORDS)

    def __len__(self) -> int:
        return int(self.state[kernels.TYPES])

    def _rebuild(self, words: int) -> None:
        self.table = np.zeros(1 << (2 * words - 1).bit_length(), np.uint64)
        kernels.build_table(self.blob, self.offsets[: len(self) + 1], self.table)

    def make_room(self, words: int, size: int) -> None:
        """Let the table hold this many words and their bytes; at least doubles what has to grow."""
        if words >= len(self.offsets):
            more = max(words, 2 * len(self.counts))
            self.offsets = np.pad(self.offsets, (0, more + 1 - len(self.offsets)))
            self.counts = np.pad(self.counts, (0, more - len(self.counts)))
            self._rebuild(more)
        if size + PADDING > len(self.blob):
            self.blob = np.pad(self.blob, (0, max(size + PADDING - len(self.blob), len(self.blob))))

    def encode(self, data: Bytes, size: int, unknown_name: bool, out: Ids, state: Ints) -> int:
        """See `text_kernels.collect_lines`; makes room where there is none."""
        while True:
            tables = self.blob, self.offsets, self.table, self.counts
            status = kernels.collect_lines(*tables, data, size, unknown_name, out, state)
            if status != kernels.FULL:
                return status
            self.make_room(len(self) + 1, int(state[kernels.WANTED]))

    def absorb(self, other: WordTable) -> Ids:
        """Add the words and counts of another table; for each of its ids the id here."""
        self.make_room(len(self) + len(other), int(self.state[kernels.FILLED] + other.state[kernels.FILLED]))
        mapping = np.empty(len(other), np.uint32)
        theirs = other.blob, other.offsets[: len(other) + 1], other.counts
        kernels.absorb_words(*theirs, self.blob, self.offsets, self.table, self.counts, self.state, mapping)
        return mapping

    def ordered(self, *, max_words: int | None, min_count: int) -> tuple[bytes, Ids, int]:
        """The lines of the final vocabulary file; for each provisional id the final one; how many words are unknown.

        Words cut off by `max_words` or `min_count` become unknown, as `<unk>` in the text is.
        """
        counts = self.counts[: len(self)]
        kept = np.flatnonzero(counts >= min_count)
        kept = self._sorted(kept[kept >= FIRST_WORD])[:max_words]
        final = np.zeros(len(self), np.uint32)
        final[1] = 1
        final[2] = len(kept) + 2
        final[kept] = np.arange(2, len(kept) + 2)
        lengths = self.offsets[kept + 1] - self.offsets[kept]
        lines = np.empty(int(lengths.sum()), np.uint8)
        kernels.gather_words(self.blob, self.offsets, kept, lines)
        return HEADER + lines.tobytes(), final, int(counts[final == 0].sum())

    def _sorted(self, words: Ints) -> Ints:
        """By falling count, then by bytes: the first eight at once, and Python for the words that agree in those."""
        starts, lengths = self.offsets[words], self.offsets[words + 1] - self.offsets[words] - 1
        prefixes = np.zeros((len(words), 8), np.uint8)
        for i in range(8):
            prefixes[:, i] = np.where(i < lengths, self.blob[starts + i], 0)
        keys, counts = prefixes.view(">u8").ravel().astype(np.uint64), self.counts[words]
        order = np.lexsort((keys, -counts))
        words, keys, counts = words[order], keys[order], counts[order]
        changes = np.flatnonzero((keys[1:] != keys[:-1]) | (counts[1:] != counts[:-1])) + 1
        bounds = np.concatenate(([0], changes, [len(words)]))
        blob = self.blob.tobytes()
        for place in np.flatnonzero(np.diff(bounds) > 1):
            tied = slice(bounds[place], bounds[place + 1])
            words[tied] = sorted(words[tied], key=lambda word: blob[self.offsets[word] : self.offsets[word + 1] - 1])
        return words


def merged(tables: list[WordTable]) -> tuple[WordTable, list[Ids]]:
    """The first table with all others added, and for each table the map from its ids to those."""
    whole, *rest = tables
    maps = [whole.absorb(other) for other in rest]
    return whole, [np.arange(len(whole), dtype=np.uint32), *maps]
