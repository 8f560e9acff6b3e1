"""Counts of several texts as counts of all of them together; so text is added without counting the old text again.

Tries are merged two at a time, order by order: the followers of a context in either are two sorted lists, and the
merged list says for each follower where it stood in both, which is what the next order needs. The result is what
counting the joined texts would give with the joined vocabulary: the first one's words, then those that the others add.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import accumulate, zip_longest
from typing import Any

import numpy as np

from modlm.counts import merge_kernels
from modlm.counts.counts import MOST, Counts, Frequencies, narrowed
from modlm.counts.linking import check_sound, link_suffixes
from modlm.counts.skip import SkipCounts
from modlm.counts.trie import Trie
from modlm.errors import ConfigError
from modlm.ground.arrays import Ids, even_ranges, in_parallel, joined, threads
from modlm.text.vocabulary import Vocabulary

RANGES_PER_THREAD = 4


@dataclass(frozen=True, slots=True)
class Grown:
    """A trie that has no suffix links yet."""

    words: Ids
    first: Ids
    frequencies: Frequencies
    levels: tuple[int, ...]


def merge(parts: Sequence[Counts], *, workers: int | None = None) -> Counts:
    """The counts of all texts together; orders and edges must be the same, vocabularies may differ.

    A word that one vocabulary has and another lacks was `<unk>` where it was not known, and stays so.
    """
    if not parts:
        raise ConfigError("There is nothing to merge. Give at least one set of counts.")
    _check_alike(parts)
    for part in parts:
        check_sound(part.trie)
    vocabulary = joined_vocabulary([part.vocabulary for part in parts])
    tries = [_in_vocabulary(part, vocabulary) for part in parts]
    while len(tries) > 1:
        tries = [
            reduce(partial(_merge_two, vocab_size=len(vocabulary), workers=workers), tries[i : i + 2])
            for i in range(0, len(tries), 2)
        ]
    whole = tries[0]
    suffix = np.empty(len(whole.words), dtype=whole.first.dtype)
    link_suffixes(whole.words, whole.first, suffix, whole.levels, workers=workers)
    cut_off = [max(values) for values in zip_longest(*(part.cut_off for part in parts), fillvalue=0)]
    trie, sentences = Trie(whole.words, whole.first, suffix, whole.levels), sum(part.sentences for part in parts)
    return Counts(vocabulary, trie, whole.frequencies, edge=parts[0].edge, sentences=sentences, cut_off=cut_off)


def _check_alike(parts: Sequence[Counts]) -> None:
    for part in parts:
        if isinstance(part, SkipCounts):
            raise ConfigError("Counts of skip n-grams cannot be merged. Count the texts together instead.")
        if part.order != parts[0].order:
            raise ConfigError(
                f"Counts of orders {parts[0].order} and {part.order} cannot be merged. Count all to the same order."
            )
        if part.edge != parts[0].edge:
            raise ConfigError(
                f"Counts with the edges {parts[0].edge!r} and {part.edge!r} cannot be merged. "
                f"Count all texts with the same edge."
            )


def joined_vocabulary(vocabularies: Sequence[Vocabulary]) -> Vocabulary:
    """The first one's words, then the words that each further one adds, in their order."""
    joined = vocabularies[0]
    for other in vocabularies[1:]:
        if other == joined:
            continue
        mapping = other.mapping(joined)[2:-1]  # ordinary words
        added = [other.word(2 + int(place)) for place in np.flatnonzero(mapping == 0)]
        if added:
            joined = Vocabulary.from_words([*joined.words, *added])
    return joined


def _in_vocabulary(counts: Counts, vocabulary: Vocabulary) -> Grown:
    """The trie with the ids of a larger vocabulary, sorted anew."""
    trie = counts.trie
    if counts.vocabulary == vocabulary:
        return Grown(trie.words, trie.first, counts.frequencies, trie.levels)
    mapping, size = counts.vocabulary.mapping(vocabulary), len(vocabulary)
    moved, link = size - len(counts.vocabulary), trie.first.dtype
    levels = (0, 1, *(level + moved for level in trie.levels[2:]))
    words, frequencies = np.zeros(levels[-1], dtype=np.uint32), np.zeros(levels[-1], dtype=counts.frequencies.dtype)
    first = np.empty(levels[-2] + 1, dtype=link)
    new_node = np.zeros(len(trie), dtype=link)  # for each old node
    words[1 : size + 2] = np.arange(size + 1)
    new_node[trie.nodes(1)] = 1 + mapping
    frequencies[new_node[trie.nodes(1)]] = counts.frequencies[trie.nodes(1)]
    first[0], first[-1] = 1, levels[-1]
    for n in range(2, trie.order + 1):
        nodes = trie.nodes(n)
        parents, last = new_node[trie.parents(n)], mapping[trie.words[nodes]]
        narrow = link.itemsize == 4
        order = (
            np.argsort((parents.astype(np.uint64) << np.uint64(32)) | last) if narrow else np.lexsort((last, parents))
        )
        words[levels[n] : levels[n + 1]] = last[order]
        frequencies[levels[n] : levels[n + 1]] = counts.frequencies[nodes][order]
        new_node[nodes.start + order] = np.arange(levels[n], levels[n + 1], dtype=link)
        contexts = np.arange(levels[n - 1], levels[n], dtype=link)
        first[levels[n - 1] : levels[n]] = levels[n] + np.searchsorted(parents[order], contexts)
    return Grown(words, first, frequencies, levels)


def _merge_two(a: Grown, b: Grown, *, vocab_size: int, workers: int | None) -> Grown:
    start = 2 + vocab_size
    most = int(a.frequencies.max()) + int(b.frequencies.max())
    dtype = np.dtype(np.uint64 if most > MOST else np.uint32)
    link: Any = np.uint64 if len(a.words) + len(b.words) > MOST else np.uint32
    from_a = from_b = np.arange(1, start, dtype=link)
    words, frequencies = [a.words[:start]], [a.frequencies[:start].astype(dtype) + b.frequencies[:start].astype(dtype)]
    first, levels = [np.ones(1, dtype=link)], [0, 1, start]
    for _ in range(2, len(a.levels) - 1):
        own_first, own_words, own_frequencies, from_a, from_b = _merge_order(a, b, from_a, from_b, dtype, workers)
        first.append(own_first + link(levels[-1]))
        words.append(own_words)
        frequencies.append(own_frequencies)
        levels.append(levels[-1] + len(own_words))
    first.append(np.array([levels[-1]], dtype=link))
    links: Any = joined(first).astype(np.uint64 if levels[-1] > MOST else np.uint32, copy=False)
    return Grown(joined(words), links, narrowed(joined(frequencies)), tuple(levels))


def _merge_order(
    a: Grown, b: Grown, from_a: Ids, from_b: Ids, dtype: np.dtype[np.generic], workers: int | None
) -> tuple[Ids, Ids, Frequencies, Ids, Ids]:
    """First followers, words and frequencies of one order, and the nodes that its n-grams had in both tries."""
    ranges = even_ranges(len(from_a), threads(workers) * RANGES_PER_THREAD)
    tries = a.words, a.first, b.words, b.first
    counting = [partial(merge_kernels.count_followers, *tries, from_a, from_b, *bounds) for bounds in ranges]
    sizes = in_parallel(counting, workers=workers)
    starts = [0, *accumulate(sizes)]
    words, frequencies = np.empty(starts[-1], dtype=np.uint32), np.empty(starts[-1], dtype=dtype)
    first, to_a, to_b = (np.empty(size, dtype=from_a.dtype) for size in (len(from_a), starts[-1], starts[-1]))
    tasks = [
        partial(
            merge_kernels.merge_followers, a.words, a.first, a.frequencies, b.words, b.first, b.frequencies,
            from_a, from_b, *bounds, node, first, words, frequencies, to_a, to_b,
        )
        for bounds, node in zip(ranges, starts, strict=False)
    ]  # fmt: skip
    in_parallel(tasks, workers=workers)
    return first, words, frequencies, to_a, to_b
