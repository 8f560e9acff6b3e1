"""Making the compact form: the bits of smoothed counts, or of given probabilities.

A model that is not determined by its counts (pruned, from an ARPA file, several made one) keeps probabilities and
backoffs as ranks into tables of them. With fewer bits, probabilities are rounded to less than 2^bits that come near,
and backoffs are worked out anew: after each context the sum stays what it was. N-grams that such a model lacks although
they are inside of longer ones are put in, to say nothing themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from modlm.counts.counts import Frequencies
from modlm.counts.imported import closed_trie
from modlm.counts.trie import Trie
from modlm.errors import ConfigError
from modlm.ground import bit_kernels
from modlm.ground.arrays import Bools, Floats, Ints, Words, read_only
from modlm.model.ngram import compact_coding_kernels, pruning_kernels
from modlm.model.ngram import compact_layout as c
from modlm.model.ngram.compiled import Compiled, over_contexts
from modlm.smoothing.absolute import Absolute
from modlm.smoothing.estimates import Estimates
from modlm.store.npy import in_pieces
from modlm.text.vocabulary import Vocabulary

CHUNK = 1 << 20  # contexts or n-grams that are looked at together
PROPER = 1e-5  # a sum that is so near 1 is 1, but for rounding
ABSENT = -1.0  # the probability of what says nothing itself
SAMPLE = 1 << 18  # values that a table is made for
MOSTLY = 0.8  # contexts with a backoff of their own, from which on all have one
ROUNDS = 12  # of moving the numbers of a table to the middle of what they stand for


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

    def add_reals(self, values: Floats) -> tuple[int, int]:
        """Where ranks of real numbers begin, and the table of what they stand for; 0 if each is its own 32 bits."""
        numbers, ranks = np.unique(values, return_inverse=True)
        width = max(1, int(len(numbers) - 1).bit_length())
        short = values.astype(np.float32)
        if len(values) * (32 - width) < 64 * len(numbers) and np.array_equal(short, values):
            begin, width, ranks = 0, 32, short.view(np.uint32)
        else:
            begin = self.add(numbers.astype(np.float64).view(np.uint64))
        place = self.add(np.array([width], np.uint64))
        self.add_numbers(ranks, width)
        return place, begin

    def whole(self) -> Words:
        """All parts in one array; each is let go of as soon as it is copied."""
        out, end = np.empty(self.length, np.uint64), self.length
        while self.parts:
            part = self.parts.pop()
            out[end - len(part) : end] = part
            end -= len(part)
        return out


def table_of(values: Floats, most: int) -> tuple[Floats, Ints]:
    """At most so many numbers, and for each value which of them stands for it, near by their log odds.

    What is not between 0 and 1 stays as it is. The others go to the nearest of some numbers, each the mean
    of what goes to it, as Lloyd's rounds find them from even shares.
    """
    exact, ranks = np.unique(values, return_inverse=True)
    if len(exact) <= most:
        return exact, ranks
    free = (values > 0) & (values < 1)
    kept, odds = np.unique(values[~free]), np.log(values[free] / (1 - values[free]))
    every = np.ascontiguousarray(odds[:: max(1, len(odds) // SAMPLE)])
    middles = np.unique(np.quantile(every, np.linspace(0, 1, 2 * (most - len(kept)) + 1)[1::2]))
    for _ in range(ROUNDS):
        nearest = np.searchsorted((middles[1:] + middles[:-1]) / 2, every)
        size = np.bincount(nearest, minlength=len(middles))
        middles = np.bincount(nearest, weights=every, minlength=len(middles))[size > 0] / size[size > 0]
    out = np.empty(len(values), np.int64)
    out[free] = len(kept) + np.searchsorted((middles[1:] + middles[:-1]) / 2, odds)
    out[~free] = np.searchsorted(kept, values[~free])
    return np.concatenate((kept, 1 / (1 + np.exp(-middles)))), out


def compacted(estimates: Estimates) -> tuple[Words, Ints]:
    """The bits of smoothed counts, and the table that tells where everything is."""
    counts, trie = estimates.counts, estimates.counts.trie
    table, blob = np.zeros((trie.order + 1, c.ROW), np.int64), _Blob()
    for order in range(1, trie.order + 1):
        row = table[order]
        _add_counts(blob, row, counts.frequencies[trie.nodes(order)])
        if order > 1:
            _add_words(blob, row, trie, order)
            _add_sums(blob, row, estimates, order)
    return blob.whole(), table


def rounded(compiled: Compiled, bits: int) -> Compiled:
    """The model with fewer than 2^bits probabilities an order above the first, and backoffs that keep all sums.

    Where followers would take half of what they leave to other words, the most probable of them step down.
    """
    nodes, leaves, levels = np.array(compiled.nodes), np.array(compiled.leaves), compiled.levels
    start, contexts = compiled.vocab_size, compiled.contexts
    for order in range(2, compiled.order + 1):
        own = slice(levels[order], levels[order + 1])
        exact = compiled.probs_of(np.arange(own.start, own.stop)).astype(np.float64)
        numbers, ranks = table_of(exact, (1 << bits) - 1)
        lowest = int(np.count_nonzero((numbers <= 0) | (numbers >= 1)))
        ranked = own.start, exact, numbers, lowest, ranks
        over_contexts(levels, order, partial(pruning_kernels.step_down, compiled.words, nodes["first"], start, *ranked))
        at = nodes["prob"][own] if order < compiled.order else leaves["prob"][own.start - contexts :]
        at[:] = numbers[ranks]
    sums = np.full(contexts, compiled.unigrams.sum(dtype=np.float64))
    whole = compiled.words, read_only(nodes), read_only(leaves), start, *compiled.arrays[1:], sums, nodes["backoff"]
    for order in range(2, compiled.order + 1):
        over_contexts(levels, order, partial(pruning_kernels.keep_sums, *whole))
    return Compiled(compiled.words, nodes, leaves, levels, compiled.start)


def compacted_as_given(compiled: Compiled, vocabulary: Vocabulary, bits: int | None) -> tuple[Words, Ints, Trie, int]:
    """The bits of a compiled form, their table, the n-grams with those that were put in, and the state at the start."""
    compiled = compiled if bits is None else rounded(compiled, bits)
    trie, origin = closed(compiled.trie, vocabulary)
    probs, top = np.full(len(trie), ABSENT), trie.contexts
    probs[origin > 0] = compiled.probs_of(origin[origin > 0])
    backoffs = np.where(origin[:top] > 0, compiled.nodes["backoff"][origin[:top]], 1.0)
    table, blob = np.zeros((trie.order + 1, c.ROW), np.int64), _Blob()
    table[1:, c.SIZE] = trie.sizes
    table[1, c.VALUES] = blob.add(probs[[1 + len(vocabulary)]].view(np.uint64))
    for order in range(2, trie.order + 1):
        row, contexts = table[order], slice(trie.levels[order - 1], trie.levels[order])
        _add_words(blob, row, trie, order)
        row[c.PROBS], row[c.VALUES] = blob.add_reals(probs[trie.nodes(order)])
        follow = _following(trie, probs, backoffs, order) if bits and order > 2 else np.zeros(0, bool)
        row[c.SUMS] = follow.any()
        own = ~follow if row[c.SUMS] else backoffs[contexts] != 1
        row[c.BIG] = blob.add_flags(own) if len(own) and own.mean() < MOSTLY else 0
        row[c.FALLBACKS], row[c.REALS] = blob.add_reals(backoffs[contexts][own] if row[c.BIG] else backoffs[contexts])
    start = int(np.flatnonzero(origin == compiled.start)[0]) if compiled.start else 0
    return blob.whole(), table, trie, start


def _following(trie: Trie, probs: Floats, backoffs: Floats, order: int) -> Bools:
    """Which contexts of an order need no backoff: nothing follows, or one word, and backing off makes the sum 1."""
    first = trie.first[trie.levels[order - 1] : trie.levels[order] + 1].astype(np.int64)
    many, own = np.diff(first), backoffs[trie.levels[order - 1] : trie.levels[order]]
    node = np.minimum(first[:-1], len(trie) - 1)
    p, q = probs[node], probs[trie.suffix[node]]
    proper: Bools = (many == 0) | (many == 1) & (p >= 0) & (q >= 0) & (q < 1) & (
        np.abs((1 - p) - own * (1 - q)) < PROPER
    )
    return proper


def closed(trie: Trie, vocabulary: Vocabulary) -> tuple[Trie, Ints]:
    """The n-grams with all that are inside of them, and which each was; 0 for what was put in."""
    orders = range(3, trie.order + 1)
    if all((trie.suffix[trie.nodes(n)] >= trie.levels[n - 1]).all() for n in orders):
        return trie, np.arange(len(trie))
    numbers = np.arange(len(trie))
    rows = [(trie.ngrams(n), numbers[trie.nodes(n)]) for n in range(1, trie.order + 1)]
    whole, found = closed_trie(rows, vocabulary)
    origin: Ints = found.astype(np.int64)
    origin[: trie.levels[2]] = numbers[: trie.levels[2]]
    return whole, origin


def _add_words(blob: _Blob, row: Ints, trie: Trie, order: int) -> None:
    low, high = trie.levels[order - 1], trie.levels[order]
    arrays = trie.words, trie.first, trie.suffix
    size, most = trie.size(order), 0
    for part in in_pieces(low, high, *arrays, step=CHUNK):
        most = compact_coding_kernels.last_grown(*arrays, *part, order > 2, most)
        if most < 0:
            raise ConfigError("These counts lack n-grams that are inside of longer ones, so they have no compact form.")
    bits = max(0, int(most // max(1, size)).bit_length() - 1)
    plain = [np.zeros(n // 64 + 1, np.uint64) for n in (size + high - low, size * bits + 64, size + (most >> bits) + 1)]
    base = 0
    for part in in_pieces(low, high, *arrays, step=CHUNK):
        base = compact_coding_kernels.encode(*arrays, low, *part, order > 2, bits, base, *plain)
    row[c.POINTERS] = blob.add_bits(plain[0], size + high - low)
    row[c.LOW], row[c.LOW_BITS] = blob.add(plain[1]), bits
    row[c.HIGH] = blob.add_bits(plain[2], size + (most >> bits) + 1)


def _add_counts(blob: _Blob, row: Ints, frequencies: Frequencies) -> None:
    size, kind = len(frequencies), frequencies.dtype.type
    row[c.SIZE] = size
    row[c.LEAST] = min((int(frequencies[a:b].min()) for a, b in in_pieces(0, size, frequencies)), default=1)
    row[c.LEAST] = min(row[c.LEAST], 1)
    left: Any = frequencies
    begin = kind(row[c.LEAST])
    for level, bits in enumerate(c.BITS[:-1]):
        more, parts = np.empty(len(left), bool), [left[:0]]
        for low, high in in_pieces(0, len(left), frequencies):
            part = left[low:high] - begin
            more[low:high] = part >= (1 << bits)
            parts.append(part[more[low:high]])
        row[c.LEVELS + 2 * level] = blob.add_flags(more)
        row[c.LEVELS + 2 * level + 1] = blob.add_numbers(left[~more] - begin if bits else left[:0], bits)
        left, begin = np.concatenate(parts), kind(1 << bits)
    row[c.LEVELS + 2 * len(c.BITS) - 1] = blob.add_numbers(left - begin, c.BITS[-1])


def _add_sums(blob: _Blob, row: Ints, estimates: Estimates, order: int) -> None:
    """Sums of the contexts that have several large counts, and fallbacks where they do not follow from sums."""
    counts, layer = estimates.counts, estimates.counts.layer(order)
    big, found, fallbacks = np.zeros(layer.high - layer.low, bool), [], []
    own = type(estimates.smoother).fallback is not Absolute.fallback
    read = counts.trie.first, counts.frequencies
    for low, high in in_pieces(layer.low, layer.high, *read, step=CHUNK):
        here = big[low - layer.low : high - layer.low]
        compact_coding_kernels.large_after(*read, low, high, row[c.LEAST], here)
        sums = estimates.sums_of(order, low, high)
        found.append(np.stack([sums.total[here], np.round(sums.kept[here] * 2.0**32)], axis=1).astype(np.uint64))
        fallbacks += [estimates.fallback(sums)] if own else []
    if big.any():
        row[c.BIG], row[c.SUMS] = blob.add_flags(big), blob.add(np.concatenate(found).ravel())
    if own:
        row[c.FALLBACKS], row[c.REALS] = blob.add_reals(np.concatenate(fallbacks))
