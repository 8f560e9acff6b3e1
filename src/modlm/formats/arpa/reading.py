"""ARPA files to tables: bytes in, word ids and log10 numbers per order out.

Read are the files of SRILM, KenLM, IRSTLM and the CMU toolkit: text before `\\data\\` and after `\\end\\` is skipped,
tabs or spaces separate fields, lines may end with a carriage return, blank lines may stand between rows. `<unk>` (or
`<UNK>` if there is no `<unk>`), `</s>` and `<s>` get their reserved ids; other words are numbered in file order.
Everything else that departs from the format is an `InputError` with file, line, rule and way out.

`<s>` may be missing (then no context holds it) and so may `<unk>`; without `</s>` no sentence has a probability, so it
must be there. A sequence of `<s>` may begin an n-gram, as in models that pad the left edge. N-grams that are there
twice or without their context are found by whoever puts the rows in order (`model.ngram.arpa`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from modlm.errors import InputError
from modlm.formats.arpa import row_kernels as kernels
from modlm.formats.arpa.header import TOLERANCE, check_size, expect_mark, read_announced
from modlm.formats.arpa.row_errors import row_error
from modlm.formats.lines import Lines, open_lines, shown
from modlm.ground.arrays import Floats, Ids, Ints
from modlm.ground.progress import Progress, progress
from modlm.text import text_kernels
from modlm.text.vocabulary import END, UNKNOWN, Vocabulary
from modlm.text.word_list import HEADER
from modlm.text.word_table import FIRST_WORD, PROVISIONAL, WordTable

UPPER_UNKNOWN_NAME = "<UNK>"
START_INDEX = PROVISIONAL.index("<s>")  # of <s> in a table of words
FIRST_ROOM = 1 << 16  # rows to begin with where the file's size tells nothing


@dataclass(frozen=True, slots=True)
class ArpaOrder:
    """The n-grams of one order, M of them, in file order."""

    ngrams: Ids
    """(M, n) word ids, the predicted word last."""
    log10_probs: Floats
    log10_backoffs: Floats
    """0 where the file has none."""
    line_starts: tuple[tuple[int, int], ...] = ()
    """(row, line) pairs: from that row on, rows stand on successive lines of the file."""

    def __len__(self) -> int:
        return len(self.log10_probs)

    def line(self, row: int) -> int:
        """The line of the file on which a row stands; 0 if the rows come from no file."""
        before = [pair for pair in self.line_starts if pair[0] <= row]
        return before[-1][1] + row - before[-1][0] if before else 0


@dataclass(frozen=True, slots=True)
class ArpaTables:
    """A back-off model as its file has it: orders[n - 1] holds the n-grams of order n."""

    vocabulary: Vocabulary
    orders: tuple[ArpaOrder, ...]
    has_unknown: bool
    """Whether the file gives `<unk>` a probability."""
    has_start: bool
    """Whether the file knows `<s>`."""
    path: Path

    @property
    def max_order(self) -> int:
        return len(self.orders)


def read_arpa(path: str | Path) -> ArpaTables:
    """The tables of an ARPA file, plain or compressed."""
    with open_lines(Path(path)) as lines, progress(f"Reading {path}", total=lines.size, unit="bytes") as bar:
        return _Reader(lines, bar).read()


class _Reader:
    """One pass over the file; what has been read so far."""

    def __init__(self, lines: Lines, bar: Progress) -> None:
        self.lines, self.bar = lines, bar
        self.words = WordTable()
        self.id_of: Ids = np.zeros(0, np.uint32)
        """The id of each word of the table."""
        self.has_unknown = False
        self.longs_L3: Ints = np.zeros((4096, 3), np.int64)

    def read(self) -> ArpaTables:
        lines = self.lines
        self.counts = read_announced(lines)
        if lines.size is not None:
            check_size(lines, self.counts, lines.size)
        unigrams = self._section(1)
        vocabulary = self._settle_words(unigrams)
        sections = [unigrams] + [self._section(order) for order in range(2, len(self.counts) + 1)]
        expect_mark(lines, len(self.counts) + 1, self.counts)
        lines.drain()
        orders, has_start = tuple(section.finished() for section in sections), bool(self.words.counts[START_INDEX])
        return ArpaTables(vocabulary, orders, self.has_unknown, has_start, lines.path)

    def _section(self, order: int) -> _Section:
        section = _Section(order, self.counts[order - 1], sure=self.lines.size is not None)
        mark = b"\\%d-grams:" % order
        if section.count or order == 1 or self.lines.peek() == mark:  # without rows it may lack its mark
            expect_mark(self.lines, order, self.counts)
        while section.row < section.count:
            self._rows(section)
        return section

    def _rows(self, section: _Section) -> None:
        """Take rows up to the end of the block, or whatever else needs a decision."""
        lines, words, first, top = self.lines, self.words, section.row, section.order == len(self.counts)
        if not lines.more():
            raise lines.fail(
                rf"the file ends inside \{section.order}-grams:, after {first:,} of {section.count:,} rows. "
                "It is truncated; get it again."
            )
        start_id = int(self.id_of[START_INDEX]) if section.order > 1 else 0
        at, section.row, longs, code, start, end = kernels.read_rows(
            lines.text, lines.at, lines.end, section.count, top,
            words.blob, words.offsets, words.table, words.counts, words.state, self.id_of, start_id,
            section.ngrams, section.probs, section.backoffs, first, self.longs_L3,
        )  # fmt: skip
        known = section.line_starts[-1] if section.line_starts else (0, -1)
        if section.row > first and known[1] + first - known[0] != lines.line:  # else it follows from what is known
            section.line_starts.append((first, lines.line))
        self._read_longs(section, first, longs, top=top)
        self.bar.advance(at - lines.at)
        lines.skip(at - lines.at, lines=section.row - first)
        if code == kernels.NO_ROOM:
            section.make_room()
        elif code == kernels.NO_WORD_ROOM:
            words.make_room(len(words) + 1, int(words.state[text_kernels.WANTED]))
        elif code == kernels.NOT_A_ROW:
            line = lines.peek()  # blank ones are skipped
            if line is not None and line.startswith(b"\\"):
                raise lines.fail(
                    rf"{shown(line)} after {section.row:,} rows of \{section.order}-grams:, but {section.count:,} are "
                    f"announced. Correct 'ngram {section.order}={section.count}', or find where the others were lost."
                )
        elif code not in (kernels.END_OF_BLOCK, kernels.SECTION_FULL):
            raise lines.fail(row_error(code, lines.text[start:end].tobytes(), section.order, top=top))

    def _read_longs(self, section: _Section, first: int, longs: int, *, top: bool) -> None:
        """Numbers that the kernel left to Python: more than 15 digits or so, or very large or small."""
        for place, start, end in self.longs_L3[:longs].tolist():
            row, is_backoff = divmod(place, 2)
            found, code = self.lines.text[start:end].tobytes(), 0
            value = float(found)
            if not np.isfinite(value):
                code = kernels.BAD_BACKOFF if is_backoff else kernels.BAD_PROBABILITY
            elif is_backoff:
                section.backoffs[row] = value
                code = kernels.TOP_BACKOFF if top and value != 0 else 0
            else:
                section.probs[row] = min(value, 0.0)
                code = kernels.POSITIVE if value > TOLERANCE else 0
            if code:
                raise self.lines.fail(
                    row_error(code, found, section.order, top=top), line=self.lines.line + row - first
                )

    def _settle_words(self, unigrams: _Section) -> Vocabulary:
        """The vocabulary; sets the id of every word of the table, and puts ids in the unigrams."""
        words, seen = self.words, self.words.counts
        if not seen[END]:
            raise InputError(
                r"no </s> among the unigrams, so no sentence could ever end. Add a row for it to \1-grams: "
                "('-99<TAB></s>' if it is not to be predicted) and one to 'ngram 1='.",
                path=self.lines.path,
            )
        self._check_utf8(unigrams)
        lines = words.blob[words.offsets[FIRST_WORD] : words.offsets[len(words)]].tobytes()
        self.id_of = np.arange(len(words), dtype=np.uint32) - 1
        self.id_of[:FIRST_WORD] = UNKNOWN, END, 0
        alias = f"\n{UPPER_UNKNOWN_NAME}\n".encode()
        place = -1 if seen[UNKNOWN] else (b"\n" + lines).find(alias)
        if place >= 0:
            index = FIRST_WORD + lines.count(b"\n", 0, place)
            lines = lines[:place] + lines[place + len(alias) - 1 :]
            self.id_of[index + 1 :] -= 1
            self.id_of[index] = UNKNOWN
        self.has_unknown = bool(seen[UNKNOWN]) or place >= 0
        vocabulary = Vocabulary(HEADER + lines)
        self.id_of[START_INDEX] = vocabulary.start
        unigrams.ngrams = self.id_of[unigrams.ngrams]
        return vocabulary

    def _check_utf8(self, unigrams: _Section) -> None:
        words = self.words
        try:
            words.blob[: words.offsets[len(words)]].tobytes().decode()
        except UnicodeDecodeError as error:
            index = np.searchsorted(words.offsets[: len(words)], error.start, side="right") - 1
            row = int(np.flatnonzero(unigrams.ngrams[:, 0] == index)[0])
            raise self.lines.fail(
                f"byte 0x{error.object[error.start]:02x} is not valid UTF-8. ARPA files must be UTF-8; convert an "
                "older one with, say: iconv -f LATIN1 -t UTF-8",
                line=unigrams.finished().line(row),
            ) from error


class _Section:
    """The arrays of one order while they fill."""

    def __init__(self, order: int, count: int, *, sure: bool) -> None:
        self.order, self.count, self.row = order, count, 0
        room = count if sure else min(count, FIRST_ROOM)
        self.ngrams: Ids = np.empty((room, order), np.uint32)
        self.probs: Floats = np.empty(room)
        self.backoffs: Floats = np.empty(room)
        self.line_starts: list[tuple[int, int]] = []

    def make_room(self) -> None:
        """Twice the rows if all are in use, but no more than were announced."""
        room = len(self.probs)
        if self.row < room:
            return
        more = min(room, self.count - room)
        self.probs = np.concatenate([self.probs, np.empty(more)])
        self.backoffs = np.concatenate([self.backoffs, np.empty(more)])
        self.ngrams = np.concatenate([self.ngrams, np.empty((more, self.order), np.uint32)])

    def finished(self) -> ArpaOrder:
        return ArpaOrder(self.ngrams, self.probs, self.backoffs, tuple(self.line_starts))
