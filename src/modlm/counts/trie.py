"""The shape that counts and compiled models share: a forward trie in three flat arrays.

Node 0 is the empty context; node 1 + w is the word w, for all J words and `<s>`; after them come the 2-grams, the
3-grams, and so on, each order sorted by (context, word). So

    the n-gram of a node     = the n-gram of its parent, then `words[node]`
    the words after a context = the neighbouring nodes `first[node] : first[node + 1]`, sorted by word
    its n-gram one word shorter at the left = `suffix[node]`

`levels[n]` is the first node of order n; `levels[order + 1]` is the number of nodes. Nodes of the highest order have
no entry in `first`. In a pruned model `suffix` is the longest shorter n-gram that is still there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modlm.ground.arrays import Ids, Ints

ROOT = 0


@dataclass(frozen=True, slots=True, eq=False)
class Trie:
    """All n-grams of orders 1..order, as sorted arrays."""

    words: Ids
    first: Ids
    suffix: Ids
    levels: tuple[int, ...]

    @property
    def order(self) -> int:
        return len(self.levels) - 2

    @property
    def vocab_size(self) -> int:
        """J: the predicted words, without `<s>`."""
        return (self.levels[2] if self.order > 1 else len(self.words)) - 2

    @property
    def contexts(self) -> int:
        """The number of nodes that may have followers, the root among them."""
        return len(self.first) - 1

    def __len__(self) -> int:
        return len(self.words)

    def nodes(self, order: int) -> slice:
        return slice(self.levels[order], self.levels[order + 1])

    def size(self, order: int) -> int:
        """The number of n-grams of an order; the word list for order 1, seen or not."""
        return self.levels[order + 1] - self.levels[order]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(self.size(order) for order in range(1, self.order + 1))

    def parents(self, order: int) -> Ids:
        """The context node of each n-gram of an order."""
        contexts = np.arange(self.levels[order - 1], self.levels[order], dtype=self.first.dtype)
        return np.repeat(contexts, np.diff(self.first[self.levels[order - 1] : self.levels[order] + 1]))

    def ngrams(self, order: int) -> Ids:
        """The words of each n-gram of an order, one row each, in the order of the nodes."""
        return self.words_of(np.arange(self.levels[order], self.levels[order + 1], dtype=np.int64), order)

    def words_of(self, nodes: Ints, order: int) -> Ids:
        """The words of the n-grams of some nodes of an order."""
        table = np.empty((len(nodes), order), dtype=np.uint32)
        for column in range(order - 1, -1, -1):
            table[:, column] = self.words[nodes]
            if column:
                nodes = np.searchsorted(self.first[: self.levels[order]], nodes, side="right") - 1
        return table
