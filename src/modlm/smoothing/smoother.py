"""What a smoothing family is, and what it makes of counts.

A family says three things: which counts it reads (frequencies, or Kneser-Ney's continuation counts), what it takes from
a count of r (its discounts, one table per order), and how much of a context's weight falls through to the next shorter
context (alpha in the paper's Eq. 3, beta in Eq. 4). Everything else is common to all:

    column     P_n(w | c) = (r - discount(r)) / kept(c)         kept(c) = the sum of that over the followers of c
    mixture    P(w | c)   = (1 - fallback(c)) P_n(w | c) + fallback(c) P(w | shorter c)

The column of a context that was never seen, or that discounting left without mass, is uniform, and its fallback is 1.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from modlm.arrays import Floats, Ints
from modlm.counts.counts import Counts
from modlm.errors import ConfigError

log = logging.getLogger("modlm")


class Smoother(Protocol):
    """A smoothing family; its members are in the table `SMOOTHERS`."""

    name: ClassVar[str]
    continuation: ClassVar[bool]
    """Whether lower orders are estimated from continuation counts."""
    discounting: ClassVar[bool]
    """Whether counts lose mass, so that `kept` tells the net more than `total` (a fourth feature)."""
    largest: ClassVar[int]
    """The largest r for which the number of n-grams with count r is needed."""

    def discounts(self, counts_of_counts: Ints) -> tuple[Floats, str]:
        """What counts 0, 1, 2, … lose (the last entry holds for all larger ones), and a note if a rule stepped in."""
        ...

    def fallback(self, total: Floats, followers: Floats, kept: Floats) -> Floats:
        """The weight that falls through, for contexts that were seen (total > 0 and kept > 0)."""
        ...


@dataclass(frozen=True, slots=True)
class OrderSums:
    """One entry for each context of an order."""

    total: Floats
    followers: Floats
    kept: Floats
    fallback: Floats

    @property
    def seen(self) -> np.ndarray:
        """Whether the context has a column of its own."""
        return self.kept > 0


@dataclass(frozen=True, eq=False)
class Estimates:
    """Counts smoothed by a family: all that columns, heuristic weights and the compiled form need."""

    smoother: Smoother
    counts: Counts
    """The counts that the family reads: continuation counts for Kneser-Ney."""
    discounts: tuple[Floats, ...]
    """For each order, what counts 0, 1, 2, … lose."""
    notes: tuple[str, ...] = ()
    _sums: dict[int, OrderSums] = field(default_factory=dict, repr=False)

    def sums(self, order: int) -> OrderSums:
        """Sums over the followers of every context of an order; computed once."""
        if order not in self._sums:
            layer = self.counts.layer(order)
            self._sums[order] = self.sums_of(order, layer.low, layer.high)
        return self._sums[order]

    def sums_of(self, order: int, low: int, high: int) -> OrderSums:
        """The same for the contexts low..high-1 alone."""
        from modlm.counts.trie_kernels import context_sums

        total, followers, kept = np.empty((3, high - low))
        context_sums(
            self.counts.trie.first,
            self.counts.frequencies,
            self.discounts[order - 1],
            low,
            high,
            total,
            followers,
            kept,
        )
        return OrderSums(total, followers, kept, self.fallback(total, followers, kept))

    def fallback(self, total: Floats, followers: Floats, kept: Floats) -> Floats:
        """The family's fallback, and 1 where the context was never seen or has no mass left."""
        seen = kept > 0
        one = np.ones_like(total)
        safe = self.smoother.fallback(
            np.where(seen, total, one), np.where(seen, followers, one), np.where(seen, kept, one)
        )
        return np.where(seen, np.clip(safe, 0.0, 1.0), one)


def estimate(smoother: Smoother, counts: Counts, *, discounts: Sequence[Sequence[float]] | None = None) -> Estimates:
    """Smooth raw counts; `discounts` (what counts 1, 2, … lose, per order or once for all) replaces the estimates."""
    used = counts.continuation() if smoother.continuation else counts
    if discounts is not None:
        if not smoother.discounting:
            raise ConfigError(f"{smoother.name} takes nothing from counts, so discounts cannot be given for it.")
        return Estimates(smoother, used, given_discounts(discounts, counts.order))
    tables, notes = [], []
    for order in range(1, counts.order + 1):
        table, note = smoother.discounts(used.counts_of_counts(order, smoother.largest))
        tables.append(table)
        if note:
            notes.append(f"order {order}: {note}")
    for note in notes:
        log.warning("%s, %s", smoother.name, note)
    return Estimates(smoother, used, tuple(tables), tuple(notes))


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
