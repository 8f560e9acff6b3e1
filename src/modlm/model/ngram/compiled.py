"""The compiled form of an n-gram model: for each n-gram its whole probability, for each context its backoff.

It is what an ARPA file holds. Every query is then a search, and everything that made the probability (columns,
heuristic weights) has been multiplied out; `compile_estimates` does that from smoothed counts, `pruning` takes n-grams
out of it, `from_arpa` reads one that somebody else made.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from modlm.counts import trie_kernels
from modlm.counts.counts import MOST, Counts
from modlm.counts.linking import check_sound
from modlm.counts.skip import SkipCounts
from modlm.counts.trie import ROOT, Trie
from modlm.errors import ConfigError
from modlm.ground.arrays import AnyFloats, Floats, Ids, Ints, even_ranges, in_parallel, read_only, threads
from modlm.model.ngram import compiled_kernels, index_kernels, without_numba
from modlm.model.ngram.index import Index
from modlm.smoothing.estimates import Estimates
from modlm.store.npy import copy_to, forget, in_pieces, zeros_beside

Records = NDArray[np.void]

CHUNK = 1 << 18  # contexts estimated at a time: three temporary floats each
LANES = 256  # stretches of a text walked side by side in each thread, at most
INDEXED_LANES = 64  # the same with an index, which asks for less memory at a time
LANE = 512  # words of a stretch, at least: at the end of a text some lanes are through before others
PART = 1 << 13  # words that one thread takes at a time, if there are so many


def node_type(real: DTypeLike) -> np.dtype[np.void]:
    """An n-gram below the highest order, all that a query reads of it side by side."""
    return np.dtype([("first", "<u4"), ("suffix", "<u4"), ("prob", real), ("backoff", real)])


def leaf_type(real: DTypeLike) -> np.dtype[np.void]:
    """An n-gram of the highest order, which nothing follows."""
    wide = np.dtype(real).itemsize == 8
    return np.dtype([("suffix", "<u4"), *([("unused", "<u4")] if wide else []), ("prob", real)])


def empty_records(trie: Trie, dtype: DTypeLike) -> tuple[Records, Records]:
    """Nodes and leaves with the links of a trie, and without probabilities; one node more ends the last range."""
    inner = trie.contexts
    nodes = zeros_beside(trie.words, inner + 1, node_type(dtype))
    leaves = zeros_beside(trie.words, len(trie) - inner, leaf_type(dtype))
    for low, high in in_pieces(0, inner + 1, nodes, trie.first):
        nodes["first"][low:high], nodes["backoff"][low:high] = trie.first[low:high], 1.0
    copy_to(nodes["suffix"][:inner], trie.suffix[:inner])
    copy_to(leaves["suffix"], trie.suffix[inner:])
    return nodes, leaves


class Compiled:
    """Probabilities and backoffs over a trie; `start` is the state before the first word of a sentence.

    `nodes` are the n-grams below the highest order with what a query reads of them in one place, so that looking at a
    context costs one cache line; `leaves` are those of the highest order. All arrays are read-only.
    """

    def __init__(self, words: Ids, nodes: Records, leaves: Records, levels: tuple[int, ...], start: int) -> None:
        self.words, self.nodes, self.leaves = (read_only(array) for array in (words, nodes, leaves))
        self.levels, self.start = levels, start
        self.index: Index | None = None

    def resident(self) -> Compiled:
        """The same in memory, with an index, for long use: some seconds for a gigabyte, and then faster.

        Memory of one's own comes in large pages, which mapped files mostly do not have, so that finding out where a
        page is costs less.
        """
        own = np.array(self.words), np.array(self.nodes), np.array(self.leaves)
        for array in self.arrays:
            forget(array)
        copy = Compiled(*own, self.levels, self.start)
        copy.index = Index.of(copy)
        return copy

    @property
    def arrays(self) -> tuple[Ids, Records, Records]:
        return self.words, self.nodes, self.leaves

    @property
    def order(self) -> int:
        return len(self.levels) - 2

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(high - low for low, high in zip(self.levels[1:], self.levels[2:], strict=False))

    @property
    def contexts(self) -> int:
        """The number of nodes that may have followers, the root among them."""
        return len(self.nodes) - 1

    @property
    def vocab_size(self) -> int:
        """J, the number of words that can be predicted."""
        return self.levels[2] - 2

    @property
    def dtype(self) -> np.dtype[np.floating[Any]]:
        return self.leaves.dtype["prob"]

    @cached_property
    def start_nodes(self) -> Ids:
        """The contexts before the first word of a sentence: entry n has n words, 0 where there is none."""
        out = np.zeros(self.order + 1, np.uint32)
        node = self.start
        while node:
            out[np.searchsorted(self.levels, node, side="right") - 1] = node
            node = self.shorter(node)
        return out

    @cached_property
    def unigrams(self) -> AnyFloats:
        return self.probs_of(np.arange(1, 1 + self.vocab_size))

    def probs_of(self, nodes: Ints) -> AnyFloats:
        inner = nodes < self.contexts
        out = np.empty(len(nodes), self.dtype)
        out[inner] = self.nodes["prob"][nodes[inner]]
        out[~inner] = self.leaves["prob"][nodes[~inner] - self.contexts]
        return out

    def followers(self, context: int) -> tuple[int, int]:
        """The nodes that follow a context, as the first and the one behind the last; none where a damaged file errs."""
        low, high = int(self.nodes["first"][context]), int(self.nodes["first"][context + 1])
        return low, max(low, min(high, len(self.words)))

    def follower(self, context: int, word: int) -> int:
        """The node of a word after a context, 0 when it has none."""
        low, high = self.followers(context)
        place = low + int(np.searchsorted(self.words[low:high], np.uint32(word)))
        return place if place < high and self.words[place] == word else 0

    def shorter(self, context: int) -> int:
        """The context one step down, always a smaller node."""
        below = int(self.nodes["suffix"][context])
        return below if below < context else 0

    @cached_property
    def trie(self) -> Trie:
        """The n-grams alone, in arrays of their own, walked through: a folder that was mapped may be damaged."""
        first, suffix = np.empty(len(self.nodes), np.uint32), np.empty(len(self.words), np.uint32)
        copy_to(first, self.nodes["first"])
        copy_to(suffix[: self.contexts], self.nodes["suffix"][:-1])
        copy_to(suffix[self.contexts :], self.leaves["suffix"])
        trie = Trie(self.words, first, suffix, self.levels)
        check_sound(trie)
        forget(self.words)
        return trie

    def score(self, ids: Ids, *, workers: int | None = None) -> Floats:
        walk = self._walk()
        out = np.empty(len(ids))
        parts = parts_of(ids, self.vocab_size, LANES if self.index is None else INDEXED_LANES, workers)
        in_parallel([partial(walk, ids, self.vocab_size, cuts, out) for cuts in parts], workers=workers)
        return out

    def _walk(self) -> Callable[..., None]:
        """The kernel that scores a text, with all it needs of the model."""
        if self.index is not None:
            return partial(index_kernels.score_indexed, *self.index.arrays, self.order.bit_length())
        return partial(compiled_kernels.score_text, *self.arrays, self.start)

    def advance(self, states: Ints, words: Ids) -> tuple[Ints, Ints, Floats]:
        """The states after one more word each, the n-grams found, and the probability of the word."""
        if without_numba.is_faster(len(states)):
            return without_numba.advance(self, states, words)
        new_states, nodes = np.empty((2, len(states)), dtype=np.int64)
        out = np.empty(len(states))
        compiled_kernels.advance(*self.arrays, self.vocab_size, self.start, states, words, new_states, nodes, out)
        return new_states, nodes, out

    def below(self, states: Ints) -> tuple[Ints, Floats]:
        """The context one step down from each state, and the backoff of the state."""
        own = self.nodes[states]
        return own["suffix"].astype(np.int64), own["backoff"].astype(np.float64)

    def distributions(self, states: Ints, out_BJ: AnyFloats | None = None, *, as_logs: bool = False) -> AnyFloats:
        """P of every word after each state, or log P, in the precision of the model; fills `out_BJ` when given."""
        out_BJ = rows_for(states, self.vocab_size, self.dtype, out_BJ)
        with np.errstate(divide="ignore"):
            if without_numba.is_faster(len(states)):
                without_numba.distributions(self, states, out_BJ)
                return np.log(out_BJ, out=out_BJ) if as_logs else out_BJ
            lowest = np.log(self.unigrams) if as_logs else self.unigrams
        compiled_kernels.distributions(*self.arrays, lowest, as_logs, states, out_BJ)
        return out_BJ


def parts_of(ids: Ids, start: int, most: int, workers: int | None = None) -> list[Ints]:
    """What threads take of a text at a time: where to cut it into stretches of whole sentences, `most` of them a part.

    Stretches are of about the same length; some may be empty. Parts are small, so that a busy core holds up little.
    """
    parts = max(1, min(4 * threads(workers) if threads(workers) > 1 else 1, len(ids) // PART))
    lanes = int(np.clip(len(ids) // parts // LANE, 1, most))
    starts = np.flatnonzero(ids == start)
    places = np.searchsorted(starts, np.linspace(0, len(ids), parts * lanes + 1)[1:-1])
    cuts = np.concatenate(([0], np.append(starts, len(ids))[places], [len(ids)])).astype(np.int64)
    return [cuts[at : at + lanes + 1] for at in range(0, parts * lanes, lanes)]


def rows_for(states: Ints, vocab_size: int, dtype: DTypeLike, out_BJ: AnyFloats | None) -> AnyFloats:
    """An array for a whole distribution after each state: the one given, if it fits, or a new one."""
    if out_BJ is None:
        return np.empty((len(states), vocab_size), dtype=dtype)
    if out_BJ.shape != (len(states), vocab_size):
        raise ConfigError(f"{len(states)} rows of {vocab_size} are written, but the array has {out_BJ.shape}.")
    return out_BJ


def over_contexts(
    levels: tuple[int, ...], order: int, task: Callable[[int, int], None], *, workers: int | None = None
) -> None:  # fmt: skip
    """task(low, high) for ranges that cover the contexts of an order's n-grams, in parallel."""
    low, high = levels[order - 1 : order + 1]
    ranges = even_ranges(high - low, 8 * threads(workers))
    in_parallel([partial(task, low + begin, low + end) for begin, end in ranges], workers=workers)


def unigrams_of(estimates: Estimates, lowest: Floats, dtype: DTypeLike = np.float32) -> tuple[AnyFloats, float]:
    """P of each word after the empty context, as `compile_estimates` has it, and what falls through there."""
    trie, levels = estimates.counts.trie, estimates.counts.trie.levels
    words = trie.words[: levels[2]], trie.first[:2], trie.suffix[: levels[2]]
    nodes, leaves = empty_records(Trie(*words, levels[:3]), dtype)
    sums = estimates.sums_of(1, 0, 1)
    given = estimates.counts.frequencies, estimates.discounts[0], 0, 1, sums.kept, estimates.fallback(sums)
    compiled_kernels.interpolate(*given, nodes, leaves, 1)
    probs = leaves["prob"][: len(lowest)]
    probs += (nodes["backoff"][ROOT] * lowest).astype(dtype)
    return np.array(probs), float(nodes["backoff"][ROOT])


def compile_estimates(
    estimates: Estimates,
    raw: Counts,
    *,
    lowest: Floats,
    prune: tuple[int, ...] = (),
    dtype: DTypeLike = np.float32,
    workers: int | None = None,
) -> Compiled:
    """Multiply out the fallback recursion, from the unigrams up.

    `lowest` is the distribution that unigrams fall back to. `prune` holds a threshold for each order: n-grams whose raw
    count is at most that get no mass of their own (their context's backoff takes it); removing their nodes is
    `pruning`'s job.
    """
    if isinstance(raw, SkipCounts):
        raise ConfigError("Skip n-grams have no compiled form. Use them as a block of a mixture.")
    if len(raw.trie) > MOST:
        raise ConfigError(f"{len(raw.trie):,} n-grams: the fast form ends at {MOST:,}. Ask for the compact one.")
    counts, trie = estimates.counts, estimates.counts.trie
    nodes, leaves = empty_records(trie, dtype)
    thresholds = tuple(prune) + (prune[-1] if prune else 0,) * (trie.order - len(prune))

    def fill(order: int, frequencies: np.ndarray, low: int, high: int) -> None:
        table = estimates.discounts[order - 1]
        own, base = (leaves, trie.contexts) if order == trie.order else (nodes, 0)
        for begin in range(low, high, CHUNK):
            end = min(high, begin + CHUNK)
            sums = estimates.sums_of(order, begin, end)
            kept, fallback = sums.kept, estimates.fallback(sums)
            if thresholds[order - 1]:
                total, followers, left = np.empty((3, len(kept)))
                trie_kernels.context_sums(trie.first, frequencies, table, begin, end, total, followers, left)
                fallback = np.where(kept > 0, 1 - (1 - fallback) * left / np.where(kept > 0, kept, 1), 1.0)
                kept = left
            compiled_kernels.interpolate(frequencies, table, begin, end, kept, fallback, nodes, own, base)

    fill(1, counts.frequencies, 0, 1)  # the root has no probability: what unigrams fall back to is added here
    unigrams = leaves["prob"] if trie.order == 1 else nodes["prob"][1 : trie.levels[2]]
    unigrams[: len(lowest)] += (nodes["backoff"][ROOT] * lowest).astype(dtype)
    for order in range(2, trie.order + 1):
        frequencies, threshold = counts.frequencies, thresholds[order - 1]
        if threshold:
            frequencies = np.where(raw.frequencies > threshold, frequencies, 0)
        over_contexts(trie.levels, order, partial(fill, order, frequencies), workers=workers)
        for array in (trie.first, trie.suffix, frequencies, nodes, leaves):
            forget(array)  # where it is mapped
    return Compiled(trie.words, nodes, leaves, trie.levels, counts.start_context[0])
