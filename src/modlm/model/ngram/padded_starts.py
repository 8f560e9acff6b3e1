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

from modlm.arrays import AnyFloats, Floats, Ids
from modlm.counts.trie import Trie
from modlm.formats.arpa import ArpaRows
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


class PaddedStarts:
    """A model whose sentences begin with up to `padding` copies of `<s>`, seen as one with a single `<s>`."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled, self.order = compiled, compiled.trie.order
        self.starts = only_starts(compiled.trie)
        if compiled.start in self.starts:
            del self.starts[self.starts.index(compiled.start) + 1 :]
        self.padding = len(self.starts)

    def rows(self, order: int) -> ArpaRows:
        """All n-grams of an order that begin with `<s>`, in the order of their words."""
        words = self._words(order - 1)
        ngrams = np.hstack([self._pad(1, len(words)), words])
        return ArpaRows(ngrams, log10(self._probs(words)), log10(self._backoffs(words)) if order < self.order else None)

    def _words(self, length: int) -> Ids:
        """The words after `<s>` in the n-grams that have so many: those of the padded forms together."""
        if length == 0:
            return np.empty((1, 0), np.uint32)
        tables = [self._words_after(copies, length) for copies in range(1, min(self.padding, self.order - length) + 1)]
        if all(np.array_equal(tables[0], table) for table in tables[1:]):  # always so unless n-grams were pruned
            return tables[0]
        return np.unique(np.concatenate(tables), axis=0)

    def _words_after(self, copies: int, length: int) -> Ids:
        trie = self.compiled.trie
        low, high = self.starts[copies - 1], self.starts[copies - 1] + 1
        for depth in range(length):
            low, high = int(trie.first[low]), int(trie.first[high])
            if depth == 0 and high > low and trie.words[high - 1] == self.compiled.vocab_size:
                high -= 1
        return node_rows(trie, copies + length, low, high)[:, copies:]

    def _pad(self, copies: int, length: int) -> Ids:
        return np.full((length, copies), self.compiled.vocab_size, np.uint32)

    def _nodes(self, copies: int, words: Ids) -> Ids:
        """The node of each row with so many `<s>` before it, 0 where there is none."""
        from modlm.counts.trie_kernels import descend

        out = np.zeros(len(words), np.uint32)
        descend(
            self.compiled.trie.words, self.compiled.trie.first, np.hstack([self._pad(copies, len(words)), words]), out
        )
        return out

    def _probs(self, words: Ids) -> Floats:
        """P of each row's last word after the longest padded form of the others; 0 for `<s>` itself."""
        length = words.shape[1]
        if length == 0:
            return np.zeros(1)
        states = np.zeros(len(words), np.int64)
        for copies in range(1, min(self.padding, self.order - length) + 1):
            found = self._nodes(copies, words[:, :-1])
            states = np.where(found > 0, found, states)
        return self.compiled.advance(states, np.ascontiguousarray(words[:, -1]))[2]

    def _backoffs(self, words: Ids) -> Floats:
        product = np.ones(len(words))
        for copies in range(1, min(self.padding, self.order - 1 - words.shape[1]) + 1):
            found = self._nodes(copies, words)
            product *= np.where(found > 0, self.compiled.nodes["backoff"][found], 1.0)
        return product
