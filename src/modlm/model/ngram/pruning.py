"""Smaller models: n-grams taken out by their counts, or by how little they matter.

Both leave a model that is proper: what an n-gram had goes to its context's backoff. Unigrams always stay, and so does
every n-gram that is the context of one that stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from modlm.counts.counts import Counts
from modlm.counts.trie import ROOT
from modlm.errors import ConfigError
from modlm.ground.arrays import Bools, Floats, even_ranges, in_parallel, read_only, threads
from modlm.model.ngram import pruning_kernels
from modlm.model.ngram.compiled import Compiled, over_contexts
from modlm.text.vocabulary import END


def keep_nodes(compiled: Compiled, keep: Bools) -> Compiled:
    """The model with the marked nodes only; probabilities and backoffs are taken over as they are.

    Root, unigrams and the context of every marked node must be marked. Suffixes become the longest that are kept.
    """
    trie, contexts = compiled.trie, compiled.contexts
    assert len(keep) == len(trie) and keep[: trie.levels[2]].all(), "the root and all unigrams must be kept"
    rank = np.zeros(len(trie) + 1, np.int64)
    np.cumsum(keep, out=rank[1:])
    assert keep[:contexts][np.diff(rank[trie.first]) > 0].all(), "the context of a kept n-gram must be kept"
    suffix = np.zeros(rank[-1], np.uint32)
    ranges = even_ranges(len(trie), 4 * threads())
    in_parallel([partial(pruning_kernels.link_kept, trie.suffix, keep, rank, *r, suffix) for r in ranges])
    inner = np.append(keep[:contexts], True)  # the last node only ends the range of the one before
    nodes, leaves = compiled.nodes[inner], compiled.leaves[keep[contexts:]]
    nodes["first"], nodes["suffix"][:-1] = rank[trie.first][inner], suffix[: len(nodes) - 1]
    leaves["suffix"] = suffix[len(nodes) - 1 :]
    start = compiled.start
    while not keep[start]:
        start = int(trie.suffix[start])
    levels = tuple(int(rank[level]) for level in trie.levels)
    return Compiled(trie.words[keep], nodes, leaves, levels, int(rank[start]))


def check_thresholds(thresholds: Sequence[int], order: int) -> tuple[int, ...]:
    """Thresholds for all orders, the last one standing for those that are not given; as `lmplz --prune` has them."""
    given = tuple(int(threshold) for threshold in thresholds)
    shown = ",".join(str(threshold) for threshold in given)
    if not given or len(given) > order:
        raise ConfigError(f"prune must have 1 to {order} thresholds, one for each order, but has {len(given)}.")
    if given[0] != 0:
        raise ConfigError(
            f"The first pruning threshold must be 0, but is {given[0]}: all words of the vocabulary stay in the model. "
            "To make rare words unknown, leave them out of the vocabulary (min_count)."
        )
    if any(longer < shorter for shorter, longer in pairwise(given)):
        raise ConfigError(
            f"Pruning thresholds must not fall from one order to the next, but are {shown}: "
            "a longer n-gram needs the shorter one that it begins with."
        )
    return given + (given[-1],) * (order - len(given))


def prune_by_count(compiled: Compiled, raw: Counts, thresholds: Sequence[int]) -> Compiled:
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
    for order in range(trie.order - 1, 1, -1):  # imported counts may have an n-gram more often than its context
        pruning_kernels.keep_contexts(compiled.nodes, trie.levels[order], trie.levels[order + 1], keep)
    return keep_nodes(compiled, keep)


def prune_by_entropy(compiled: Compiled, threshold: float) -> Compiled:
    """The model without the n-grams that hardly matter, as SRILM's `ngram -prune` (Stolcke 1998).

    An n-gram goes if that alone raises the perplexity of text that follows the model by less than `threshold`, relative
    to what it was. Each is judged by the probabilities of the whole model, its context's by the chain rule, `<s>` being
    as frequent as `</s>`. Then backoffs are computed anew from the shortest contexts up, so that all sum to one.
    """
    if not 0 < threshold < math.inf:
        raise ConfigError(f"The pruning threshold must be above 0, but is {threshold:g}; 1e-8 is a usual one.")
    smaller = keep_nodes(compiled, worth_keeping(compiled, threshold))
    return with_new_backoffs(smaller)


def worth_keeping(compiled: Compiled, threshold: float) -> Bools:
    """Which nodes relative-entropy pruning keeps."""
    levels = compiled.levels
    keep = np.zeros(len(compiled.words), np.bool_)
    keep[: levels[2]] = True
    marked = partial(
        pruning_kernels.mark_kept, *compiled.arrays, compiled.vocab_size, context_probs(compiled), threshold, keep
    )
    for order in range(compiled.order, 1, -1):
        if order < compiled.order:
            pruning_kernels.keep_contexts(compiled.nodes, levels[order], levels[order + 1], keep)
        over_contexts(levels, order, marked)
    return keep


def context_probs(compiled: Compiled) -> Floats:
    """P of each context as a sequence of words, by the chain rule over the model's own probabilities."""
    start, levels = compiled.vocab_size, compiled.levels
    marginals = np.zeros(compiled.contexts)
    marginals[ROOT] = 1.0
    for order in range(1, compiled.order):
        pruning_kernels.context_marginals(*compiled.arrays, start, levels[order - 1], levels[order], marginals)
        if order == 1:
            marginals[1 + start] = compiled.nodes["prob"][1 + END]
    return marginals


def with_new_backoffs(compiled: Compiled) -> Compiled:
    """The model with backoffs that make the probabilities after every context sum to one."""
    nodes, leaves = np.array(compiled.nodes), compiled.leaves
    renewed = partial(
        pruning_kernels.renormalise, compiled.words, read_only(nodes), leaves, compiled.vocab_size, nodes["backoff"]
    )
    for order in range(2, compiled.order + 1):
        over_contexts(compiled.levels, order, renewed)
    return Compiled(compiled.words, nodes, leaves, compiled.levels, compiled.start)
