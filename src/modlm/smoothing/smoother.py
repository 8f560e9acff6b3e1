"""What a smoothing family is.

A family says three things: which counts it reads (frequencies, or Kneser-Ney's continuation counts), what it takes from
a count of r (its discounts, one table per order), and how much of a context's weight falls through to the next shorter
context (alpha in the paper's Eq. 3, beta in Eq. 4). Everything else is common to all:

    column     P_n(w | c) = (r - discount(r)) / kept(c)         kept(c) = the sum of that over the followers of c
    mixture    P(w | c)   = (1 - fallback(c)) P_n(w | c) + fallback(c) P(w | shorter c)

The column of a context that was never seen, or that discounting left without mass, is uniform, and its fallback is 1.
A family is a frozen dataclass whose fields are its parameters; what it learns from held-out words it keeps in them.
"""

from __future__ import annotations

import abc
import json
import re
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from modlm.errors import ConfigError
from modlm.families import SMOOTHERS
from modlm.ground.arrays import Floats, Ints
from modlm.store.folder import Folder


@dataclass(frozen=True, slots=True)
class ContextSums:
    """What a family reads of contexts; arrays have an entry for each."""

    total: Floats
    followers: Floats
    kept: Floats
    """What is left of the total after discounting; 0 where the context has no column of its own."""
    order: int | Ints
    """n of P_n: the context has n - 1 words. A number, or an array that goes with the others."""
    highest: int
    """N."""
    vocab_size: int
    """J."""

    @property
    def seen(self) -> np.ndarray:
        """Whether the context has a column of its own."""
        return self.kept > 0


@dataclass(frozen=True, slots=True)
class HeldOutWords:
    """What families learn from: words that were not counted, one a row, after contexts of all orders."""

    probs_TN: Floats
    """P_n of the word, for each order."""
    contexts: ContextSums
    """Of each order, (T, N)."""
    times_T: Floats
    """How often each row occurs."""


class Smoother(abc.ABC):
    """A smoothing family: a frozen dataclass, its fields are its parameters; `SMOOTHERS` names the members."""

    name: ClassVar[str]
    continuation: ClassVar[bool] = False
    """Whether lower orders are estimated from continuation counts."""
    discounting: ClassVar[bool] = False
    """Whether counts lose mass, so that `kept` tells the net more than `total` (a fourth feature)."""
    largest: ClassVar[int] = 1
    """The largest r for which the number of n-grams with count r is needed."""
    learns: ClassVar[bool] = False
    """Whether it learns from held-out words."""

    def discounts(self, counts_of_counts: Ints) -> tuple[Floats, str]:
        """What counts 0, 1, 2, … lose (the last entry holds for all larger ones), and a note if a rule stepped in."""
        return np.zeros(2), ""

    @abc.abstractmethod
    def fallback(self, contexts: ContextSums) -> Floats:
        """The weight that falls through, for contexts that were seen (total > 0 and kept > 0)."""

    def learned(self, words: HeldOutWords) -> Self:
        """The same family with what it learns from words that were not counted."""
        return self

    def parameters(self) -> dict[str, Any]:
        """Its fields by name, as a folder keeps them."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]


def fallback_of(smoother: Smoother, contexts: ContextSums) -> Floats:
    """A family's fallback between 0 and 1, and 1 where the context was never seen or has no mass left."""
    seen = contexts.seen
    own = replace(
        contexts,
        total=np.where(seen, contexts.total, 1.0),
        followers=np.where(seen, contexts.followers, 1.0),
        kept=np.where(seen, contexts.kept, 1.0),
    )
    return np.where(seen, np.clip(smoother.fallback(own), 0.0, 1.0), 1.0)


def smoother_of(given: str | Smoother) -> Smoother:
    """A family by its name, with parameters behind a colon if it has any: `additive:delta=0.1`."""
    if isinstance(given, Smoother):
        return given
    name, _, rest = given.partition(":")
    kind = SMOOTHERS.choose(name)
    known = {own.name: own.type for own in fields(kind)}
    parameters: dict[str, Any] = {}
    for pair in filter(None, re.split(r",(?=\s*\w+=)", rest)):
        key, _, value = pair.partition("=")
        if key.strip() not in known:
            takes = f"takes {', '.join(known)}" if known else "has no parameters"
            raise ConfigError(f"{name} {takes}, but is given {pair.strip()!r}. Write for example additive:delta=0.1.")
        try:
            parameters[key.strip()] = json.loads(value)
        except ValueError:
            parameters[key.strip()] = value
    try:
        return kind(**parameters)  # type: ignore[no-any-return]
    except TypeError as error:
        raise ConfigError(f"smoothing is {given!r}: {error}.") from error


def smoother_in(stored: Folder) -> Smoother:
    """The family that a folder names, with the parameters that it keeps."""
    kind, parameters = stored.member(SMOOTHERS, "smoothing"), stored.about.get("parameters", {})
    if not isinstance(parameters, dict):
        raise stored.damaged("parameters must be a table")
    return stored.checked(lambda: kind(**parameters), (ConfigError, TypeError, ValueError))  # type: ignore[no-any-return]


def smoother_settings(smoother: Smoother) -> dict[str, Any]:
    """What a folder keeps of a family."""
    parameters = smoother.parameters()
    return {"smoothing": smoother.name, **({"parameters": parameters} if parameters else {})}
