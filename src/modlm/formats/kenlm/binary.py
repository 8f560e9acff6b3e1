"""The layout of a KenLM binary file: header and sizes in, the place of every table out.

KenLM writes no offsets: they follow from the kind, the counts and the settings in the header, as its source computes
them. So the sizes are worked out here, compared with the file, and handed to the kernels as a `plan`: one row for the
file and one for each order.

    header │ words by hash │ unigrams │ 2-grams │ … │ highest order │ the words themselves, if they were kept

Two structures: `probing` keeps n-grams in hash tables under a hash of their words, so they can be asked for but not
listed; `trie` keeps them last word first, packed in bits, perhaps with quantised numbers (-q, -b) and with the upper
bits of its pointers in arrays of their own (-a).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from modlm.errors import InputError
from modlm.formats.kenlm import binary_kernels
from modlm.formats.kenlm.plan import (
    BACKOFF_BITS,
    BACKOFF_TABLE,
    BASE,
    BEGIN,
    COLUMNS,
    COUNT,
    END,
    MAX_WORD,
    NEXT_BITS,
    NUMBER_BITS,
    OFFSET_COUNT,
    OFFSETS,
    ORDER,
    PROB_BITS,
    PROB_TABLE,
    STRIDE,
    TRIE_FILE,
    WORD_BITS,
    WORD_COUNT,
    WORD_TABLE,
    WORDS,
    Plan,
)  # fmt: skip
from modlm.formats.kinds import KENLM_MAGIC
from modlm.ground.arrays import Bytes, read_only

MAGIC = KENLM_MAGIC + b" format version 5\n\0"
SANITY = MAGIC.ljust(56, b"\0") + struct.pack("<3f3IQ", 0.0, 1.0, -0.5, 1, 0xFFFFFFFF, 0, 1)
"""What every file begins with: numbers that another kind of machine would write in other bytes."""
FIXED = struct.Struct("<B3xfIB3xI")
KINDS = (
    "probing", "probing with rest costs", "trie", "quantised trie", "trie with array-compressed pointers",
    "quantised trie with array-compressed pointers",
)  # fmt: skip
PROBING, REST, TRIE = 0, 1, 2
QUANTISED, ARRAYS = 1, 2  # added to TRIE
VERSIONS = (0, 0, 1, 1, 1, 1)
QUANT_VERSION, ARRAY_VERSION = 2, 0
AGAIN = "Build it again with KenLM's build_binary, or give the ARPA file that it was built from."
LARGEST = 1 << 57  # of anything; more cannot be packed
MAX_ORDER = 64
START_HASH, END_HASH = np.uint64(0x00758639BD217E70), np.uint64(0x6BE0737DF1F76C0A)  # of <s> and </s>


@dataclass(frozen=True, slots=True)
class Binary:
    """A file, mapped, and where everything is in it."""

    path: Path
    kind: int
    counts: tuple[int, ...]
    """N-grams of each order."""
    data: Bytes
    plan: Plan
    has_words: bool
    words_at: int
    """Where the words themselves begin, if the file has them."""

    @property
    def order(self) -> int:
        """The highest order."""
        return len(self.counts)

    @property
    def is_trie(self) -> bool:
        """Whether its n-grams can be listed."""
        return self.kind >= TRIE

    @property
    def words(self) -> int:
        """How many words it knows, `<unk>` among them."""
        return int(self.plan[0, WORDS])

    def described(self) -> str:
        """The structure in words, with the bits of quantised numbers."""
        row = self.plan[self.order].tolist()
        prob, backoff = row[PROB_BITS], self.plan[2, BACKOFF_BITS] if self.order > 2 else 0
        return KINDS[self.kind] + (f" (-q {prob} -b {backoff})" if self.is_trie and row[PROB_TABLE] else "")


def open_binary(path: Path) -> Binary:
    """The file's layout; an `InputError` with what was found where it is none, damaged or of another version."""
    try:
        size = path.stat().st_size
        data = np.memmap(path, np.uint8, mode="r") if size else np.zeros(0, np.uint8)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}.", path=path) from error
    _check_sanity(data[: len(SANITY)].tobytes(), path)
    fixed = data[len(SANITY) :][: FIXED.size].tobytes()
    if len(fixed) < FIXED.size:
        raise _truncated(path, size, len(SANITY) + FIXED.size)
    order, multiplier, kind, has_words, version = FIXED.unpack(fixed)
    if kind >= len(KINDS) or version != VERSIONS[kind]:
        found = KINDS[kind] if kind < len(KINDS) else f"structure {kind}"
        raise InputError(f"a KenLM binary with {found}, version {version}, which is not known here. {AGAIN}", path=path)
    header = len(SANITY) + FIXED.size + 8 * order
    if size < header:
        raise _truncated(path, size, header)
    counts = tuple(np.frombuffer(data[header - 8 * order : header].tobytes(), "<u8").tolist())
    sound = 2 <= order <= MAX_ORDER and counts[0] > 0 and max(counts) < LARGEST and 1.0 <= multiplier < 1e6
    if not sound:
        raise InputError(
            f"a KenLM binary whose header is damaged: order {order}, {counts} n-grams, multiplier {multiplier:g}. "
            f"{AGAIN}",
            path=path,
        )
    layout = _Layout(path, data, counts, -(-header // 8) * 8)
    layout.probing(multiplier, rest=kind == REST) if kind < TRIE else layout.trie(kind - TRIE)
    plan, data = np.array(layout.rows, np.uint64), read_only(np.asarray(data))
    for column, hashed in ((BEGIN, START_HASH), (END, END_HASH)):
        plan[0, column] = binary_kernels.find_word(data, plan, hashed)
    return Binary(path, kind, counts, data, plan, bool(has_words), layout.at)


def _check_sanity(found: bytes, path: Path) -> None:
    if found == SANITY:
        return
    if not found.startswith(KENLM_MAGIC):
        raise InputError("no KenLM binary: it does not begin as they do.", path=path)
    rest = found[len(KENLM_MAGIC) :].partition(b"\n")[0].strip(b" \0").decode("latin-1")[:40]
    if rest.startswith("incomplete"):
        raise InputError(f"a KenLM binary that build_binary did not finish. {AGAIN}", path=path)
    if rest != "format version 5":
        raise InputError(f"a KenLM binary of {rest!r}; format version 5 is read here. {AGAIN}", path=path)
    raise InputError(
        f"a KenLM binary of format version 5 whose test numbers differ, so it was written by another kind of machine, "
        f"truncated or damaged. {AGAIN}",
        path=path,
    )


def _truncated(path: Path, size: int, needed: int) -> InputError:
    return InputError(
        f"a KenLM binary of {size:,} bytes, but its header asks for at least {needed:,}. It is truncated or damaged; "
        f"get it again.",
        path=path,
    )


def _bits(largest: int) -> int:
    return largest.bit_length()


class _Layout:
    """Tables one after the other; `at` is where the next one begins."""

    def __init__(self, path: Path, data: Bytes, counts: tuple[int, ...], at: int) -> None:
        self.path, self.data, self.counts, self.at = path, data, counts, at
        self.rows = [[0] * COLUMNS for _ in range(len(counts) + 1)]
        self.rows[0][ORDER] = len(counts)

    def take(self, size: int) -> int:
        """Where a table of so many bytes begins."""
        begin, self.at = self.at, self.at + size
        if self.at > len(self.data):
            raise _truncated(self.path, len(self.data), self.at)
        return begin

    def set(self, order: int, columns: dict[int, int]) -> None:
        for column, value in columns.items():
            self.rows[order][column] = value

    def number(self, at: int, size: int) -> int:
        return int.from_bytes(self.data[at : at + size].tobytes(), "little")

    # ---- hash tables ---------------------------------------------------------------------------------------------

    def probing(self, multiplier: float, *, rest: bool) -> None:
        def buckets(entries: int) -> int:
            return max(entries + 1, int(np.float32(multiplier) * np.float32(entries)))  # in float32, as KenLM

        weights, top = 12 if rest else 8, len(self.counts)
        begin = self.take(8)
        version, words = self.number(begin, 4), self.number(begin + 4, 4)
        self._check_words(version, words, self.counts[0] + 1)
        table = self.take(12 * buckets(self.counts[0]))
        self.set(0, {WORD_TABLE: table, WORD_COUNT: buckets(self.counts[0]), WORDS: words})
        self.set(1, {BASE: self.take(weights * (self.counts[0] + 1)), STRIDE: weights, COUNT: self.counts[0] + 1})
        for order, count in enumerate(self.counts[1:], start=2):
            stride = 12 if order == top else 8 + weights
            self.set(order, {COUNT: buckets(count), STRIDE: stride, BASE: self.take(stride * buckets(count))})

    def _check_words(self, version: int, words: int, most: int) -> None:
        if version or not 0 < words <= most:
            raise InputError(
                f"a KenLM binary whose table of words is of version {version} and has {words:,} words, where version 0 "
                f"with at most {most:,} was expected. It is damaged. {AGAIN}",
                path=self.path,
            )

    # ---- tries ---------------------------------------------------------------------------------------------------

    def trie(self, features: int) -> None:
        counts, top = self.counts, len(self.counts)
        begin = self.take(8 + 8 * counts[0])
        words = self.number(begin, 8)
        self._check_words(0, words + 1, counts[0] + 1)
        self.set(0, {TRIE_FILE: 1, WORD_TABLE: begin + 8, WORD_COUNT: words, WORDS: words + 1, MAX_WORD: counts[0]})
        if features & QUANTISED:
            self._number_tables()
        self.set(1, {BASE: self.take(16 * (counts[0] + 2)), STRIDE: 16, COUNT: counts[0] + 1})
        most = self._array_bits() if features & ARRAYS and top > 2 else 0
        for order, (count, following) in enumerate(zip(counts[1:], (*counts[2:], 0), strict=True), start=2):
            row, inner = self.rows[order], order < top
            quantised = row[PROB_BITS] + row[BACKOFF_BITS]
            numbers = quantised if features & QUANTISED else 63 if inner else 31
            pointers = _bits(following) if inner else 0
            if inner and features & ARRAYS:
                chopped = _chopped(count + 1, following, most)
                entries = (following >> (pointers - chopped)) + 1
                place = self.take(8 * (1 + entries) + 7)
                self.set(order, {OFFSETS: -(-place // 8) * 8 + 8, OFFSET_COUNT: entries})
                pointers -= chopped
            width = _bits(counts[0]) + numbers + pointers
            self.set(order, {COUNT: count, STRIDE: width, WORD_BITS: _bits(counts[0]), NUMBER_BITS: numbers})
            self.set(order, {NEXT_BITS: pointers, BASE: self.take(((1 + count) * width + 7) // 8 + 8)})

    def _number_tables(self) -> None:
        """The float32 that quantised numbers stand for: probabilities and backoffs of each order."""
        begin, top = self.take(8), len(self.counts)
        version, prob_bits, backoff_bits = (self.number(begin + i, 1) for i in range(3))
        if version != QUANT_VERSION or not (1 <= prob_bits <= 25 and 1 <= backoff_bits <= 25):
            raise InputError(
                f"a KenLM binary with quantisation version {version}, {prob_bits} and {backoff_bits} bits; version "
                f"{QUANT_VERSION} with 1 to 25 bits is read here. {AGAIN}",
                path=self.path,
            )
        for order in range(2, top + 1):
            self.set(order, {PROB_BITS: prob_bits, PROB_TABLE: self.take(4 << prob_bits)})
            if order < top:
                self.set(order, {BACKOFF_BITS: backoff_bits, BACKOFF_TABLE: self.take(4 << backoff_bits)})

    def _array_bits(self) -> int:
        """How many bits of a pointer may be in arrays."""
        version, most = self.number(self.at, 1), self.number(self.at + 1, 1)
        if version != ARRAY_VERSION:
            raise InputError(
                f"a KenLM binary with array compression version {version}; version {ARRAY_VERSION} is read here. "
                f"{AGAIN}",
                path=self.path,
            )
        return most


def _chopped(entries: int, largest: int, most: int) -> int:
    """How many upper bits of each pointer KenLM moves into an array: as many as save the most bits, at most `most`."""
    bits = _bits(largest)
    return min(range(min(bits, most) + 1), key=lambda chop: ((largest >> (bits - chop)) * 64 - entries * chop, chop))
