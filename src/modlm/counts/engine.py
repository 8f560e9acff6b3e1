"""What an engine is: a corpus in, its counts out. All engines give the same arrays; they differ in what they need."""

from __future__ import annotations

import os
import re
from typing import Protocol

import numpy as np

from modlm.arrays import Ids
from modlm.counts import memory as sorting
from modlm.counts.counts import Counts
from modlm.errors import ConfigError
from modlm.text.corpus import Corpus

LONGEST = 2**32 - 1  # words that 32-bit positions can tell apart
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", re.IGNORECASE)


class Engine(Protocol):
    """A way to count; the members are in the table `ENGINES`."""

    def __call__(
        self,
        corpus: Corpus,
        *,
        order: int,
        edge: str = "once",
        memory: int | None = None,
        temporary: str | os.PathLike[str] | None = None,
        workers: int | None = None,
    ) -> Counts:
        """Counts of the corpus; `memory` in bytes and `temporary` matter only to engines that use the disk."""
        ...


def count_in_memory(
    corpus: Corpus,
    *,
    order: int,
    edge: str = "once",
    memory: int | None = None,
    temporary: str | os.PathLike[str] | None = None,
    workers: int | None = None,
) -> Counts:
    """Counts of a corpus that fits in memory with its result, about 40 bytes a word for order 5."""
    copies = 0 if edge == "once" else max(0, order - 2)
    if len(corpus.ids) + copies * corpus.sentences > LONGEST:
        raise ConfigError(f'The text has more than {LONGEST:,} words, too many for the engine "memory". Use "disk".')
    ids: Ids = np.asarray(corpus.ids)
    trie, frequencies = sorting.build(ids, vocab_size=len(corpus.vocabulary), order=order, edge=edge, workers=workers)
    return Counts(corpus.vocabulary, trie, frequencies, edge=edge, sentences=corpus.sentences)


def bytes_of(size: int | str) -> int:
    """A memory limit in bytes: a number, or words like 2GB, 500M, 1.5 GiB (units of 1024)."""
    if isinstance(size, int):
        found = float(size)
    else:
        parts = SIZE.fullmatch(size)
        if parts is None:
            raise ConfigError(f"A memory limit is a number with a unit, such as 2GB or 500MB, but is {size!r}.")
        found = float(parts[1]) * UNITS[parts[2].upper()]
    if not (1 << 20) <= found < 2**60:
        raise ConfigError(f"A memory limit must be at least 1MB, but is {size!r}.")
    return int(found)
