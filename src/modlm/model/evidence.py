"""What a compiled n-gram model still knows about one word after one context: no counts, but followers and fallbacks."""

from __future__ import annotations

import numpy as np

from modlm.arrays import Ids
from modlm.blocks.block import NOTHING
from modlm.blocks.evidence import Evidence
from modlm.model.compiled import Compiled


def compiled_evidence(compiled: Compiled, window_C: Ids, word: int) -> list[Evidence]:
    """For each order its context if the model has it, with the words that have an n-gram there and the backoff weight.

    `count` is 0 where the n-gram is not in the model, else None: how often it was seen is not known.
    """
    words = [int(w) for w in window_C.tolist() if w != NOTHING]
    if words[:1] == [compiled.vocab_size]:  # sentences may begin with several <s>
        words = [compiled.vocab_size] * (int(np.count_nonzero(compiled.start_nodes)) - 1) + words
    found = []
    for order in range(1, compiled.order + 1):
        context = tuple(words[max(0, len(words) - order + 1) :])
        node = _node(compiled, context) if len(context) == order - 1 else -1
        if node < 0:
            found.append(Evidence(order, context, False, None, 0, None, 1.0, 0, None))
            continue
        followers = _followers(compiled, node) if order > 1 else compiled.vocab_size
        count = None if order == 1 or _child(compiled, node, word) else 0
        fallback = float(compiled.nodes["backoff"][node]) if order > 1 else None
        found.append(Evidence(order, context, followers > 0, None, followers, None, fallback, count, None))
    return found


def _node(compiled: Compiled, ngram: tuple[int, ...]) -> int:
    """The context's node, -1 when the model has none."""
    node = 0
    for word in ngram:
        node = 1 + word if node == 0 else _child(compiled, node, word)
        if not 0 < node < compiled.contexts:
            return -1
    return node


def _followers(compiled: Compiled, node: int) -> int:
    """How many words have an n-gram after a context; `<s>` after `<s>` is none."""
    low, high = int(compiled.nodes["first"][node]), min(int(compiled.nodes["first"][node + 1]), len(compiled.words))
    return int(np.count_nonzero(compiled.words[low:high] < compiled.vocab_size))


def _child(compiled: Compiled, node: int, word: int) -> int:
    """The node of the n-gram that a word makes of a context; 0 when it is not there."""
    low = int(compiled.nodes["first"][node])
    high = min(int(compiled.nodes["first"][node + 1]), len(compiled.words))
    place = low + int(np.searchsorted(compiled.words[low:high], np.uint32(word)))
    return place if low <= place < high and int(compiled.words[place]) == word else 0
