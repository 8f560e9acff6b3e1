"""One sentence, string to logarithm, in one call.

Over the Penn Treebank a sentence takes 5 µs this way; by way of ids and `score_text` it takes 14 times as long.

A call into compiled code costs about as much as scoring a word for every array it is given, so the model's arrays come
as one row of addresses and lengths (`handle`) and are looked at in place. Whoever holds a handle holds the arrays.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba.np.numpy_support import carray

from modlm.counts.search_kernels import NOT_FOUND
from modlm.errors import VocabularyError
from modlm.ground.arrays import Bytes, Ids, Ints, int64, kernel
from modlm.ground.memory_kernels import pointer
from modlm.model.language_model import BOUNDARIES_INSIDE
from modlm.model.ngram.compiled import Compiled, leaf_type, node_type
from modlm.model.ngram.compiled_kernels import Records, follower, probability_of
from modlm.text.sources import PADDING
from modlm.text.text_kernels import Table, is_space, scan_word, word_id
from modlm.text.vocabulary import END, Vocabulary

RESERVED_NAME = 1.0  # what the kernel answers, where logarithms are never above 0, when `<s>` or `</s>` stands in it
TINY = 1e-200
TAIL = "\n" + "\0" * PADDING
NODE, LEAF = node_type(np.float32), leaf_type(np.float32)
WIDE_NODE, WIDE_LEAF = node_type(np.float64), leaf_type(np.float64)


class SentenceScorer:
    """log P of a sentence given as a string, its end included; holds on to the model's arrays."""

    def __init__(self, vocabulary: Vocabulary, compiled: Compiled) -> None:
        words, nodes, leaves = compiled.arrays
        arrays = (*vocabulary.kernel_tables(), words, compiled.start_nodes, nodes, leaves)
        self._arrays = [np.ascontiguousarray(array) for array in arrays]
        places = [(array.ctypes.data, len(array)) for array in self._arrays]
        self._handle = np.array(places, dtype=np.uint64).ravel()
        self._kernel: Callable[..., float] = score_sentence  # takes bytes as an array of them
        self._wide = compiled.dtype == np.float64

    def __call__(self, sentence: str) -> float:
        data = (sentence + TAIL).encode(errors="surrogatepass")  # half a character is part of an unknown word
        score = self._kernel(self._handle, data, len(data) - PADDING, self._wide, END)
        if score > 0:
            raise VocabularyError(BOUNDARIES_INSIDE)
        return score


@kernel
def read_sentence(data: Bytes, size: int, blob: Bytes, offsets: Ints, table: Table, end: int, out: Ids) -> int:
    """The ids of the words of data[:size] and of the sentence end; their number, or -1 when a boundary stands in it."""
    position, wrote = 0, 0
    while True:
        while position < size and is_space(data[position]):
            position += 1
        if position >= size:
            out[wrote] = end
            return wrote + 1
        stop, hashed = scan_word(data, position)
        word = word_id(data, position, stop, hashed, blob, offsets, table, True)
        if word < 0:
            return -1
        out[wrote] = word
        wrote += 1
        position = stop


@kernel
def walk_sentence(
    data: Bytes, size: int, blob: Bytes, offsets: Ints, table: Table,
    words: Ids, nodes: Records, leaves: Records, start_nodes: Ids, end: int,
) -> float:  # fmt: skip
    """log P of the words of data[:size] and the end of the sentence.

    Goes order by order over the whole sentence: whether an n-gram is there depends only on the one before it, an order
    lower. So the searches of one order do not wait for one another, as those of neighbouring words would: that takes
    1.4 times as long over the Penn Treebank, and twice with 12 million n-grams.
    """
    ids = np.empty(size // 2 + 2, np.uint32)
    length = read_sentence(data, size, blob, offsets, table, end, ids)
    if length < 0:
        return RESERVED_NAME
    order = len(start_nodes) - 1
    found_NT = np.empty((order + 1, length + 1), np.uint32)  # found_NT[n, t + 1]: the n-gram that ends in word t, or 0
    for t in range(length):
        found_NT[1, t + 1] = ids[t] + 1
    for n in range(1, order + 1):
        found_NT[n, 0] = start_nodes[n]
    for n in range(2, order + 1):
        limit = np.uint64(len(words) if n == order else len(nodes) - 1)  # a damaged file may lead elsewhere
        for t in range(length):
            context = np.uint64(found_NT[n - 1, t])
            node = follower(words, nodes, context, ids[t]) if context != NOT_FOUND else NOT_FOUND
            found_NT[n, t + 1] = node if node < limit else NOT_FOUND
    total, product = 0.0, 1.0
    for t in range(length):
        n = order
        while found_NT[n, t + 1] == 0:
            n -= 1
            context = np.uint64(found_NT[n, t])
            product *= nodes[context].backoff if context != NOT_FOUND else 1.0
        product *= probability_of(nodes, leaves, np.uint64(found_NT[n, t + 1]))
        if product < TINY:  # one logarithm for many words; a probability of 0 ends here as -inf
            total += np.log(product)
            product = 1.0
    return float(total + np.log(product))


@kernel
def score_sentence(handle: np.ndarray, data: Bytes, size: int, wide: bool, end: int) -> float:
    """`walk_sentence` over the arrays of a handle: blob, offsets, table, words, start nodes, nodes, leaves."""
    blob = carray(pointer(handle[0]), (int64(handle[1]),), np.uint8)
    offsets = carray(pointer(handle[2]), (int64(handle[3]),), np.int64)
    table = carray(pointer(handle[4]), (int64(handle[5]),), np.uint64)
    words = carray(pointer(handle[6]), (int64(handle[7]),), np.uint32)
    start_nodes = carray(pointer(handle[8]), (int64(handle[9]),), np.uint32)
    if wide:
        nodes = carray(pointer(handle[10]), (int64(handle[11]),), WIDE_NODE)
        leaves = carray(pointer(handle[12]), (int64(handle[13]),), WIDE_LEAF)
        return walk_sentence(data, size, blob, offsets, table, words, nodes, leaves, start_nodes, end)
    narrow_nodes = carray(pointer(handle[10]), (int64(handle[11]),), NODE)
    narrow_leaves = carray(pointer(handle[12]), (int64(handle[13]),), LEAF)
    return walk_sentence(data, size, blob, offsets, table, words, narrow_nodes, narrow_leaves, start_nodes, end)
