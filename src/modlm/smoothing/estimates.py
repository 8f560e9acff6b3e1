"""Counts smoothed by a family.

A family that learns does so from words that were not counted: those of a held-out text or, without one, the counted
ones, each left out of the counts of every order when it is looked at.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from modlm.counts import trie_kernels
from modlm.counts.counts import Counts
from modlm.counts.trie import ROOT
from modlm.errors import ConfigError
from modlm.ground.arrays import Floats, Ids, Ints
from modlm.smoothing.smoother import ContextSums, HeldOutWords, Smoother, fallback_of

log = logging.getLogger("modlm")
MOST = 1 << 20  # n-grams that are left out, evenly spaced: more would not change a handful of parameters


@dataclass(frozen=True, eq=False)
class Estimates:
    """Counts smoothed by a family: all that columns, heuristic weights and the compiled form need."""

    smoother: Smoother
    counts: Counts
    """The counts that the family reads: continuation counts for Kneser-Ney."""
    discounts: tuple[Floats, ...]
    """For each order, what counts 0, 1, 2, … lose."""
    notes: tuple[str, ...] = ()
    _sums: dict[int, ContextSums] = field(default_factory=dict, repr=False)

    def sums(self, order: int) -> ContextSums:
        """Sums over the followers of every context of an order; computed once."""
        if order not in self._sums:
            layer = self.counts.layer(order)
            self._sums[order] = self.sums_of(order, layer.low, layer.high)
        return self._sums[order]

    def sums_of(self, order: int, low: int, high: int) -> ContextSums:
        """The same for the contexts low..high-1 alone."""
        total, followers, kept = np.empty((3, high - low))
        trie, table = self.counts.trie, self.discounts[order - 1]
        trie_kernels.context_sums(trie.first, self.counts.frequencies, table, low, high, total, followers, kept)
        return ContextSums(total, followers, kept, order, self.counts.order, len(self.counts.vocabulary))

    def fallback(self, contexts: ContextSums) -> Floats:
        """The family's fallback, and 1 where the context was never seen or has no mass left."""
        return fallback_of(self.smoother, contexts)


def estimate(
    smoother: Smoother,
    counts: Counts,
    *,
    discounts: Sequence[Sequence[float]] | None = None,
    held_out: Ids | None = None,
) -> Estimates:
    """Smooth raw counts; `discounts` (what counts 1, 2, … lose, per order or once for all) replaces the estimates.

    A family that learns does so from a `held_out` text, as ids; without one, from the counts, leaving one out.
    """
    used = counts.continuation() if smoother.continuation else counts
    if discounts is not None:
        if not smoother.discounting:
            raise ConfigError(f"{smoother.name} takes nothing from counts, so discounts cannot be given for it.")
        made = Estimates(smoother, used, given_discounts(discounts, counts.order))
    else:
        found = [smoother.discounts(used.counts_of_counts(n, smoother.largest)) for n in range(1, counts.order + 1)]
        notes = tuple(f"order {n}: {note}" for n, (_, note) in enumerate(found, start=1) if note)
        made = Estimates(smoother, used, tuple(table for table, _ in found), notes)
    for note in made.notes:
        log.warning("%s, %s", smoother.name, note)
    if not smoother.learns:
        return made
    words = words_left_out(made) if held_out is None else words_of(made, held_out)
    return replace(made, smoother=smoother.learned(words))


def given_discounts(discounts: Sequence[Sequence[float]], order: int) -> tuple[Floats, ...]:
    """Discounts from the user, checked: one list for all orders, or one for each."""
    if any(np.ndim(row) != 1 for row in discounts):
        raise ConfigError(f"discounts must hold for each order a list such as [0.5, 1.0, 1.5], but are {discounts!r}.")
    if len(discounts) not in (1, order):
        raise ConfigError(
            f"discounts must be one list, or one for each of the {order} orders, but has {len(discounts)}."
        )
    for row in discounts:
        for r, value in enumerate(row, start=1):
            if not 0 <= value < r:
                raise ConfigError(
                    f"The discount of a count of {r} must be at least 0 and less than {r}, but is {value}."
                )
        if not row:
            raise ConfigError("discounts must not be empty; give for example 0.5,1.0,1.5.")
    rows = list(discounts) * (order if len(discounts) == 1 else 1)
    return tuple(np.array([0.0, *row]) for row in rows)


def words_of(estimates: Estimates, ids: Ids) -> HeldOutWords:
    """The words of a held-out text."""
    counts = estimates.counts
    predicted = ids < len(counts.vocabulary)
    contexts_TN, nodes_TN = (table_TN[predicted] for table_TN in counts.walk(ids))
    sums_T3N = np.zeros((len(nodes_TN), 3, counts.order))
    for n in range(1, counts.order + 1):
        sums, low, context_T = estimates.sums(n), counts.layer(n).low, contexts_TN[:, n - 1].astype(np.int64)
        known_T = context_T - low < len(sums.total)
        for k, values in enumerate((sums.total, sums.followers, sums.kept)):
            sums_T3N[known_T, k, n - 1] = values[context_T[known_T] - low]
    frequencies_TN = np.where(nodes_TN == ROOT, 0, counts.frequencies[nodes_TN])
    return _words(estimates, sums_T3N, frequencies_TN, np.ones(len(nodes_TN)))


def words_left_out(estimates: Estimates) -> HeldOutWords:
    """Every counted word, left out of the counts itself."""
    counts, trie = estimates.counts, estimates.counts.trie
    if estimates.smoother.continuation:
        raise ConfigError(
            f"{estimates.smoother.name} reads continuation counts, from which words cannot be left out. Give it a "
            f"held-out text to learn from."
        )
    longest = [counts.trie.nodes(counts.order)]  # of each position: with one `<s>`, what begins with it may be shorter
    longest += counts.starting_with_start()[1:-1] if counts.edge == "once" else []
    nodes_T = np.concatenate([np.arange(nodes.start, nodes.stop) for nodes in longest])
    nodes_T = nodes_T[counts.frequencies[nodes_T] > 0]
    nodes_T = nodes_T[:: max(1, len(nodes_T) // MOST)]
    times_T = counts.frequencies[nodes_T].astype(np.float64)
    sums_T3N, frequencies_TN = np.zeros((len(nodes_T), 3, counts.order)), np.zeros((len(nodes_T), counts.order))
    for n in range(counts.order, 0, -1):
        here = (nodes_T >= trie.levels[n]) & (nodes_T < trie.levels[n + 1])
        nodes, sums = nodes_T[here], estimates.sums(n)
        parents = np.searchsorted(trie.first, nodes, side="right") - 1 - counts.layer(n).low
        times = counts.frequencies[nodes].astype(np.float64)
        frequencies_TN[here, n - 1] = times - 1
        sums_T3N[here, 0, n - 1] = sums.total[parents] - 1
        sums_T3N[here, 1, n - 1] = sums.followers[parents] - (times == 1)
        nodes_T = np.where(here, trie.suffix[nodes_T], nodes_T)
    sums_T3N[:, 2] = sums_T3N[:, 0]
    return _words(estimates, sums_T3N, frequencies_TN, times_T)


def _words(estimates: Estimates, sums_T3N: Floats, frequencies_TN: Floats | Ints, times_T: Floats) -> HeldOutWords:
    counts = estimates.counts
    total_TN, followers_TN, kept_TN = np.moveaxis(sums_T3N, 1, 0)
    orders = np.arange(1, counts.order + 1)
    contexts = ContextSums(total_TN, followers_TN, kept_TN, orders, counts.order, len(counts.vocabulary))
    probs_TN = np.full(total_TN.shape, 1.0 / len(counts.vocabulary))
    for n, table in enumerate(estimates.discounts):
        r, kept, seen = frequencies_TN[:, n].astype(np.int64), kept_TN[:, n], kept_TN[:, n] > 0
        tops = np.where(r > 0, r - table[np.minimum(r, len(table) - 1)], 0.0)
        probs_TN[seen, n] = tops[seen] / kept[seen]
    return HeldOutWords(probs_TN, contexts, times_T)
