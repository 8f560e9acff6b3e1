"""The compact form of an n-gram model: counts in bits, and probabilities worked out when somebody asks.

It answers what the compiled form answers, from about a twelfth of the bytes, and its states are the same numbers. It
holds the counts that the smoothing family reads, so all models that are determined by their counts have one.
`compact_kernels` says how the bits lie.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from modlm.counts.counts import Counts, Frequencies, narrowed
from modlm.ground import bit_kernels
from modlm.ground.arrays import AnyFloats, Bools, Floats, Ids, Ints, in_parallel, threads
from modlm.ground.bit_kernels import Words
from modlm.model.ngram import compact_kernels
from modlm.model.ngram.compact_kernels import (
    BIG, BITS, FALLBACKS, HIGH, LEAST, LEVELS, LOW, LOW_BITS, POINTERS, REALS, ROW, SIZE, SUMS,
)  # fmt: skip
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
        compact_kernels.pack(values, bits, plain)
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
    size, most = trie.size(order), compact_kernels.last_grown(*given)
    bits = max(0, int(most // max(1, size)).bit_length() - 1)
    plain = [np.zeros(n // 64 + 1, np.uint64) for n in (size + high - low, size * bits + 64, size + (most >> bits) + 1)]
    compact_kernels.encode(*given, bits, *plain)
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
    compact_kernels.large_after(counts.trie.first, counts.frequencies, low, high, row[LEAST], big)
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
    """Probabilities from counts in bits; answers as `Compiled` does, with the same nodes as states."""

    def __init__(
        self, data: Words, table: Ints, levels: tuple[int, ...], start: int, discounts: tuple[Floats, ...], unigrams: Floats
    ) -> None:
        self.data, self.table, self.levels, self.start, self.unigrams = data, table, levels, start, unigrams
        self.discounts = discounts
        longest = max(map(len, discounts))
        rows = [np.concatenate((row, np.full(longest - len(row), row[-1]))) for row in discounts]
        near_J3, weights_J2 = np.zeros((len(unigrams) + 1, 3), np.int64), np.ones((len(unigrams) + 1, 2))
        self._bits, self._near = (data, table, np.stack(rows), unigrams), (near_J3, weights_J2)
        if self.order > 1:
            compact_kernels.look_ahead(*self._bits[:3], *self._near)
        self._levels = np.array(levels, np.int64)

    @property
    def order(self) -> int:
        """The highest order."""
        return len(self.levels) - 2

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of n-grams of each order."""
        return tuple(int(size) for size in self.table[1:, SIZE])

    @property
    def vocab_size(self) -> int:
        """J, the number of words that can be predicted."""
        return len(self.unigrams)

    @cached_property
    def start_chain(self) -> Ints:
        """The contexts before the first word of a sentence, by their number of words; entry 0 is the longest of those."""
        chain = np.zeros((compact_kernels.DEEPEST + 1, 3), np.int64)
        chain[0, 0] = compact_kernels.chain_of(self.data, self.table, self._levels, self.start, chain)
        return chain

    def score(self, ids: Ids, *, workers: int | None = None) -> Floats:
        """P of each word of a text of whole sentences, 1 at each `<s>`."""
        from modlm.counts.counts import at_sentences

        out = np.empty(len(ids))
        tasks = [
            partial(
                compact_kernels.score_text, *self._bits, *self._near, self.start_chain, ids[a:b], self.vocab_size, out[a:b]
            )
            for a, b in at_sentences(ids, self.vocab_size, threads(workers))
        ]  # fmt: skip
        in_parallel(tasks, workers=workers)
        return out

    def advance(self, states: Ints, words: Ids) -> tuple[Ints, Ints, Floats]:
        """The states after one more word each, the n-grams found, and the probability of the word."""
        new_states, nodes = np.empty((2, len(states)), dtype=np.int64)
        out = np.empty(len(states))
        compact_kernels.advance(
            *self._bits, *self._near, self._levels, self.start, self.vocab_size, states, words, new_states, nodes, out
        )
        return new_states, nodes, out

    def distributions(self, states: Ints, out_BJ: AnyFloats | None = None) -> AnyFloats:
        """P of every word after each state."""
        if out_BJ is None:
            out_BJ = np.empty((len(states), self.vocab_size), dtype=np.float32)
        compact_kernels.distributions(*self._bits, self._levels, states, out_BJ)
        return out_BJ


def compact_of(estimates: Estimates, unigrams: Floats) -> Compact:
    """The compact form of smoothed counts."""
    counts = estimates.counts
    data, table = compacted(estimates)
    return Compact(data, table, counts.trie.levels, counts.start_context[0], estimates.discounts, unigrams)
