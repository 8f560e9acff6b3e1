"""The compact form of an n-gram model: counts in bits, and probabilities worked out when somebody asks.

It answers what the compiled form answers, from about a twelfth of the bytes, and its states are the same numbers. It
holds the counts that the smoothing family reads, so all models that are determined by their counts have one.
`compact_layout` says how the bits lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from modlm.counts.checks import unsound
from modlm.counts.counts import Counts, Frequencies, at_sentences
from modlm.counts.trie import Trie
from modlm.ground import bit_kernels
from modlm.ground.arrays import AnyFloats, Bools, Floats, Ids, Ints, Words, even_ranges, in_parallel, read_only, threads
from modlm.model.ngram import compact_coding_kernels, compact_kernels
from modlm.model.ngram.compact_layout import (
    BIG,
    BITS,
    DEEPEST,
    FALLBACKS,
    HIGH,
    LEAST,
    LEVELS,
    LOW,
    LOW_BITS,
    POINTERS,
    REALS,
    ROW,
    SIZE,
    SUMS,
)  # fmt: skip
from modlm.model.ngram.compiled import rows_for
from modlm.smoothing.absolute import Absolute
from modlm.smoothing.estimates import Estimates


@dataclass(slots=True)
class _Blob:
    """Parts of the one array, one behind the other."""

    parts: list[Words] = field(default_factory=lambda: [np.zeros(1, np.uint64)])  # so that no part begins at 0
    length: int = 1

    def add(self, part: Words) -> int:
        """Where the part begins."""
        begin = self.length
        self.parts.append(part)
        self.length += len(part)
        return begin

    def add_bits(self, plain: Words, bits: int) -> int:
        """Where the vector of some plain bits begins."""
        return self.add(bit_kernels.lines_of(plain, bits, bit_kernels.ones_of(plain), self.length))

    def add_flags(self, flags: Bools) -> int:
        """The same of booleans."""
        plain = np.zeros(len(flags) // 64 + 1, np.uint64)
        packed = np.packbits(flags, bitorder="little")
        plain.view(np.uint8)[: len(packed)] = packed
        return self.add_bits(plain, len(flags))

    def add_numbers(self, values: np.ndarray, bits: int) -> int:
        """Numbers of so many bits each."""
        plain = np.zeros(len(values) * bits // 64 + 2 if bits else 0, np.uint64)
        compact_coding_kernels.pack(values, bits, plain)
        return self.add(plain)


def compacted(estimates: Estimates) -> tuple[Words, Ints]:
    """The bits of smoothed counts, and the table that tells where everything is."""
    counts, trie = estimates.counts, estimates.counts.trie
    table, blob = np.zeros((trie.order + 1, ROW), np.int64), _Blob()
    for order in range(1, trie.order + 1):
        row = table[order]
        _add_counts(blob, row, counts.frequencies[trie.nodes(order)])
        if order > 1:
            _add_words(blob, row, counts, order)
            _add_sums(blob, row, estimates, order)
    return np.concatenate(blob.parts), table


def _add_words(blob: _Blob, row: Ints, counts: Counts, order: int) -> None:
    trie = counts.trie
    low, high = trie.levels[order - 1], trie.levels[order]
    given = trie.words, trie.first, trie.suffix, low, high, order > 2
    size, most = trie.size(order), compact_coding_kernels.last_grown(*given)
    bits = max(0, int(most // max(1, size)).bit_length() - 1)
    plain = [np.zeros(n // 64 + 1, np.uint64) for n in (size + high - low, size * bits + 64, size + (most >> bits) + 1)]
    compact_coding_kernels.encode(*given, bits, *plain)
    row[POINTERS] = blob.add_bits(plain[0], size + high - low)
    row[LOW], row[LOW_BITS] = blob.add(plain[1]), bits
    row[HIGH] = blob.add_bits(plain[2], size + (most >> bits) + 1)


def _add_counts(blob: _Blob, row: Ints, frequencies: Frequencies) -> None:
    row[SIZE], row[LEAST] = len(frequencies), frequencies.min(initial=1)
    left = frequencies - frequencies.dtype.type(row[LEAST])
    for level, bits in enumerate(BITS[:-1]):
        more = left >= (1 << bits)
        row[LEVELS + 2 * level] = blob.add_flags(more)
        row[LEVELS + 2 * level + 1] = blob.add_numbers(left[~more], bits)
        left = left[more] - left.dtype.type(1 << bits)
    row[LEVELS + 2 * len(BITS) - 1] = blob.add_numbers(left, BITS[-1])


def _add_sums(blob: _Blob, row: Ints, estimates: Estimates, order: int) -> None:
    """Sums of the contexts that have many large counts, and fallbacks where they do not follow from sums."""
    counts = estimates.counts
    low, high = counts.layer(order).low, counts.layer(order).high
    big = np.zeros(high - low, bool)
    compact_coding_kernels.large_after(counts.trie.first, counts.frequencies, low, high, row[LEAST], big)
    sums = estimates.sums_of(order, low, high)
    if big.any():
        pairs = np.stack([sums.total[big], np.round(sums.kept[big] * 2.0**32)], axis=1).astype(np.uint64)
        row[BIG], row[SUMS] = blob.add_flags(big), blob.add(pairs.ravel())
    if type(estimates.smoother).fallback is not Absolute.fallback:
        values, ranks = np.unique(estimates.fallback(sums), return_inverse=True)
        bits = max(1, int(len(values) - 1).bit_length())
        row[REALS] = blob.add(values.view(np.uint64))
        row[FALLBACKS] = blob.add(np.array([bits], np.uint64))
        blob.add_numbers(ranks, bits)


class Compact:
    """Probabilities from counts in bits; answers as `Compiled` does, with the same nodes as states.

    `unigrams` are P of each word after the empty context and `fallback` what falls through there; what is known of
    longer contexts is in the bits, and `discounts` has what counts of 0, 1, 2, … of each order lose.
    """

    def __init__(
        self, data: Words, table: Ints, levels: tuple[int, ...], start: int, discounts: Sequence[Floats],
        unigrams: AnyFloats, fallback: float,
    ) -> None:  # fmt: skip
        self.data, self.table, self.levels, self.start = read_only(data), table, levels, start
        self.unigrams, self.fallback = read_only(unigrams), fallback
        longest = max(map(len, discounts))
        rows = [np.pad(row, (0, longest - len(row)), mode="edge") for row in discounts]
        self._bits, self._levels = (self.data, table, np.stack(rows)), np.array(levels, np.int64)

    @property
    def order(self) -> int:
        """The highest order."""
        return len(self.levels) - 2

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of n-grams of each order."""
        return tuple(int(size) for size in np.diff(self.levels[1:]))

    @property
    def vocab_size(self) -> int:
        """J, the number of words that can be predicted."""
        return len(self.unigrams)

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The precision of the expanded probabilities."""
        return self.unigrams.dtype

    @cached_property
    def _near(self) -> tuple[Floats, Ints, Floats]:
        """Unigrams, and what every query asks about contexts of one word."""
        near_J3, weights_J2 = np.zeros((self.vocab_size + 1, 3), np.int64), np.ones((self.vocab_size + 1, 2))
        if self.order > 1:
            compact_kernels.look_ahead(*self._bits, near_J3, weights_J2)
        return self.unigrams.astype(np.float64), near_J3, weights_J2

    @cached_property
    def _start_chain(self) -> Ints:
        """The contexts before the first word of a sentence, by their number of words; entry 0 is the longest."""
        chain = np.zeros((DEEPEST + 1, 3), np.int64)
        chain[0, 0] = compact_kernels.chain_of(self.data, self.table, self._levels, self.start, chain)
        return chain

    def score(self, ids: Ids, *, workers: int | None = None) -> Floats:
        """P of each word of a text of whole sentences, 1 at each `<s>`."""
        out = np.empty(len(ids))
        walk = partial(compact_kernels.score_text, *self._bits, *self._near, self._start_chain)
        ranges = at_sentences(ids, self.vocab_size, threads(workers))
        in_parallel([partial(walk, ids[a:b], self.vocab_size, out[a:b]) for a, b in ranges], workers=workers)
        return out

    def advance(self, states: Ints, words: Ids) -> tuple[Ints, Ints, Floats]:
        """The states after one more word each, the n-grams found, and the probability of the word."""
        new_states, nodes = np.empty((2, len(states)), dtype=np.int64)
        out, start, last = np.empty(len(states)), self.start, self.vocab_size
        at = (*self._bits, *self._near)
        compact_kernels.advance(*at, self._levels, start, last, states, words, new_states, nodes, out)
        return new_states, nodes, out

    def below(self, states: Ints) -> tuple[Ints, Floats]:
        """The context one word shorter than each state, and the fallback of the state."""
        shorter, fallbacks = np.zeros(len(states), np.int64), np.full(len(states), self.fallback)
        compact_kernels.below(*self._bits, self._levels, states, shorter, fallbacks)
        return shorter, fallbacks

    def distributions(self, states: Ints, out_BJ: AnyFloats | None = None, *, as_logs: bool = False) -> AnyFloats:
        """P of every word after each state, or log P; fills `out_BJ` when given."""
        out_BJ = rows_for(states, self.vocab_size, self.dtype, out_BJ)
        compact_kernels.distributions(*self._bits, self._near[0], self._levels, states, out_BJ)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(out_BJ, out=out_BJ) if as_logs else out_BJ

    def is_sound(self) -> bool:
        """Whether everything that the table speaks of lies inside of the array: then no query leads out of it."""
        sizes = (1, *self.sizes)
        return all(self._fits(self.table[n], sizes[n - 1], sizes[n], first=n == 1) for n in range(1, self.order + 1))

    def _fits(self, row: Ints, contexts: int, size: int, *, first: bool) -> bool:
        """Whether the parts of one order do."""
        flags = [int(vector) for vector in row[LEVELS:-2:2]]
        sound = partial(bit_kernels.sound, self.data)
        fits = row[SIZE] == size and row[LEAST] < 1 << 40 and sound(flags[0], size) and all(map(sound, flags))
        if first or not fits:
            return bool(fits)
        return bool(
            row[LOW_BITS] < 40
            and sound(int(row[POINTERS]), size + contexts)
            and sound(int(row[HIGH]))
            and (row[BIG] == 0 or sound(int(row[BIG]), contexts))
            and (row[FALLBACKS] == 0 or (row[FALLBACKS] < len(self.data) and 0 < self.data[row[FALLBACKS]] < 40))
        )

    def expanded(self, wide: np.dtype[np.unsignedinteger]) -> tuple[Trie, Frequencies]:
        """The n-grams in arrays of their own, and the counts that the smoothing reads, in this type."""
        levels, top = self.levels, self.levels[-2]
        words, suffix = np.zeros((2, levels[-1]), np.uint32)
        first, frequencies = np.zeros(top + 1, np.uint32), np.zeros(levels[-1], wide)
        words[1 : levels[2]] = np.arange(levels[2] - 1)
        first[list(levels[:-2])], first[-1] = levels[1:-1], levels[-1]
        for n in range(1, self.order + 1):
            contexts, nodes = levels[n] - levels[n - 1], frequencies[levels[n] : levels[n + 1]]
            parts = even_ranges(len(nodes), 4 * threads())
            tasks = [
                partial(compact_coding_kernels.decode_counts, *self._bits[:2], n, a, b, nodes[a:b]) for a, b in parts
            ]
            in_parallel(tasks)
            links = partial(compact_coding_kernels.decode, *self._bits[:2], self._levels, n)
            parts = even_ranges(contexts, 8 * threads()) if n > 1 else []
            if not all(in_parallel([partial(links, a, b, words, first, suffix) for a, b in parts])):
                raise unsound()
        return Trie(words, first, suffix, levels), frequencies


def compact_of(estimates: Estimates, unigrams: AnyFloats, fallback: float) -> Compact:
    """The compact form of smoothed counts."""
    counts = estimates.counts
    start = counts.start_context[0]
    return Compact(*compacted(estimates), counts.trie.levels, start, estimates.discounts, unigrams, fallback)


def occurrences(read: Counts, starts: int) -> Frequencies:
    """The occurrences of n-grams, from the counts that Kneser-Ney reads and how often `<s>` occurs.

    A continuation count is the number of an n-gram's left extensions, its occurrences are the sum of theirs; what
    begins with one `<s>` has none and keeps its own.
    """
    trie, found = read.trie, read.frequencies.copy()
    found[: trie.levels[-2]] = 0
    for n in range(trie.order, 1, -1):
        if read.edge == "once" and n < trie.order:
            own = read.starting_with_start()[n - 1]
            found[own] = read.frequencies[own]
        compact_coding_kernels.add_along(trie.suffix, found, trie.levels[n], trie.levels[n + 1], found)
    found[1 + len(read.vocabulary)] = starts
    return found
