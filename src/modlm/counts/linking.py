"""The links of a trie: suffixes found order by order, and whether arrays that somebody may have edited make a trie."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from modlm.counts import trie_kernels
from modlm.counts.trie import Trie
from modlm.errors import ModelFolderError
from modlm.ground.arrays import Ids, even_ranges, in_parallel, threads

CONTEXTS = 1 << 21  # linked between two pauses


def link_suffixes(
    words: Ids,
    first: Ids,
    suffix: Ids,
    levels: tuple[int, ...],
    *,
    workers: int | None = None,
    pause: Callable[[], None] = lambda: None,
) -> None:
    """Fill `suffix`; `pause` is called now and then, so that mapped files can be let go of.

    The n-grams must be closed: without its first or its last word, each is there too. Those that we count or import
    are; those of a damaged folder may not be.
    """
    suffix[: levels[2] if len(levels) > 2 else len(suffix)] = 0
    for order in range(2, len(levels) - 1):
        low, high = levels[order - 1], levels[order]
        if order == 2:
            np.add(words[levels[2] : levels[3]], 1, out=suffix[levels[2] : levels[3]])
            continue
        for begin in range(low, high, CONTEXTS):
            ranges = even_ranges(min(CONTEXTS, high - begin), threads(workers) * 4)
            tasks = [partial(trie_kernels.link, words, first, suffix, begin + a, begin + b) for a, b in ranges]
            if not all(in_parallel(tasks, workers=workers)):
                raise unsound()
            pause()


def check_sound(trie: Trie) -> None:
    """Refuse a trie with a link that leads astray, before all of it is read: it may be mapped from a damaged folder."""
    if not is_sound(trie):
        raise unsound()


def unsound() -> ModelFolderError:
    """The error about n-grams of a folder that was opened without looking at all of it."""
    return ModelFolderError(
        "The n-grams do not fit together: the folder they come from is damaged or was edited. Copy it again from "
        'where it came from; opening it with verify="full" names the file.'
    )


def are_followers(first: Ids, words: Ids, start: int) -> bool:
    """Whether every context has a row of followers sorted by word, one row behind the other; `<s>` is the last word."""
    ranges = even_ranges(len(first) - 1, 4 * threads())
    tasks = [partial(trie_kernels.check_followers, first, words, start, *bounds) for bounds in ranges]
    return bool(first[0] == 1 and first[-1] == len(words) and all(in_parallel(tasks)))


def are_suffixes(suffix: Ids, nodes: slice, low: int, high: int) -> bool:
    """Whether the suffixes of some nodes are all among low..high-1."""
    tasks = [
        partial(trie_kernels.check_suffixes, suffix, nodes.start + a, nodes.start + b, low, high)
        for a, b in even_ranges(nodes.stop - nodes.start, 4 * threads())
    ]
    return all(in_parallel(tasks))


def is_sound(trie: Trie) -> bool:
    """Whether no link of a compiled model's trie leads astray: followers are one order up, suffixes any orders down."""
    levels = trie.levels
    fits = all(trie.first[levels[n - 1]] == levels[n] for n in range(1, trie.order + 1))
    return (
        fits
        and are_followers(trie.first, trie.words, trie.vocab_size)
        and all(are_suffixes(trie.suffix, trie.nodes(n), 0, levels[n]) for n in range(1, trie.order + 1))
    )
