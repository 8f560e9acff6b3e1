"""A model asked for one word at a time, as decoders written for n-grams do, without paying for every question.

Words are remembered by where they were asked from. A node's row (the model's state) is computed when something is first
asked from it, since most hypotheses are pruned before that. Where a whole distribution costs little more than one word,
or a step of a net is dear, the first question at a node answers all others.
"""

import numpy as np

from modlm.blocks.block import UNLIMITED
from modlm.ground.arrays import Floats
from modlm.model.language_model import LanguageModel, States
from modlm.text.vocabulary import END

LOWEST = -1e5
"""Stands for log 0 where a decoder multiplies it by a weight that may be 0."""
WHOLE = 4096  # words up to which a whole distribution costs little more than one


class Node:
    """The model after some words."""

    __slots__ = ("after", "log_probs", "parent", "row", "word")

    def __init__(self, row: States | None, parent: "Node | None" = None, word: int = 0) -> None:
        self.row, self.parent, self.word = row, parent, word
        self.after: dict[int, tuple[Node, float]] = {}
        self.log_probs: Floats | None = None


class Steps:
    """Steps of a model from node to node; log P is at the least LOWEST."""

    def __init__(self, model: LanguageModel, *, whole: bool | None = None) -> None:
        """`whole`: compute all words after a node at once; by default for small vocabularies and recurrent nets."""
        self.model = model
        small = len(model.vocabulary) <= WHOLE
        self.whole = whole if whole is not None else small or model.context_length >= UNLIMITED

    def start(self, *, nothing: bool = False) -> Node:
        """Before the first word of a sentence, or of `nothing` in particular."""
        empty = np.zeros((1, 0), dtype=np.uint32)
        return Node(self.model.state_after(empty) if nothing else self.model.start(1))

    def after(self, node: Node, word: int) -> tuple[Node, float]:
        """The node after a word, always the same one, and log P of the word."""
        if word not in node.after:
            row, log_prob = (None, self.log_prob(node, word)) if self.whole else self._step(node, word)
            node.after[word] = Node(row, node, word), log_prob
        return node.after[word]

    def log_prob(self, node: Node, word: int = END) -> float:
        """log P of a word, or of the end of the sentence."""
        if not self.whole:
            return node.after[word][1] if word in node.after else self._step(node, word)[1]
        if node.log_probs is None:
            node.log_probs = np.maximum(self.model.log_distributions(self.row(node))[0], LOWEST)
        return float(node.log_probs[word])

    def row(self, node: Node) -> States:
        if node.row is None:
            assert node.parent is not None
            node.row = self._step(node.parent, node.word)[0]
        return node.row

    def _step(self, node: Node, word: int) -> tuple[States, float]:
        after, log_probs = self.model.advance(self.row(node), np.array([word], dtype=np.uint32))
        return after, max(float(log_probs[0]), LOWEST)
