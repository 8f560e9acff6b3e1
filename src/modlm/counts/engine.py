"""What an engine is: a corpus in, its counts out. All engines give the same arrays; they differ in what they need."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from modlm.counts import memory, skip
from modlm.counts.counts import MOST, Counts, check_edge, check_order
from modlm.counts.skip import SkipCounts, check_positions, is_contiguous
from modlm.errors import ConfigError
from modlm.text.corpus import Corpus

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountOptions:
    """What to count and how: made once, where somebody asks for counts, and passed whole."""

    order: int = 5
    edge: str = "once"
    positions: tuple[int, ...] | None = None
    """Which words before, farthest first; None for the order - 1 nearest ones."""
    engine: str = "memory"
    """A member of `ENGINES`."""
    memory: int | None = None
    """A limit in bytes, for the engine that uses the disk; for Spark, what each process that counts may take."""
    temporary: str | os.PathLike[str] | None = None
    """Where files that outgrow memory go; None for the system's folder for such."""
    workers: int | None = None
    """Threads; None for all cores."""
    master: str | None = None
    """Where Spark counts: a master's URL (`spark://host:7077`, `yarn`, `local[4]`); None for MODLM_MASTER or what
    Spark's own settings say, which is `local[*]`, all cores of this machine, when they say nothing."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """More settings of Spark, `spark.…`."""

    @classmethod
    def asked(
        cls,
        *,
        order: int | None = None,
        edge: str = "once",
        positions: Sequence[int] | None = None,
        engine: str | None = None,
        memory: int | str | None = None,
        **others: Any,
    ) -> CountOptions:
        """As people say it: positions make the order and mean the edge `repeat`, and a limit means the disk."""
        check_edge(edge)
        if positions is not None:
            made = len(check_positions(positions)) + 1
            if order not in (None, made):
                raise ConfigError(f"{made - 1} positions make the order {made}, but order is {order}.")
            order, edge = made, "repeat"
        return cls(
            order=5 if order is None else order,
            edge=edge,
            positions=None if positions is None else tuple(positions),
            engine=engine or ("memory" if memory is None else "disk"),
            memory=None if memory is None else bytes_of(memory),
            **others,
        )

    def __post_init__(self) -> None:
        check_order(self.order)
        check_edge(self.edge)
        if self.skips and self.engine != "memory":
            raise ConfigError("Skip n-grams are counted in memory. Leave out the memory limit and the engine.")

    @property
    def skips(self) -> bool:
        """Whether there is a gap in the contexts."""
        return self.positions is not None and not is_contiguous(self.positions)


class Engine(Protocol):
    """A way to count; the members are in the table `ENGINES`."""

    def __call__(self, corpus: Corpus, options: CountOptions) -> Counts: ...


def count_in_memory(corpus: Corpus, options: CountOptions) -> Counts:
    """Counts of a corpus that fits in memory with its result, about 40 bytes a word for order 5."""
    order, edge, ids, size = options.order, options.edge, np.asarray(corpus.ids), len(corpus.vocabulary)
    if options.positions is not None and options.skips:
        skipping, frequencies = skip.build(ids, vocab_size=size, positions=options.positions)
        return SkipCounts(corpus.vocabulary, skipping, frequencies, sentences=corpus.sentences)
    copies = 0 if edge == "once" else max(0, order - 2)
    if len(ids) + copies * corpus.sentences > MOST:
        raise ConfigError(f'The text has more than {MOST:,} words, too many for the engine "memory". Use "disk".')
    trie, frequencies = memory.build(ids, vocab_size=size, order=order, edge=edge, workers=options.workers)
    return Counts(corpus.vocabulary, trie, frequencies, edge=edge, sentences=corpus.sentences)


def bytes_of(size: int | str, what: str = "A memory limit", least: int = 1 << 20) -> int:
    """A limit in bytes: a number, or words like 2GB, 500M, 1.5 GiB (units of 1024); `what` it is, for messages."""
    if isinstance(size, int):
        found = float(size)
    else:
        parts = SIZE.fullmatch(size)
        if parts is None:
            raise ConfigError(f"{what} is a number with a unit, such as 2GB or 500MB, but is {size!r}.")
        found = float(parts[1]) * UNITS[parts[2].upper()]
    if not least <= found < 2**60:
        raise ConfigError(f"{what} must be at least {'1MB' if least == 1 << 20 else f'{least} bytes'}, but is {size!r}.")
    return int(found)
