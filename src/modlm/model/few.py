"""The compiled form asked by plain numpy: for a handful of states in a process that has not loaded numba yet.

Loading numba and its kernels takes longer than such a question, so one `modlm next` is answered here. The results are
those of `compiled_kernels` to the last bit.
"""

from __future__ import annotations

import sys
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from modlm.arrays import AnyFloats, Floats, Ids, Ints

if TYPE_CHECKING:
    from modlm.counts.trie import Trie
    from modlm.model.compiled import Compiled

FEW = 64  # states; more are worth loading the kernels for
QUESTIONS = 128  # answered here; whoever asks more goes on asking

_asked = count()


def answered_here(states: int) -> bool:
    """Whether plain numpy is the faster way: few states, few questions so far, and none has needed numba."""
    return states <= FEW and "numba" not in sys.modules and next(_asked) < QUESTIONS


def advance(compiled: Compiled, states: Ints, words: Ids) -> tuple[Ints, Ints, Floats]:
    """The states after one more word each, the n-grams found, and the probability of the word."""
    new_states, nodes = np.zeros((2, len(states)), dtype=np.int64)
    out = np.ones(len(states))
    for i, (state, word) in enumerate(zip(states.tolist(), words.tolist(), strict=True)):
        if word < compiled.vocab_size:
            nodes[i], weight = _longest(compiled, state, word)
            out[i] = weight * float(compiled.probs[nodes[i]])
            new_states[i] = _resting_place(compiled.trie, int(nodes[i]))
        elif word == compiled.vocab_size:
            new_states[i] = compiled.start
    return new_states, nodes, out


def distributions(compiled: Compiled, states: Ints, out_BJ: AnyFloats) -> None:
    """P of every word after each state."""
    for i, state in enumerate(states.tolist()):
        _distribution(compiled, state, out_BJ[i])


def _distribution(compiled: Compiled, context: int, out: AnyFloats) -> None:
    trie, chain, weight = compiled.trie, list[tuple[int, float]](), 1.0
    context = context if 0 <= context < trie.contexts else 0
    while context:
        chain.append((context, weight))
        weight *= float(compiled.backoffs[context])
        context = _shorter(trie, context)
    real = out.dtype.type
    np.multiply(compiled.probs[1 : 1 + len(out)], real(weight), out=out)
    for context, weight in reversed(chain):
        low, high = int(trie.first[context]), min(int(trie.first[context + 1]), len(trie))
        followers = trie.words[low:high]
        inside = followers < len(out)
        out[followers[inside]] = real(weight) * compiled.probs[low:high][inside]


def _longest(compiled: Compiled, context: int, word: int) -> tuple[int, float]:
    """The longest n-gram that ends in the word, and the product of the backoffs on the way to it."""
    trie, weight = compiled.trie, 1.0
    context = context if 0 <= context < trie.contexts else 0
    while context:
        low, high = int(trie.first[context]), min(int(trie.first[context + 1]), len(trie))
        place = low + int(np.searchsorted(trie.words[low:high], np.uint32(word)))
        if place < high and trie.words[place] == word:
            return place, weight
        weight *= float(compiled.backoffs[context])
        context = _shorter(trie, context)
    return 1 + word, weight


def _shorter(trie: Trie, node: int) -> int:
    below = int(trie.suffix[node])
    return below if below < node else 0


def _resting_place(trie: Trie, node: int) -> int:
    """The longest suffix of an n-gram, itself included, that something follows: the state after it."""
    while node and (node >= trie.contexts or trie.first[node] == trie.first[node + 1]):
        node = _shorter(trie, node)
    return node
