"""The compact form of an n-gram model: counts in bits, and probabilities worked out when somebody asks.

It answers what the compiled form answers, from about a twelfth of the bytes. It holds the counts that the smoothing
family reads, and then its states are the same numbers; or, of models that are not determined by counts, ranks of
probabilities. `compact_layout` says how the bits lie, `compact_making` makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from modlm.counts.counts import MOST, Counts, Frequencies
from modlm.counts.linking import unsound
from modlm.counts.trie import Trie
from modlm.ground import bit_kernels
from modlm.ground.arrays import AnyFloats, Floats, Ids, Ints, Words, even_ranges, in_parallel, read_only, threads
from modlm.model.ngram import compact_coding_kernels, compact_kernels, compact_query_kernels
from modlm.model.ngram import compact_layout as c
from modlm.model.ngram.compiled import Compiled, empty_records, parts_of, rows_for
from modlm.model.ngram.pruning import keep_nodes
from modlm.store.npy import copy_to, in_pieces, zeros_beside

LANES = 32  # stretches of a text walked side by side in each thread, at most


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
        longest = max(map(len, discounts), default=1)
        rows = [np.pad(row, (0, longest - len(row)), mode="edge") for row in discounts]
        self._bits, self._levels = (
            (self.data, table, np.stack(rows) if rows else np.zeros((1, 1))),
            np.array(levels, np.int64),
        )

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
            compact_query_kernels.look_ahead(*self._bits, near_J3, weights_J2)
        return self.unigrams.astype(np.float64), near_J3, weights_J2

    @cached_property
    def _start_chain(self) -> Ints:
        """The contexts before the first word of a sentence, by their number of words; entry 0 is the longest."""
        chain = np.zeros((c.DEEPEST + 1, 3), np.int64)
        chain[0, 0] = compact_query_kernels.chain_of(self.data, self.table, self._levels, self.start, chain)
        return chain

    def score(self, ids: Ids, *, workers: int | None = None) -> Floats:
        """P of each word of a text of whole sentences, 1 at each `<s>`."""
        out = np.empty(len(ids))
        walk = partial(
            compact_query_kernels.score_text, *self._bits, *self._near, self._start_chain, ids, self.vocab_size
        )
        parts = parts_of(ids, self.vocab_size, LANES, workers)
        in_parallel([partial(walk, cuts, out) for cuts in parts], workers=workers)
        return out

    def advance(self, states: Ints, words: Ids) -> tuple[Ints, Ints, Floats]:
        """The states after one more word each, the n-grams found, and the probability of the word."""
        new_states, nodes = np.empty((2, len(states)), dtype=np.int64)
        out, start, last = np.empty(len(states)), self.start, self.vocab_size
        at = (*self._bits, *self._near)
        compact_query_kernels.advance(*at, self._levels, start, last, states, words, new_states, nodes, out)
        return new_states, nodes, out

    def below(self, states: Ints) -> tuple[Ints, Floats]:
        """The context one word shorter than each state, and the fallback of the state."""
        shorter, fallbacks = np.zeros(len(states), np.int64), np.full(len(states), self.fallback)
        compact_query_kernels.below(*self._bits, self._levels, states, shorter, fallbacks)
        return shorter, fallbacks

    def distributions(self, states: Ints, out_BJ: AnyFloats | None = None, *, as_logs: bool = False) -> AnyFloats:
        """P of every word after each state, or log P; fills `out_BJ` when given."""
        out_BJ = rows_for(states, self.vocab_size, self.dtype, out_BJ)
        with np.errstate(divide="ignore"):
            lowest = np.log(self.unigrams) if as_logs else self.unigrams
        at = (*self._bits, self._near[0], lowest, as_logs, self._levels)
        compact_query_kernels.distributions(*at, states, out_BJ)
        return out_BJ

    def is_sound(self) -> bool:
        """Whether everything that the table speaks of lies inside of the array: then no query leads out of it."""
        sizes = (1, *self.sizes)
        return all(self._fits(self.table[n], sizes[n - 1], sizes[n], first=n == 1) for n in range(1, self.order + 1))

    def _fits(self, row: Ints, contexts: int, size: int, *, first: bool) -> bool:
        """Whether the parts of one order do."""
        sound = partial(bit_kernels.sound, self.data)
        flags = [int(vector) for vector in row[c.LEVELS : c.PROBS - 2 : 2]]
        counted = row[c.LEAST] < 1 << 40 and sound(flags[0], size) and all(map(sound, flags))
        if row[c.SIZE] != size or not (counted or self.given):
            return False
        return first or bool(
            row[c.LOW_BITS] < 40
            and sound(int(row[c.POINTERS]), size + contexts)
            and sound(int(row[c.HIGH]))
            and (row[c.BIG] == 0 or sound(int(row[c.BIG]), contexts))
            and all(self._ranks_fit(int(place)) for place in (row[c.FALLBACKS], row[c.PROBS]) if place or self.given)
        )

    def _ranks_fit(self, place: int) -> bool:
        return 0 < place < len(self.data) and 0 < self.data[place] < 40

    @property
    def given(self) -> bool:
        """Whether it holds probabilities, not counts."""
        return len(self.table) > 2 and bool(self.table[2, c.PROBS])

    def trie(self) -> Trie:
        """The n-grams in arrays of their own; offsets have 64 bits where 32 do not tell all n-grams apart."""
        levels = self.levels
        wide: Any = np.uint64 if self.levels[-1] > MOST else np.uint32
        words, suffix = np.zeros(levels[-1], np.uint32), np.zeros(levels[-1], wide)
        first = np.zeros(levels[-2] + 1, wide)
        words[1 : levels[2]] = np.arange(levels[2] - 1)
        first[list(levels[:-2])], first[-1] = levels[1:-1], levels[-1]
        for n in range(2, self.order + 1):
            links = partial(compact_coding_kernels.decode, *self._bits[:2], self._levels, n)
            parts = even_ranges(levels[n] - levels[n - 1], 8 * threads())
            if not all(in_parallel([partial(links, a, b, words, first, suffix) for a, b in parts])):
                raise unsound()
        return Trie(words, first, suffix, levels)

    def frequencies(self, kind: np.dtype[np.unsignedinteger]) -> Frequencies:
        """The counts that the smoothing reads."""
        out = np.zeros(self.levels[-1], kind)
        self._all(compact_kernels.decode_counts, lambda n: (), out)
        return out

    def compiled(self) -> Compiled:
        """The fast form of given probabilities; what was put in to make the n-grams whole is taken out again."""
        trie, levels = self.trie(), self.levels
        probs, backoffs = np.zeros(levels[-1]), np.ones(levels[-2])
        self._all(compact_kernels.shares_of, lambda n: (self._bits[2],), probs, lowest=2)
        for n in range(2, self.order + 1):
            own = slice(levels[n - 1], levels[n])
            first = trie.first[own.start : own.stop + 1]
            compact_kernels.backoffs_of(*self._bits[:2], n, first, trie.suffix, probs, backoffs[own])
        begin = min(int(self.table[1, c.VALUES]), len(self.data) - 1)
        backoffs[0], probs[1 : 1 + self.vocab_size] = self.fallback, self.unigrams
        probs[1 + self.vocab_size] = self.data[begin : begin + 1].view(np.float64)[0]
        nodes, leaves = empty_records(trie, self.dtype)
        nodes["prob"][:-1], leaves["prob"], nodes["backoff"][:-1] = probs[: levels[-2]], probs[levels[-2] :], backoffs
        whole = Compiled(trie.words, nodes, leaves, levels, self.start)
        keep = (probs >= 0) | (np.arange(len(probs)) < levels[2])
        rank = np.concatenate(([0], np.cumsum(keep)))
        if not keep[: levels[-2]][np.diff(rank[trie.first]) > 0].all():
            raise unsound()
        return whole if keep.all() else keep_nodes(whole, keep)

    def _all(
        self, kernel: Callable[..., None], also: Callable[[int], tuple[Floats, ...]], out: np.ndarray, lowest: int = 1
    ) -> None:  # fmt: skip
        """Fill an entry for each n-gram, order by order."""
        for n in range(lowest, self.order + 1):
            own = out[self.levels[n] : self.levels[n + 1]]
            parts = even_ranges(len(own), 4 * threads())
            in_parallel([partial(kernel, *self._bits[:2], n, *also(n), a, b, own[a:b]) for a, b in parts])


def occurrences(read: Counts, starts: int) -> Frequencies:
    """The occurrences of n-grams, from the counts that Kneser-Ney reads and how often `<s>` occurs.

    A continuation count is the number of an n-gram's left extensions, its occurrences are the sum of theirs; what
    begins with one `<s>` has none and keeps its own.
    """
    trie, found = read.trie, zeros_beside(read.frequencies, len(read.trie), read.frequencies.dtype)
    copy_to(found[trie.nodes(trie.order)], read.frequencies[trie.nodes(trie.order)])
    for n in range(trie.order, 1, -1):
        if read.edge == "once" and n < trie.order:
            own = read.starting_with_start()[n - 1]
            found[own] = read.frequencies[own]
        for part in in_pieces(trie.levels[n], trie.levels[n + 1], trie.suffix, found):
            compact_coding_kernels.add_along(trie.suffix, found, *part, found)
    found[1 + len(read.vocabulary)] = starts
    return found
