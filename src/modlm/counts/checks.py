"""Whether the arrays of a trie, which somebody may have edited, make one: all of them are read, in parallel."""

from __future__ import annotations

from functools import partial

from modlm.counts import trie_kernels
from modlm.counts.trie import Trie
from modlm.errors import ModelFolderError
from modlm.ground.arrays import Ids, even_ranges, in_parallel, threads


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
