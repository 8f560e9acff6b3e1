"""The layout of a KenLM binary file: header and sizes in, the place of every table out.

KenLM writes no offsets: they follow from the kind, the counts and the settings in the header, as its source computes
them. So the sizes are worked out here, compared with the file, and handed to the kernels as a `plan`.

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
from modlm.formats.kenlm import columns as c
from modlm.formats.kinds import KENLM_MAGIC
from modlm.ground.arrays import Bytes, read_only

VERSION = b" format version 5\n"
SANITY = (KENLM_MAGIC + VERSION).ljust(56, b"\0") + struct.pack("<3f3IQ", 0.0, 1.0, -0.5, 1, 0xFFFFFFFF, 0, 1)
"""What every file begins with: numbers that another kind of machine would write in other bytes."""
FIXED = struct.Struct("<B3xfIB3xI")
COUNTS = len(SANITY) + FIXED.size  # where the counts begin
KINDS = (
    "probing", "probing with rest costs", "trie", "quantised trie", "trie with array-compressed pointers",
    "quantised trie with array-compressed pointers",
)  # fmt: skip
REST, TRIE, QUANTISED, ARRAYS = 1, 2, 1, 2  # the last two are added to TRIE
VERSIONS, QUANT_VERSION, ARRAY_VERSION = (0, 0, 1, 1, 1, 1), 2, 0
AGAIN = "Build it again with KenLM's build_binary, or give the ARPA file that it was built from."
LARGEST, MAX_ORDER = 1 << 57, 64  # of any count, since more cannot be packed; of orders
START_HASH, END_HASH = np.uint64(0x00758639BD217E70), np.uint64(0x6BE0737DF1F76C0A)  # of <s> and </s>


@dataclass(frozen=True, slots=True)
class Binary:
    """A file, mapped, and where everything is in it."""

    path: Path
    kind: int
    counts: tuple[int, ...]
    """N-grams of each order."""
    data: Bytes
    plan: c.Plan
    has_words: bool
    words_at: int
    """Where the words themselves begin, if the file has them."""

    @property
    def order(self) -> int:
        return len(self.counts)

    @property
    def is_trie(self) -> bool:
        """Whether its n-grams can be listed."""
        return self.kind >= TRIE

    @property
    def words(self) -> int:
        """How many words it knows, `<unk>` among them."""
        return int(self.plan[0, c.WORDS])

    def described(self) -> str:
        """The structure in words, with the bits of quantised numbers."""
        prob, backoff = self.plan[self.order, c.PROB_BITS], self.plan[2, c.BACKOFF_BITS]
        return KINDS[self.kind] + (f" (-q {prob}" + (f" -b {backoff})" if backoff else ")") if prob else "")

    def damaged(self, found: str) -> InputError:
        """The error for a file in which this was found."""
        return refused(self.path, f"that is truncated or damaged: {found}")


def refused(path: Path, found: str) -> InputError:
    """The error for a file that is not read; `found` goes on after 'a KenLM binary'."""
    return InputError(f"a KenLM binary {found}. {AGAIN}", path=path)


def open_binary(path: Path) -> Binary:
    """The file's layout; an `InputError` with what was found where it is none, damaged or of another version."""
    try:
        data = read_only(np.memmap(path, np.uint8, mode="r").view(np.ndarray))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}.", path=path) from error
    return binary_in(data, path)


def binary_in(data: Bytes, path: Path) -> Binary:
    """The same for bytes that lie somewhere else; errors name the path."""
    head = data[: COUNTS + 8 * 255].tobytes()
    _check_sanity(head, path)
    if len(head) < COUNTS:
        raise refused(path, f"that is truncated: {len(data):,} bytes")
    order, multiplier, kind, has_words, version = FIXED.unpack_from(head, len(SANITY))
    if kind >= len(KINDS) or version != VERSIONS[kind]:
        found = KINDS[kind] if kind < len(KINDS) else f"structure {kind}"
        raise refused(path, f"with {found}, version {version}, which is not known here")
    counts = tuple(np.frombuffer(head[COUNTS : COUNTS + 8 * order][: len(head[COUNTS:]) // 8 * 8], "<u8").tolist())
    sound = 2 <= order <= MAX_ORDER and len(counts) == order and 1.0 <= multiplier < 1e6
    if not sound or counts[0] < 1 or max(counts) >= LARGEST:
        raise refused(
            path, f"whose header is truncated or damaged: order {order}, {counts} n-grams, multiplier {multiplier:g}"
        )
    layout = _Layout(path, data, counts, -(-(COUNTS + 8 * order) // 8) * 8)
    layout.probing(multiplier, rest=kind == REST) if kind < TRIE else layout.trie(kind - TRIE)
    plan = np.array(layout.rows, np.uint64)
    for column, hashed in ((c.BEGIN, START_HASH), (c.END, END_HASH)):
        plan[0, column] = binary_kernels.find_word(data, plan, hashed)
    return Binary(path, kind, counts, data, plan, bool(has_words), layout.at)


def _check_sanity(found: bytes, path: Path) -> None:
    if found.startswith(SANITY):
        return
    if len(found) < len(SANITY) and SANITY.startswith(found):
        raise refused(path, f"that is truncated: {len(found):,} bytes")
    if not found.startswith(KENLM_MAGIC):
        raise InputError("no KenLM binary: it does not begin as they do.", path=path)
    rest = found[len(KENLM_MAGIC) : 56].partition(b"\n")[0].strip(b" \0").decode("latin-1")
    if rest.startswith("incomplete"):
        raise refused(path, "that build_binary did not finish")
    if rest != "format version 5":
        raise refused(path, f"of {rest!r}, where format version 5 is read")
    raise refused(path, "whose test numbers differ: it comes from another kind of machine, or is truncated or damaged")


class _Layout:
    """Tables one after the other; `at` is where the next one begins."""

    def __init__(self, path: Path, data: Bytes, counts: tuple[int, ...], at: int) -> None:
        self.path, self.data, self.counts, self.at = path, data, counts, at
        self.rows = [[0] * c.COLUMNS for _ in range(len(counts) + 1)]
        self.rows[0][c.ORDER] = len(counts)

    def take(self, size: int) -> int:
        """Where a table of so many bytes begins."""
        begin, self.at = self.at, self.at + size
        if self.at > len(self.data):
            found = f"{len(self.data):,} bytes, but its header asks for at least {self.at:,}"
            raise refused(self.path, f"that is truncated or damaged: it has {found}")
        return begin

    def set(self, order: int, columns: dict[int, int]) -> None:
        for column, value in columns.items():
            self.rows[order][column] = value

    def number(self, at: int, size: int) -> int:
        return int.from_bytes(self.data[at : at + size].tobytes(), "little")

    def expect(self, what: str, version: int, wanted: int, *, sound: bool = True) -> None:
        if version != wanted or not sound:
            raise refused(self.path, f"with {what} of version {version}, where a sound one of version {wanted} is read")

    # ---- hash tables ---------------------------------------------------------------------------------------------

    def probing(self, multiplier: float, *, rest: bool) -> None:
        def buckets(entries: int) -> int:
            return max(entries + 1, int(np.float32(multiplier) * np.float32(entries)))  # in float32, as KenLM

        weights, top, unigrams = 12 if rest else 8, len(self.counts), self.counts[0] + 1
        begin = self.take(8)
        words = self.number(begin + 4, 4)
        self.expect("a table of words", self.number(begin, 4), 0, sound=0 < words <= unigrams)
        self.set(
            0,
            {c.WORD_COUNT: buckets(unigrams - 1), c.WORDS: words, c.WORD_TABLE: self.take(12 * buckets(unigrams - 1))},
        )
        self.set(1, {c.BASE: self.take(weights * unigrams), c.STRIDE: weights, c.COUNT: unigrams})
        for order, count in enumerate(self.counts[1:], start=2):
            stride = 12 if order == top else 8 + weights
            self.set(order, {c.COUNT: buckets(count), c.STRIDE: stride, c.BASE: self.take(stride * buckets(count))})

    # ---- tries ---------------------------------------------------------------------------------------------------

    def trie(self, features: int) -> None:
        counts, top = self.counts, len(self.counts)
        begin = self.take(8 + 8 * counts[0])
        words, word_bits = self.number(begin, 8), counts[0].bit_length()
        self.expect("a table of words", 0, 0, sound=words <= counts[0])
        self.set(
            0, {c.TRIE_FILE: 1, c.WORD_TABLE: begin + 8, c.WORD_COUNT: words, c.WORDS: words + 1, c.MAX_WORD: counts[0]}
        )
        if features & QUANTISED:
            self._number_tables()
        self.set(1, {c.BASE: self.take(16 * (counts[0] + 2)), c.STRIDE: 16, c.COUNT: counts[0] + 1})
        if features & ARRAYS and top > 2:
            self.expect("array compression", self.number(self.at, 1), ARRAY_VERSION)
        most = self.number(self.at + 1, 1)
        for order, (count, following) in enumerate(zip(counts[1:], (*counts[2:], 0), strict=True), start=2):
            row, pointers = self.rows[order], following.bit_length() if order < top else 0
            numbers = row[c.PROB_BITS] + row[c.BACKOFF_BITS] if features & QUANTISED else 63 if order < top else 31
            if order < top and features & ARRAYS:
                chopped = _chopped(count + 1, following, most)
                entries = (following >> (pointers - chopped)) + 1
                place = self.take(8 * (1 + entries) + 7)
                self.set(order, {c.OFFSETS: -(-place // 8) * 8 + 8, c.OFFSET_COUNT: entries})
                pointers -= chopped
            width = word_bits + numbers + pointers
            self.set(order, {c.COUNT: count, c.STRIDE: width, c.WORD_BITS: word_bits, c.NUMBER_BITS: numbers})
            self.set(order, {c.NEXT_BITS: pointers, c.BASE: self.take(((1 + count) * width + 7) // 8 + 8)})

    def _number_tables(self) -> None:
        """The float32 that quantised numbers stand for: probabilities and backoffs of each order."""
        begin, top = self.take(8), len(self.counts)
        version, prob_bits, backoff_bits = (self.number(begin + i, 1) for i in range(3))
        self.expect("quantisation", version, QUANT_VERSION, sound=0 < prob_bits <= 25 and 0 < backoff_bits <= 25)
        for order in range(2, top + 1):
            self.set(order, {c.PROB_BITS: prob_bits, c.PROB_TABLE: self.take(4 << prob_bits)})
            if order < top:
                self.set(order, {c.BACKOFF_BITS: backoff_bits, c.BACKOFF_TABLE: self.take(4 << backoff_bits)})


def _chopped(entries: int, largest: int, most: int) -> int:
    """How many upper bits of each pointer KenLM moves into an array: as many as save the most bits, at most `most`."""
    bits = largest.bit_length()
    return min(range(min(bits, most) + 1), key=lambda chop: ((largest >> (bits - chop)) * 64 - entries * chop, chop))
