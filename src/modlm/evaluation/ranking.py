"""How documents rank: shares and cuts from a histogram of fixed size, and examples from the best to the worst.

What is ranked is a number for which less is better: the logarithm of a perplexity, or a difference in bits a byte.
Memory does not grow with the documents, and `state` has all of it for a file, so that a killed process can go on.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from modlm.ground.arrays import Bools, Floats, Ints

LOW, STEP, BINS = -16.0, 1 / 2048, 1 << 18  # so perplexities are told apart to a twentieth of a percent
SHOWN = 10  # examples of each kind
SAMPLE = 1000  # documents among which those in the middle are looked for
BARS, TAIL = 80, 0.005  # of a histogram: how many, and the share of documents that it leaves out at each end
SNIPPET = 160  # letters of an example

Example = tuple[float, str, str]
"""What is ranked, where the document stands, and how it begins."""


class Ranking:
    """What is known of all documents that were ranked so far."""

    def __init__(self, *, examples: bool = False) -> None:
        self.counts: Ints = np.zeros(BINS, np.int64)
        self.kept: Ints = np.zeros(BINS, np.int64)
        self.documents = self.broken = self.words = self.unknown = self.strange = self.empty = 0
        self.best: list[Example] = []
        self.worst: list[Example] = []
        self.sample: list[tuple[float, Example]] = []
        self.examples = examples

    def add(self, values: Floats, kept: Bools, texts: Sequence[str], places: Sequence[str], number: int) -> None:
        """Some more documents; NaN where one has no words. `number` makes the draw of the sample."""
        there = np.flatnonzero(np.isfinite(values))
        self.documents += len(values)
        self.empty += len(values) - len(there)
        self.counts += np.bincount(bins_of(values[there]), minlength=BINS)
        self.kept += np.bincount(bins_of(values[there[kept[there]]]), minlength=BINS)
        if not self.examples:
            return
        order = there[np.argsort(values[there], kind="stable")]

        def some(chosen: Ints) -> list[Example]:
            return [(float(values[i]), places[i], " ".join(texts[i][: 4 * SNIPPET].split())[:SNIPPET]) for i in chosen]

        self.best = sorted(self.best + some(order[:SHOWN]), key=lambda one: one[0])[:SHOWN]
        self.worst = sorted(some(order[-SHOWN:]) + self.worst, key=lambda one: one[0])[-SHOWN:]
        draws = np.random.default_rng(number).random(len(there))
        limit = self.sample[-1][0] if len(self.sample) == SAMPLE else 1.0
        drawn = np.flatnonzero(draws < limit)
        new = zip(draws[drawn].tolist(), some(there[drawn]), strict=True)
        self.sample = sorted([*self.sample, *new], key=lambda one: one[0])[:SAMPLE]

    def cut(self, share: float) -> tuple[int, int]:
        """The bin below which at most this share lies, and how many documents in it belong to the share too."""
        below = np.cumsum(self.counts)
        wanted = int(share * below[-1] + 1e-9)
        place = int(np.searchsorted(below, wanted, side="right"))
        return place, wanted - int(below[place - 1] if place else 0)

    def middle(self) -> list[Example]:
        """Examples nearest to the median, of a sample."""
        median = LOW + STEP * self.cut(0.5)[0]
        near = sorted((one for _, one in self.sample), key=lambda one: abs(one[0] - median))[:SHOWN]
        return sorted(near, key=lambda one: one[0])

    def keep_best(self, share: float) -> None:
        place, more = self.cut(share)
        self.kept = np.where(np.arange(BINS) < place, self.counts, 0)
        self.kept[place : place + 1] = more

    def state(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in STATE}
        for name in ("counts", "kept"):
            places = np.flatnonzero(own[name])
            own[name] = [places.tolist(), own[name][places].tolist()]
        return own

    @classmethod
    def of(cls, state: dict[str, Any] | None, *, examples: bool = False) -> Self:
        """As it was; new without a state."""
        ranking = cls(examples=examples)
        for name, value in (state or {}).items():
            if name in ("counts", "kept"):
                getattr(ranking, name)[value[0]] = value[1]
            else:
                setattr(ranking, name, value)
        ranking.sample = [(draw, (value, *rest)) for draw, (value, *rest) in ranking.sample]  # type: ignore[misc]
        return ranking

    def bars(self) -> tuple[Floats, Ints, Ints]:
        """A histogram of all but the two tails: its edges, all documents, and those that are kept."""
        low, high = (min(self.cut(share)[0], BINS - 1) for share in (TAIL, 1 - TAIL))
        width = max(1, -(-(high + 1 - low) // BARS))
        places = np.arange(low, high + 1, width)
        every, kept = (np.add.reduceat(counts[: high + 1], places) for counts in (self.counts, self.kept))
        return LOW + STEP * np.append(places, places[-1] + width), every, kept


STATE = ("counts", "kept", "documents", "broken", "words", "unknown", "strange", "empty", "best", "worst", "sample")


def bins_of(values: Floats) -> Ints:
    """The bin of each value; those beyond the ends are in the first and the last."""
    return np.clip(np.floor((values - LOW) / STEP), 0, BINS - 1).astype(np.int64)
