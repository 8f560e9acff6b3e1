"""The compiled form of an n-gram model: for each n-gram its whole probability, for each context its backoff.

It is what an ARPA file holds. Every query is then a search, and everything that made the probability (columns, heuristic
weights) has been multiplied out; `compile_estimates` does that from smoothed counts, `pruning` takes n-grams out of it,
`from_arpa` reads one that somebody else made.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import DTypeLike

from modlm.arrays import AnyFloats, Floats, Ids, Ints, even_ranges, in_parallel, threads
from modlm.counts.counts import Counts
from modlm.counts.skip import SkipCounts
from modlm.counts.trie import ROOT, Trie
from modlm.errors import ConfigError
from modlm.model import few
from modlm.smoothing.smoother import Estimates

CHUNK = 1 << 18  # contexts estimated at a time: three temporary floats each
LANES = 128  # stretches of a text walked side by side in each thread
ONE_THREAD = 20_000  # words of a text below which a second thread does not pay


@dataclass(frozen=True, eq=False)
class Compiled:
    """Probabilities and backoffs over a trie; `start` is the state before the first word of a sentence."""

    trie: Trie
    probs: AnyFloats
    backoffs: AnyFloats
    start: int

    @property
    def arrays(self) -> tuple[Ids, Ids, Ids, AnyFloats, AnyFloats]:
        """The arrays as kernels take them."""
        return self.trie.words, self.trie.first, self.trie.suffix, self.probs, self.backoffs

    @property
    def vocab_size(self) -> int:
        """J, the number of words that can be predicted."""
        return self.trie.vocab_size

    def score(self, ids: Ids, *, workers: int | None = None) -> Floats:
        """P of each word of a text of whole sentences, 1 at each `<s>`."""
        from modlm.model.compiled_kernels import score_text

        out = np.empty(len(ids))
        parts = 1 if len(ids) < ONE_THREAD else threads(workers)
        cuts = self._cuts(ids, parts * LANES)
        tasks = [
            partial(score_text, *self.arrays, ids, self.vocab_size, self.start, cuts[part * LANES : (part + 1) * LANES + 1], out)
            for part in range(parts)
        ]
        in_parallel(tasks, workers=workers)
        return out

    def _cuts(self, ids: Ids, pieces: int) -> Ints:
        """Where to cut a text into pieces of whole sentences, of about the same length; some may be empty."""
        starts = np.flatnonzero(ids == self.vocab_size)
        places = np.searchsorted(starts, np.linspace(0, len(ids), pieces + 1)[1:-1])
        return np.concatenate(([0], np.append(starts, len(ids))[places], [len(ids)])).astype(np.int64)

    def advance(self, states: Ints, words: Ids) -> tuple[Ints, Ints, Floats]:
        """The states after one more word each, the n-grams found, and the probability of the word."""
        if few.answered_here(len(states)):
            return few.advance(self, states, words)
        from modlm.model.compiled_kernels import advance

        new_states, nodes = np.empty((2, len(states)), dtype=np.int64)
        out = np.empty(len(states))
        advance(*self.arrays, self.vocab_size, self.start, states, words, new_states, nodes, out)
        return new_states, nodes, out

    def distributions(self, states: Ints, out_BJ: AnyFloats | None = None) -> AnyFloats:
        """P of every word after each state, in the precision of the model; fills `out_BJ` when given."""
        if out_BJ is None:
            out_BJ = np.empty((len(states), self.vocab_size), dtype=self.probs.dtype)
        elif out_BJ.shape != (len(states), self.vocab_size):
            raise ConfigError(f"{len(states)} rows of {self.vocab_size} are written, but the array has {out_BJ.shape}.")
        if few.answered_here(len(states)):
            few.distributions(self, states, out_BJ)
            return out_BJ
        from modlm.model.compiled_kernels import distributions

        distributions(*self.arrays, states, out_BJ)
        return out_BJ


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
    count is at most that get no mass of their own (their context's backoff takes it); removing their nodes is `pruning`'s job.
    """
    from modlm.model.compiled_kernels import interpolate, pruned_sums

    if isinstance(raw, SkipCounts):
        raise ConfigError("Skip n-grams have no compiled form. Use them as a block of a mixture.")
    counts, trie = estimates.counts, estimates.counts.trie
    probs = np.zeros(len(trie), dtype=dtype)
    backoffs = np.ones(trie.contexts, dtype=dtype)
    thresholds = tuple(prune) + (prune[-1] if prune else 0,) * (trie.order - len(prune))

    def fill(order: int, low: int, high: int) -> None:
        for begin in range(low, high, CHUNK):
            end = min(high, begin + CHUNK)
            sums = estimates.sums_of(order, begin, end)
            kept, fallback = sums.kept, sums.fallback
            if thresholds[order - 1]:
                table = estimates.discounts[order - 1]
                left = np.empty_like(kept)
                pruned_sums(trie.first, counts.frequencies, raw.frequencies, thresholds[order - 1], table, begin, end, left)
                fallback = np.where(kept > 0, 1 - (1 - fallback) * left / np.where(kept > 0, kept, 1), 1.0)
                kept = left
            interpolate(
                trie.first, trie.suffix, counts.frequencies, raw.frequencies, thresholds[order - 1],
                estimates.discounts[order - 1], begin, end, kept, fallback, probs, backoffs,
            )  # fmt: skip

    fill(1, 0, 1)  # the root's own probability is 0, so what unigrams fall back to is added here
    probs[1 : 1 + len(lowest)] += (backoffs[ROOT] * lowest).astype(dtype)
    for order in range(2, trie.order + 1):
        low, high = trie.levels[order - 1], trie.levels[order]
        parts = threads(workers) * 4
        in_parallel([partial(fill, order, low + a, low + b) for a, b in even_ranges(high - low, parts)], workers=workers)
    node, _ = counts.start_context
    return Compiled(trie, probs, backoffs, node)
