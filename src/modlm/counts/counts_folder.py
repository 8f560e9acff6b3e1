"""Counts on disk: `counts.json`, `vocabulary.txt` and one `.npy` for each array, as `docs/formats.md` specifies.

Opening maps the arrays. What lengths and the manifest say is always checked; `verify="full"` reads everything: sums of
all files, and that the arrays are a trie in which no link can lead astray.
"""

from __future__ import annotations

import os
from itertools import pairwise

import numpy as np

from modlm.counts.counts import EDGES, KIND, MAX_ORDER, Counts
from modlm.counts.linking import are_followers, are_suffixes
from modlm.counts.skip import SkipCounts, SkipTrie, check_positions
from modlm.counts.trie import Trie
from modlm.ground.arrays import Ids
from modlm.store.folder import Folder, open_folder
from modlm.store.manifest import Verify
from modlm.text.vocabulary import Vocabulary
from modlm.text.vocabulary_files import vocabulary_in


def open_counts(path: str | os.PathLike[str], *, verify: Verify = "fast") -> Counts:
    """Counts from their folder, memory-mapped; `SkipCounts` when they have positions."""
    folder = open_folder(path, kind=KIND, verify=verify)
    vocabulary = vocabulary_in(folder, what="counts were")
    counts = counts_in(folder, vocabulary)
    if counts.order != folder.whole("order"):
        raise folder.damaged(f"its order is {folder.whole('order')}, but it has the arrays of order {counts.order}")
    if verify == "full":
        check_structure(folder, counts)
    return counts


def counts_in(folder: Folder, vocabulary: Vocabulary) -> Counts:
    """The counts whose settings are the folder's `about` and whose arrays lie in it."""
    levels = _levels(folder, "levels", len(vocabulary))
    words = folder.array("words", np.uint32, length=levels[-1])
    suffix = folder.array("suffix", np.uint32, np.uint64, length=levels[-1])
    frequencies = folder.array("frequencies", np.uint32, np.uint64, length=levels[-1])
    sentences = folder.whole("sentences")
    if "positions" not in folder.about:
        first = folder.array("first", np.uint32, np.uint64, length=levels[-2] + 1)
        _check_ends(folder, first, levels, levels)
        edge, cut_off = folder.word("edge", EDGES), folder.wholes("cut_off")
        trie = Trie(words, first, suffix, levels)
        return Counts(vocabulary, trie, frequencies, edge=edge, sentences=sentences, cut_off=cut_off)
    context_levels = _levels(folder, "context_levels", len(vocabulary), contexts=True)
    positions = folder.checked(lambda: check_positions(folder.wholes("positions")))
    if not len(levels) - 1 == len(context_levels) == len(positions) + 2:
        raise folder.damaged("its positions do not fit its levels")
    first = folder.array("first", np.uint32, length=context_levels[-1] + 1)
    _check_ends(folder, first, context_levels, levels)
    context_words = folder.array("context_words", np.uint32, length=context_levels[-1])
    context_first = folder.array("context_first", np.uint32, length=context_levels[-2] + 1)
    skips = SkipTrie(words, first, suffix, levels, positions, context_words, context_first, context_levels)
    return SkipCounts(vocabulary, skips, frequencies, sentences=sentences)


def _levels(folder: Folder, name: str, vocab_size: int, *, contexts: bool = False) -> tuple[int, ...]:
    """Levels that begin as all do and never fall; with contexts alone, the words are there from order 2 on."""
    levels = folder.wholes(name, high=2**48)
    start = (0, 1) if contexts and len(levels) == 2 else (0, 1, vocab_size + 2)
    rising = all(a <= b for a, b in pairwise(levels))
    if levels[: len(start)] != start or not rising or len(levels) > MAX_ORDER + 2:
        raise folder.damaged(f"its {name} {list(levels)[:6]} do not fit a vocabulary of {vocab_size} words")
    return levels


def _check_ends(folder: Folder, first: Ids, contexts: tuple[int, ...], levels: tuple[int, ...]) -> None:
    """That the followers of each order's first context are the order's first n-grams."""
    begins = tuple(int(first[context]) for context in contexts[: len(levels) - 2])
    if begins != levels[1:-1] or first[-1] != levels[-1]:
        raise folder.damaged("its levels do not fit its followers")


def check_structure(folder: Folder, counts: Counts) -> None:
    """That followers lie side by side in order, sorted by word, and that suffixes are one order down."""
    trie, start = counts.trie, len(counts.vocabulary)
    pairs = [("first", trie.first, trie.words)]
    if isinstance(counts, SkipCounts):
        pairs.append(("context_first", counts.trie.context_first, counts.trie.context_words))
    for name, first, words in pairs:
        if not are_followers(first, words, start):
            raise folder.damaged(f"{name}.npy does not give every context a row of followers sorted by word")
        if not np.array_equal(words[1 : start + 2], np.arange(min(start + 1, len(words) - 1))):
            raise folder.damaged("its first nodes are not the words of the vocabulary")
    for order in range(1, counts.order + 1):
        low, high = (trie.levels[order - 1], trie.levels[order]) if order > 1 else (0, 1)
        own, layer = trie.nodes(order), counts.layer(order)
        fits = trie.first[layer.low] == own.start and trie.first[layer.high] == own.stop
        if not fits or not are_suffixes(trie.suffix, own, low, high):
            raise folder.damaged(f"its n-grams of order {order} and their contexts or suffixes do not fit together")
