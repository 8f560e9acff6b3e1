"""The n-grams that begin with `<s>`, as an ARPA file has them: with one `<s>`.

A model with edge `repeat` begins each sentence with several. They are never seen but at the start of a sentence, all of
them; so the context `<s> <s> <s> a` is the context `<s> a`, and what `<s> <s> a` and `<s> a` add to it when a word is
not found there can be multiplied into one backoff:

    P(w | <s> a)        = P(w | <s> <s> <s> a), for each w that follows any of the padded forms
    backoff(<s> a)      = the product of the backoffs of all padded forms of the context

Scores stay exactly what they were, for every text whose sentences begin with `<s>`.
"""

from __future__ import annotations

import numpy as np

from modlm.counts.trie import Trie
from modlm.formats.arpa import ArpaRows
from modlm.ground.arrays import AnyFloats, Floats, Ids
from modlm.model.ngram.compiled import Compiled


def log10(numbers: AnyFloats) -> Floats:
    """log10, minus infinity for 0."""
    with np.errstate(divide="ignore"):
        return np.log10(np.asarray(numbers, dtype=np.float64))


def node_rows(trie: Trie, order: int, low: int, high: int) -> Ids:
    """The words of the nodes low..high-1, all of one order, one row each: those of its context, then its own."""
    if order == 1 or low == high:
        return trie.words[low:high, None].repeat(order, axis=1)
    above = trie.levels[order - 1]
    first = trie.first[above : trie.levels[order] + 1]
    begin, end = (np.searchsorted(first, np.array([low, high - 1], np.uint32), side="right") - 1).tolist()
    contexts = node_rows(trie, order - 1, above + begin, above + end + 1)
    ends: Ids = np.clip(first[begin : end + 2], low, high)
    return np.column_stack((np.repeat(contexts, ends[1:] - ends[:-1], axis=0), trie.words[low:high]))


def only_starts(trie: Trie) -> list[int]:
    """The nodes of `<s>`, `<s> <s>`, ... that are contexts; `<s>` has the largest id, so each is a last follower."""
    nodes = [1 + trie.vocab_size]
    while nodes[-1] < trie.contexts:
        after = int(trie.first[nodes[-1] + 1])
        if after <= max(int(trie.first[nodes[-1]]), nodes[-1] + 1) or trie.words[after - 1] != trie.vocab_size:
            break
        nodes.append(after - 1)
    return [node for node in nodes if node < trie.contexts]


def rows_with_one_start(compiled: Compiled, order: int) -> ArpaRows:
    """All n-grams of an order that begin with `<s>`, in the order of their words."""
    words = _words_after_start(compiled, order - 1)
    states, probs = np.full(len(words), compiled.start, np.int64), np.zeros(len(words))  # `<s>` itself has none
    for column in np.ascontiguousarray(words.T):
        states, _, probs = compiled.advance(states, column)
    ngrams = np.column_stack((np.full(len(words), compiled.vocab_size, np.uint32), words))
    product = np.ones(len(states))  # of the backoffs of the padded forms: of each state that is at least so long
    while (long := states >= compiled.levels[order]).any():
        product[long] *= compiled.nodes["backoff"][states[long]]
        states = np.where(long, compiled.nodes["suffix"][states], states).astype(np.int64)
    return ArpaRows(ngrams, log10(probs), log10(product) if order < compiled.order else None)


def _words_after_start(compiled: Compiled, length: int) -> Ids:
    """The words after `<s>` in the n-grams that have so many: those of the padded forms together."""
    trie, starts = compiled.trie, only_starts(compiled.trie)
    tables = []
    for copies, node in enumerate(starts[: min(starts.index(compiled.start) + 1, trie.order - length)], 1):
        low, high = node, node + 1
        for depth in range(length):
            low, high = int(trie.first[low]), int(trie.first[high])
            if depth == 0 and high > low and trie.words[high - 1] == compiled.vocab_size:
                high -= 1
        tables.append(node_rows(trie, copies + length, low, high)[:, copies:])
    if all(np.array_equal(tables[0], table) for table in tables[1:]):  # always so unless n-grams were pruned
        return tables[0]
    return np.unique(np.concatenate(tables), axis=0)
