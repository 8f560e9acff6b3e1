"""Skip n-grams: counts whose contexts are any chosen positions before the word, as in the paper's program.

Positions (4, 3, 2) give four orders with the contexts {}, {2}, {3, 2}, {4, 3, 2}: each order adds the position listed
before, and 1 is the previous word. Sentences are padded with `<s>` as far back as the positions reach.

A context is no n-gram here (the word one back may not be in it), so contexts have a trie of their own, which grows
outward: a context is (the context one position shorter, the word at the added position). An n-gram is (its context,
word), and its suffix is the n-gram without the remotest position. So the arrays and kernels are those of plain counts,
with context ids where plain counts have the nodes one order down, and nothing can be mistaken for a plain n-gram.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modlm.counts import skip_kernels
from modlm.counts.counts import MAX_ORDER, Counts, Frequencies, Layer
from modlm.counts.trie import Trie
from modlm.errors import ConfigError
from modlm.ground.arrays import Ids, Ints
from modlm.text.vocabulary import Vocabulary

FARTHEST = 10_000  # positions beyond this are surely a mistake


@dataclass(frozen=True, slots=True, eq=False)
class SkipTrie(Trie):
    """Skip n-grams of orders 1..order; `first` is indexed by context, not by node.

    Context 0 is empty, context 1 + w is the word w at the last-listed position, then come the longer ones, each number
    of words sorted by (shorter context, word). `context_levels[n - 1] : context_levels[n]` are the contexts of order n.
    """

    positions: tuple[int, ...]
    context_words: Ids
    context_first: Ids
    context_levels: tuple[int, ...]

    def parents(self, order: int) -> Ids:
        """The context of each n-gram of an order."""
        low, high = self.context_levels[order - 1], self.context_levels[order]
        return np.repeat(np.arange(low, high, dtype=np.uint32), np.diff(self.first[low : high + 1]))

    def ngrams(self, order: int) -> Ids:
        """The words of each n-gram of an order, remotest position first, in the order of the nodes."""
        table = np.empty((self.size(order), order), dtype=np.uint32)
        table[:, -1] = self.words[self.nodes(order)]
        contexts = self.parents(order).astype(np.int64)
        for column in range(order - 1):
            table[:, column] = self.context_words[contexts]
            if column < order - 2:
                contexts = np.searchsorted(self.context_first, contexts, side="right") - 1
        return table


class SkipCounts(Counts):
    """Read-only frequencies of skip n-grams; has the same face as `Counts`."""

    trie: SkipTrie

    def __init__(self, vocabulary: Vocabulary, trie: SkipTrie, frequencies: Frequencies, *, sentences: int = 0) -> None:
        super().__init__(vocabulary, trie, frequencies, edge="repeat", sentences=sentences)

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of the longest context, remotest listed first."""
        return self.trie.positions

    @property
    def start_context(self) -> tuple[int, int]:
        """Where sentences begin is decided by the positions; there is no single such context."""
        return 0, 0

    @property
    def context_length(self) -> int:
        """How many words back the highest order looks."""
        return max(self.positions, default=0)

    def layer(self, order: int) -> Layer:
        """What smoothing reads of one order."""
        return Layer(self.trie, self.frequencies, *self.trie.context_levels[order - 1 : order + 1])

    def _walk(self) -> Callable[[Ids, Ids, Ids], object]:
        trie, positions = self.trie, np.array(self.positions, dtype=np.int64)
        tables = trie.words, trie.first, trie.context_words, trie.context_first, positions
        return lambda ids, *out: skip_kernels.walk(*tables, ids, len(self.vocabulary), *out)

    def nodes(self, ngrams_BC: Ids) -> Ids:
        """The node of each row (remotest position first, word last), 0 where the n-gram is not there."""
        trie, start = self.trie, len(self.vocabulary)
        out = np.zeros(len(ngrams_BC), dtype=np.uint32)
        if ngrams_BC.shape[1] <= self.order:
            rows = np.ascontiguousarray(ngrams_BC, dtype=np.uint32)
            skip_kernels.descend(trie.words, trie.first, trie.context_words, trie.context_first, start, rows, out)
        return out

    def settings(self) -> dict[str, Any]:
        own = {"positions": list(self.positions), "context_levels": list(self.trie.context_levels)}
        return super().settings() | own

    def arrays(self) -> dict[str, Ids | Frequencies]:
        """The arrays by the names they have on disk."""
        own = {"context_words": self.trie.context_words, "context_first": self.trie.context_first}
        return super().arrays() | own

    def with_frequencies(self, frequencies: Frequencies, *, sentences: int | None = None) -> SkipCounts:
        """The same n-grams with other frequencies; the trie is shared."""
        kept = self.sentences if sentences is None else sentences
        return SkipCounts(self.vocabulary, self.trie, frequencies, sentences=kept)


def check_positions(positions: Sequence[int]) -> tuple[int, ...]:
    if len(positions) >= MAX_ORDER:
        raise ConfigError(f"There may be up to {MAX_ORDER - 1} context positions, but there are {len(positions)}.")
    for position in positions:
        if not 1 <= position <= FARTHEST:
            raise ConfigError(
                f"Context positions are between 1 (the previous word) and {FARTHEST}, but one is {position}."
            )
    if len(set(positions)) < len(positions):
        raise ConfigError(f"A context position can be used once, but they are {', '.join(map(str, positions))}.")
    return tuple(positions)


def is_contiguous(positions: Sequence[int]) -> bool:
    """Whether the positions are N-1, …, 2, 1, so that plain counts with edge `repeat` are the same thing."""
    return tuple(positions) == tuple(range(len(positions), 0, -1))


def build(ids: Ids, *, vocab_size: int, positions: Sequence[int]) -> tuple[SkipTrie, Frequencies]:
    """The skip n-grams of a text (`<s> w … </s>` per sentence) and how often each occurs."""
    start, order = vocab_size, len(positions) + 1
    predicted = ids != start
    words_T = ids[predicted]
    unigrams = np.arange(vocab_size + 1, dtype=np.uint32)
    words, frequencies = [np.zeros(1, dtype=np.uint32), unigrams], [np.zeros(1, dtype=np.int64)]
    frequencies.append(np.bincount(words_T, minlength=vocab_size + 1))
    suffix = [np.zeros(vocab_size + 2, dtype=np.uint32)]
    levels, context_levels = [0, 1, vocab_size + 2], [0, 1]
    first, context_first = [np.array([1])], [np.array([1])]
    context_words = [np.zeros(1, dtype=np.uint32)]
    contexts_T, nodes_T = np.zeros(len(words_T), dtype=np.uint32), 1 + words_T
    back_T = np.empty(len(ids), dtype=np.uint32)
    for n in range(2, order + 1):
        skip_kernels.words_back(ids, start, positions[order - n], back_T)
        if n == 2:
            contexts_T, size = 1 + back_T[predicted], vocab_size + 1
            context_words.append(unigrams)
        else:
            pairs = Pairs.of(contexts_T, back_T[predicted])
            context_first.append(context_levels[-1] + pairs.starts(context_levels[-2], context_levels[-1]))
            context_words.append(pairs.second)
            contexts_T, size = (context_levels[-1] + pairs.ranks).astype(np.uint32), len(pairs.second)
        context_levels.append(context_levels[-1] + size)
        grams = Pairs.of(contexts_T, words_T)
        first.append(levels[-1] + grams.starts(context_levels[-2], context_levels[-1]))
        words.append(grams.second)
        frequencies.append(grams.counts)
        suffix.append(grams.one_each(nodes_T))
        nodes_T = (levels[-1] + grams.ranks).astype(np.uint32)
        levels.append(levels[-1] + len(grams.second))
    first.append(np.array([levels[-1]]))
    if order > 1:
        context_first.append(np.array([context_levels[-1]]))
    ngrams = np.concatenate(words), np.concatenate(first).astype(np.uint32), np.concatenate(suffix), tuple(levels)
    contexts = np.concatenate(context_words), np.concatenate(context_first).astype(np.uint32), tuple(context_levels)
    return SkipTrie(*ngrams, tuple(positions), *contexts), np.concatenate(frequencies).astype(np.uint32)


@dataclass(frozen=True, slots=True)
class Pairs:
    """The different pairs of two columns, sorted, and where each row stands among them."""

    first: Ids
    second: Ids
    ranks: Ints
    counts: Ints

    @staticmethod
    def of(first_T: Ids, second_T: Ids) -> Pairs:
        """Sort and rank."""
        keys, ranks, counts = np.unique(
            (first_T.astype(np.uint64) << np.uint64(32)) | second_T, return_inverse=True, return_counts=True
        )
        return Pairs((keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32), ranks, counts)

    def starts(self, low: int, high: int) -> Ints:
        """For each of low..high-1, how many pairs have a smaller first part."""
        return np.searchsorted(self.first, np.arange(low, high, dtype=np.uint32))

    def one_each(self, values_T: Ids) -> Ids:
        """The value that goes with each pair; rows of the same pair have the same one."""
        out = np.empty(len(self.second), dtype=np.uint32)
        out[self.ranks] = values_T
        return out
