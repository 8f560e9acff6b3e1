"""Smaller models: n-grams taken out by their counts, or by how little they matter.

Both leave a model that is proper: what an n-gram had goes to its context's backoff. Unigrams always stay, and so does
every n-gram that is the context of one that stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from modlm.arrays import Bools, Floats, even_ranges, in_parallel, threads
from modlm.counts.counts import Counts
from modlm.counts.trie import ROOT, Trie
from modlm.errors import ConfigError
from modlm.model.compiled import Compiled, Unpacked
from modlm.text.vocabulary import END

NPY_HEADER = 128  # bytes before the numbers in a .npy file


@dataclass(frozen=True, slots=True)
class PruningReport:
    """How much smaller a model became."""

    ngrams_before: tuple[int, ...]
    """For orders 1, 2, ...; the unigrams are the words and `<s>`."""
    ngrams_after: tuple[int, ...]
    bytes_before: int
    bytes_after: int

    @classmethod
    def between(cls, before: Compiled, after: Compiled) -> PruningReport:
        """Of a model and what pruning left of it."""
        return cls(before.sizes, after.sizes, size_on_disk(before), size_on_disk(after))

    @property
    def removed(self) -> int:
        """N-grams of all orders that are gone."""
        return sum(self.ngrams_before) - sum(self.ngrams_after)

    def __str__(self) -> str:
        orders = ", ".join(
            f"{order}-grams {before:,} → {after:,}"
            for order, (before, after) in enumerate(zip(self.ngrams_before, self.ngrams_after, strict=True), 1)
        )
        return f"{orders}; {self.bytes_before / 1e6:.1f} → {self.bytes_after / 1e6:.1f} MB"


def size_on_disk(compiled: Compiled) -> int:
    """Bytes of the model's arrays as .npy files; the vocabulary is not counted."""
    return sum(array.nbytes + NPY_HEADER for array in compiled.arrays)


def keep_nodes(compiled: Unpacked, keep: Bools, *, workers: int | None = None) -> Unpacked:
    """The model with the marked nodes only; probabilities and backoffs are taken over as they are.

    Root, unigrams and the context of every marked node must be marked. Suffixes become the longest that are kept.
    """
    from modlm.model.pruning_kernels import link_kept

    trie, contexts = compiled.trie, compiled.trie.contexts
    assert len(keep) == len(trie) and keep[: trie.levels[2]].all(), "the root and all unigrams must be kept"
    rank = np.zeros(len(trie) + 1, np.int64)
    np.cumsum(keep, out=rank[1:])
    followers = np.diff(rank[trie.first])
    assert keep[:contexts][followers > 0].all(), "the context of a kept n-gram must be kept"
    first = np.append(rank[trie.first[:-1]][keep[:contexts]], rank[-1]).astype(np.uint32)
    suffix = np.zeros(rank[-1], np.uint32)
    ranges = even_ranges(len(trie), 4 * threads(workers))
    in_parallel([partial(link_kept, trie.suffix, keep, rank, *r, suffix) for r in ranges], workers=workers)
    levels = tuple(int(rank[level]) for level in trie.levels)
    smaller = Trie(trie.words[keep], first, suffix, levels)
    start = compiled.start
    while not keep[start]:
        start = int(trie.suffix[start])
    return Unpacked(smaller, compiled.probs[keep], compiled.backoffs[keep[:contexts]], int(rank[start]))


def check_thresholds(thresholds: Sequence[int], order: int) -> tuple[int, ...]:
    """Thresholds for all orders, the last one standing for those that are not given; as `lmplz --prune` has them."""
    given = tuple(int(threshold) for threshold in thresholds)
    shown = ",".join(str(threshold) for threshold in given)
    if not given or len(given) > order:
        raise ConfigError(f"prune must have 1 to {order} thresholds, one for each order, but has {len(given)}.")
    if given[0] != 0:
        raise ConfigError(
            f"The first pruning threshold must be 0, but is {given[0]}: all words of the vocabulary stay in the model. "
            "To make rare words unknown, leave them out of the vocabulary with --min-count."
        )
    if any(longer < shorter for shorter, longer in pairwise(given)):
        raise ConfigError(
            f"Pruning thresholds must not fall from one order to the next, but are {shown}: "
            "a longer n-gram needs the shorter one that it begins with."
        )
    return given + (given[-1],) * (order - len(given))


def prune_by_count(
    compiled: Compiled, raw: Counts, thresholds: Sequence[int], *, workers: int | None = None
) -> Compiled:
    """The model without the n-grams whose raw count is at most their order's threshold, as `lmplz --prune`.

    The model must have been compiled with the same thresholds, so that these n-grams have no mass of their own: then
    backing off gives what they had. Discounts and lower-order counts are those of the whole text.
    """
    trie = raw.trie
    assert trie.levels == compiled.levels, "the counts must be those that the model was compiled from"
    checked = check_thresholds(thresholds, trie.order)
    keep = trie.words == trie.vocab_size  # contexts of `<s>` alone are never counted, and hold the starts together
    keep[: trie.levels[2]] = True
    for order in range(2, trie.order + 1):
        nodes = trie.nodes(order)
        keep[nodes] |= raw.frequencies[nodes] > checked[order - 1]
    _close(trie, keep)
    return keep_nodes(compiled.unpacked(), keep, workers=workers).packed()


def _close(trie: Trie, keep: Bools) -> None:
    """Keep the contexts of all that is kept; imported counts may have an n-gram more often than its context."""
    from modlm.model.pruning_kernels import keep_contexts

    for order in range(trie.order - 1, 1, -1):
        keep_contexts(trie.first, trie.levels[order], trie.levels[order + 1], keep)


def prune_by_entropy(compiled: Compiled, threshold: float, *, workers: int | None = None) -> Compiled:
    """The model without the n-grams that hardly matter, as SRILM's `ngram -prune` (Stolcke 1998).

    An n-gram goes if that alone raises the perplexity of text that follows the model by less than `threshold`, relative
    to what it was. Each is judged by the probabilities of the whole model, its context's by the chain rule, `<s>` being
    as frequent as `</s>`. Then backoffs are computed anew from the shortest contexts up, so that all sum to one.
    """
    if not 0 < threshold < math.inf:
        raise ConfigError(f"The pruning threshold must be above 0, but is {threshold:g}; 1e-8 is a usual one.")
    whole = compiled.unpacked()
    smaller = keep_nodes(whole, worth_keeping(whole, threshold, workers=workers), workers=workers)
    restore_backoffs(smaller, workers=workers)
    return smaller.packed()


def worth_keeping(compiled: Unpacked, threshold: float, *, workers: int | None = None) -> Bools:
    """Which nodes relative-entropy pruning keeps."""
    from modlm.model.pruning_kernels import keep_contexts, mark_kept

    trie = compiled.trie
    marginals = context_probs(compiled)
    keep = np.zeros(len(trie), np.bool_)
    keep[: trie.levels[2]] = True
    for order in range(trie.order, 1, -1):
        if order < trie.order:
            keep_contexts(trie.first, trie.levels[order], trie.levels[order + 1], keep)
        low, high = trie.levels[order - 1], trie.levels[order]
        tasks = [
            partial(mark_kept, *compiled.arrays, marginals, trie.vocab_size, threshold, low + a, low + b, keep)
            for a, b in even_ranges(high - low, 8 * threads(workers))
        ]
        in_parallel(tasks, workers=workers)
    return keep


def context_probs(compiled: Unpacked) -> Floats:
    """P of each context as a sequence of words, by the chain rule over the model's own probabilities."""
    from modlm.model.pruning_kernels import context_marginals

    trie = compiled.trie
    marginals = np.zeros(trie.contexts)
    marginals[ROOT] = 1.0
    for order in range(1, trie.order):
        low, high = trie.levels[order - 1], trie.levels[order]
        context_marginals(trie.words, trie.first, compiled.probs, trie.vocab_size, low, high, marginals)
        if order == 1:
            marginals[1 + trie.vocab_size] = compiled.probs[1 + END]
    return marginals


def restore_backoffs(compiled: Unpacked, *, workers: int | None = None) -> None:
    """Set the backoffs, in place, so that the probabilities after every context sum to one."""
    from modlm.model.pruning_kernels import renormalise

    trie = compiled.trie
    for order in range(2, trie.order + 1):
        low, high = trie.levels[order - 1], trie.levels[order]
        tasks = [
            partial(renormalise, *compiled.arrays, trie.vocab_size, low + a, low + b)
            for a, b in even_ranges(high - low, 8 * threads(workers))
        ]
        in_parallel(tasks, workers=workers)
