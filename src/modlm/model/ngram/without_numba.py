"""The compiled form asked by plain numpy: for a handful of states in a process that has not loaded numba yet.

Loading numba and its kernels takes longer than such a question: `modlm next` over the Penn Treebank takes 0.3 s from
start to end this way and 0.9 s with the kernels. The results are those of `compiled_kernels` to the last bit.
"""

from __future__ import annotations

import sys
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from modlm.ground.arrays import AnyFloats, Floats, Ids, Ints

if TYPE_CHECKING:
    from modlm.model.ngram.compiled import Compiled

FEW = 64  # states; more are worth loading the kernels for
QUESTIONS = 128  # answered here; whoever asks more goes on asking

_asked = count()


def is_faster(states: int) -> bool:
    """Whether plain numpy is the faster way: few states, few questions so far, and none has needed numba."""
    return states <= FEW and "numba" not in sys.modules and next(_asked) < QUESTIONS


def advance(compiled: Compiled, states: Ints, words: Ids) -> tuple[Ints, Ints, Floats]:
    new_states, nodes = np.zeros((2, len(states)), dtype=np.int64)
    out = np.ones(len(states))
    for i, (state, word) in enumerate(zip(states.tolist(), words.tolist(), strict=True)):
        if word < compiled.vocab_size:
            nodes[i], weight = _longest(compiled, state, word)
            out[i] = weight * float(compiled.probs_of(nodes[i : i + 1])[0])
            new_states[i] = _resting_place(compiled, int(nodes[i]))
        elif word == compiled.vocab_size:
            new_states[i] = compiled.start
    return new_states, nodes, out


def distributions(compiled: Compiled, states: Ints, out_BJ: AnyFloats) -> None:
    real = out_BJ.dtype.type
    for context, out in zip(states.tolist(), out_BJ, strict=True):
        chain, weight = list[tuple[int, float]](), 1.0
        context = context if 0 <= context < compiled.contexts else 0
        while context:
            chain.append((context, weight))
            weight *= float(compiled.nodes[context]["backoff"])
            context = compiled.shorter(context)
        np.multiply(compiled.unigrams, real(weight), out=out)
        for context, weight in reversed(chain):
            low, high = compiled.followers(context)
            inside = np.flatnonzero(compiled.words[low:high] < len(out))
            out[compiled.words[low + inside]] = real(weight) * compiled.probs_of(low + inside)


def _longest(compiled: Compiled, context: int, word: int) -> tuple[int, float]:
    """The longest n-gram that ends in the word, and the product of the backoffs on the way to it."""
    weight = 1.0
    context = context if 0 <= context < compiled.contexts else 0
    while context:
        node = compiled.follower(context, word)
        if node:
            return node, weight
        weight *= float(compiled.nodes[context]["backoff"])
        context = compiled.shorter(context)
    return 1 + word, weight


def _resting_place(compiled: Compiled, node: int) -> int:
    """The longest suffix of an n-gram, itself included, that tells anything about what follows: the state after it."""
    if node >= compiled.contexts:
        node = int(compiled.leaves[node - compiled.contexts]["suffix"])
        node = node if node < compiled.contexts else 0
    while node and len(range(*compiled.followers(node))) == 0 and compiled.nodes[node]["backoff"] == 1:
        node = compiled.shorter(node)
    return node
