"""Count files to tables and back: lines `w1 w2 ... wn<TAB>count`, the shape of Google's collections and of SRILM.

Files may be plain or packed, in any number and sequence, and hold any orders; the order of a line is its number of
words. `<S>`, `</S>` and `<UNK>`, as the Web 1T collection writes them, mean `<s>`, `</s>` and `<unk>`. An n-gram that
stands on several lines has the sum of their counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from modlm.errors import InputError
from modlm.formats import count_kernels as kernels
from modlm.formats import write_kernels
from modlm.formats.arpa.header import MAX_ORDER
from modlm.formats.lines import Lines, open_lines, shown
from modlm.formats.output import RowWriter, text_output
from modlm.formats.row_order import group_starts, sorting
from modlm.ground.arrays import Ids, Ints
from modlm.ground.progress import progress
from modlm.text import text_kernels
from modlm.text.vocabulary import UNKNOWN, Vocabulary
from modlm.text.word_table import PROVISIONAL, WordTable

ALIASES = tuple(name.upper() for name in PROVISIONAL)
BLOCK_ROWS = 1 << 18
RULE = "A line is the words of an n-gram with spaces between, one tab, and its count, a positive whole number."


@dataclass(frozen=True, slots=True)
class CountRows:
    """The n-grams of one order, M of them, sorted by word ids, all different."""

    ngrams: Ids
    """(M, n) word ids; J is `<s>`."""
    counts: Ints
    smallest: int
    """The smallest count on any line; above 1, the collection was probably cut off below it. 0 without lines."""

    def __len__(self) -> int:
        return len(self.counts)


@dataclass(frozen=True, slots=True)
class CountTables:
    """Counts of n-grams as their files have them."""

    vocabulary: Vocabulary
    orders: tuple[CountRows, ...]
    """orders[n - 1] holds the n-grams of order n; it is empty if no line has n words."""

    @property
    def max_order(self) -> int:
        return len(self.orders)


def read_counts(paths: str | Path | Iterable[str | Path], *, vocabulary: Vocabulary | None = None) -> CountTables:
    """The counts in these files.

    Without a vocabulary, it is the words of the unigrams by falling count, or, if there are no unigrams, all words.
    Words outside it are counted as `<unk>`.
    """
    files = [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]
    if not files:
        raise InputError("No count files were given. Name at least one.")
    reader = _Reader()
    for path in files:
        reader.read(path)
    return reader.tables(vocabulary, files)


class _Reader:
    """What has been read so far, in places of the growing table of words."""

    def __init__(self) -> None:
        self.words = WordTable((*PROVISIONAL, *ALIASES))
        self.ngrams: dict[int, list[Ids]] = {}
        self.counts: dict[int, list[Ints]] = {}
        self._flat = np.empty(4 * BLOCK_ROWS, np.uint32)
        self._orders = np.empty(BLOCK_ROWS, np.int64)
        self._counts = np.empty(BLOCK_ROWS, np.int64)

    def read(self, path: Path) -> None:
        with open_lines(path) as lines, progress(f"Reading {path}", total=lines.size, unit="bytes") as bar:
            while lines.more():
                before = lines.at
                self._take(lines)
                bar.advance(lines.at - before)

    def _take(self, lines: Lines) -> None:
        words = self.words
        known = len(words)
        at, taken, rows, used, code, place = kernels.read_count_lines(
            lines.text, lines.at, lines.end,
            words.blob, words.offsets, words.table, words.counts, words.state,
            self._flat, self._orders, self._counts,
        )  # fmt: skip
        self._check_utf8(lines, known)
        self._keep(rows, used)
        lines.skip(at - lines.at, lines=taken)
        if code == kernels.NO_ROOM:
            if words.state[text_kernels.WANTED]:
                words.make_room(len(words) + 1, int(words.state[text_kernels.WANTED]))
        elif code != kernels.END_OF_BLOCK:
            raise lines.fail(_line_error(code, lines.text[at : lines.end], place - at))

    def _keep(self, rows: int, used: int) -> None:
        """Sort the rows of a block by order."""
        orders, counts, flat = self._orders[:rows], self._counts[:rows], self._flat[:used]
        starts = np.cumsum(orders) - orders
        for order in np.unique(orders).tolist():
            here = orders == order
            self.ngrams.setdefault(order, []).append(flat[starts[here][:, None] + np.arange(order)])
            self.counts.setdefault(order, []).append(counts[here])

    def _check_utf8(self, lines: Lines, known: int) -> None:
        words = self.words
        new = words.blob[words.offsets[known] : words.offsets[len(words)]].tobytes()
        try:
            new.decode()
        except UnicodeDecodeError as error:
            start = new.rfind(b"\n", 0, error.start) + 1
            word = new[start : new.index(b"\n", start)]
            before = lines.text[lines.at : lines.end].tobytes().partition(word)[0]
            raise lines.fail(
                f"byte 0x{new[error.start]:02x} is not valid UTF-8. Count files must be UTF-8; convert an older one "
                "with, say: iconv -f LATIN1 -t UTF-8",
                line=lines.line + before.count(b"\n"),
            ) from error

    def tables(self, vocabulary: Vocabulary | None, files: Sequence[Path]) -> CountTables:
        """Everything that was read, in the ids of the vocabulary."""
        if not self.ngrams:
            raise InputError(f"no counts are there, the file is empty. {RULE}", path=files[0])
        if vocabulary is None:
            vocabulary, id_of = self._own_vocabulary()
        else:
            words, id_of = self.words, np.empty(len(self.words), np.uint32)
            known = vocabulary.kernel_tables()
            text_kernels.map_words(words.blob, words.offsets[: len(words) + 1], *known, UNKNOWN, id_of)
            id_of[PROVISIONAL.index("<s>")] = vocabulary.start
        orders = []
        for order in range(1, max(self.ngrams) + 1):
            if order not in self.ngrams:
                orders.append(CountRows(np.zeros((0, order), np.uint32), np.zeros(0, np.int64), 0))
                continue
            ngrams = id_of[np.concatenate(self.ngrams.pop(order))]
            counts = np.concatenate(self.counts.pop(order))
            smallest = int(counts.min())
            orders.append(CountRows(*_summed(ngrams, counts, vocabulary.start, files[0]), smallest))
        return CountTables(vocabulary, tuple(orders))

    def _own_vocabulary(self) -> tuple[Vocabulary, Ids]:
        """From the unigrams, or all words by the counts of the lowest order."""
        words = self.words
        if 1 not in self.ngrams:
            lowest = min(self.ngrams)
            for ngrams, counts in zip(self.ngrams[lowest], self.counts[lowest], strict=True):
                weights = np.bincount(ngrams.ravel(), np.repeat(counts.astype(float), lowest), len(words))
                words.counts[: len(words)] += np.minimum(weights, 2**40).astype(np.int64)
            for order in self.ngrams.keys() - {lowest}:
                for ngrams in self.ngrams[order]:
                    seen = np.unique(ngrams)
                    words.counts[seen] = np.maximum(words.counts[seen], 1)
        lines, id_of, _ = words.ordered(max_words=None, min_count=1)
        return Vocabulary(lines), id_of


def _summed(ngrams: Ids, counts: Ints, largest_id: int, path: Path) -> tuple[Ids, Ints]:
    """The different rows in the order of their ids, with the sums of their counts."""
    rows = sorting(ngrams, largest_id)
    ngrams, counts = ngrams[rows], counts[rows]
    first = group_starts(ngrams)
    if len(first) == len(ngrams):
        return ngrams, counts
    if np.add.reduceat(counts.astype(float), first).max() >= 2.0**63:
        raise InputError(
            f"the counts of one {ngrams.shape[1]}-gram add up to more than 2^63 - 1, which no real text reaches. "
            "Check the files for damaged lines.",
            path=path,
        )
    return ngrams[first], np.add.reduceat(counts, first)


def _line_error(code: int, rest: np.ndarray, place: int) -> str:
    line = rest[: int(np.argmax(rest == ord("\n")))].tobytes()
    field = line[place:].partition(b"\t")[0].rstrip()
    return {
        kernels.NO_TAB: f"no tab in {shown(line)}. {RULE}",
        kernels.NO_WORDS: f"no words before the tab in {shown(line)}. {RULE}",
        kernels.TOO_MANY_WORDS: f"more than {MAX_ORDER} words before the tab. {RULE}",
        kernels.CONTROL: "a NUL, vertical tab or form feed character. No word may hold one; is this a text file?",
        kernels.START_INSIDE: f"<s> after another word in {shown(line)}. <s> can stand only at the start of an n-gram.",
        kernels.BAD_COUNT: f"the count is {shown(field)}. {RULE}",
        kernels.ZERO: f"the count is 0. {RULE} Leave out n-grams that do not occur.",
        kernels.TOO_LARGE: f"the count {shown(field)} is too large, alone or with other lines: at most 2^63 - 1.",
        kernels.EXTRA: (
            f"more than one tab in {shown(line)}. {RULE} Counts by year, as in Google Books, must be added up first."
        ),
    }[code]


def write_counts(
    path: str | Path, vocabulary: Vocabulary, orders: Iterable[tuple[Ids, Ints]], *, overwrite: bool = True
) -> None:
    """Write n-grams with their counts, piece by piece, as `read_counts` reads them; gzip if the name ends in .gz."""
    with text_output(Path(path), overwrite=overwrite) as stream:
        writer = RowWriter(stream, vocabulary)
        for ngrams, counts in orders:
            rows, numbers = np.ascontiguousarray(ngrams, np.uint32), np.ascontiguousarray(counts, np.int64)
            assert len(rows) == len(numbers) and (len(rows) == 0 or numbers.min() > 0)
            writer.write(rows, partial(write_kernels.write_count_rows, rows, numbers))
