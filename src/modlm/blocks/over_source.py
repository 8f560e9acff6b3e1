"""Source sentences beside texts and windows: laid out for kernels, cut with a text, with their columns' features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from modlm.blocks.block import Beside, Blocks
from modlm.errors import ConfigError
from modlm.ground.arrays import Ids, Ints
from modlm.text.folds import stretches

USUAL = 16  # words of a source
NO_WORDS: Ids = np.zeros(0, np.uint32)


def given(source: Ids | None, *, read: bool) -> Sequence[Ids]:
    """The one source of sentences that come without their own, if any; an error where one is read and none given."""
    if read and source is None:
        raise ConfigError(
            "The model reads the source of each sentence, but none was given. Give it: lm.given(sentence), or "
            "source=... beside a text."
        )
    return [] if source is None else [source]


def with_features(blocks: Blocks, beside: Beside) -> Beside:
    """With those of the columns over sources."""
    own = [block for block in blocks.values() if block.per_source]
    if not own or not beside.sources:
        return beside
    words, starts = laid_out(beside.sources)
    features_SF = np.concatenate([block.source_features(words) for block in own], axis=1)
    return replace(beside, features=[features_SF[first:after] for first, after in pairwise(starts.tolist())])


def stretches_beside(
    ids: Ids, sources: Sequence[Ids], start: int, given: Sequence[Ids], *, size: int, wide: bool
) -> Iterator[tuple[slice, Sequence[Ids]]]:
    """Neighbouring stretches of whole sentences of about that size, with their sources; shorter if `wide`.

    Then there are columns for the words of sources, and the longer the longest of them, the fewer positions. Without
    sources, all sentences have the given one, if any.
    """
    starts = np.concatenate(([0], np.flatnonzero(ids[1:] == start) + 1, [len(ids)]))
    sources = sources or list(given) * (len(starts) - 1)
    if sources and len(sources) != len(starts) - 1:
        raise ConfigError(
            f"There are {len(sources):,} source sentences for {len(starts) - 1:,} sentences. Give one for each."
        )
    size //= 1 + max(map(len, sources), default=0) // USUAL if wide else 1
    for first, end in stretches(starts, size) if len(ids) else ():
        yield slice(int(starts[first]), int(starts[end])), sources[first:end]


def laid_out(sources: Sequence[Ids]) -> tuple[Ids, Ints]:
    """Sources one behind the other, and where each begins; behind them the length of all."""
    starts = np.zeros(len(sources) + 1, np.int64)
    np.cumsum([len(source) for source in sources], out=starts[1:])
    return np.concatenate([np.zeros(0, np.uint32), *sources]), starts
