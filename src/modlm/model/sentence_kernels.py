"""One sentence, bytes to logarithm, in one call.

A call into compiled code costs about as much as scoring a word for every array it is given, so the model's arrays come as
one row of addresses and lengths (`handle`) and are looked at in place. Whoever holds a handle holds the arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray
from numba.core import cgutils, types
from numba.extending import intrinsic

from modlm.arrays import Bytes, Ids, Ints, kernel
from modlm.counts.search_kernels import NOT_FOUND
from modlm.model.compiled import leaf_type, node_type
from modlm.model.compiled_kernels import Records, longest, probability_of, resting_place
from modlm.text.text_kernels import Table, is_space, scan_word, word_id

RESERVED_NAME = 1.0  # what the kernel answers, where logarithms are never above 0, when `<s>` or `</s>` stands in it
TINY = 1e-200
NODE, LEAF = node_type(np.float32), leaf_type(np.float32)
WIDE_NODE, WIDE_LEAF = node_type(np.float64), leaf_type(np.float64)


@intrinsic
def pointer(typing_context: Any, address: Any) -> Any:
    """The address as a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.uint64), generate


def handle_of(*arrays: np.ndarray) -> np.ndarray:
    """Address and length of each array."""
    return np.array([(array.ctypes.data, len(array)) for array in arrays], dtype=np.uint64).ravel()


@kernel
def walk_sentence(
    data: Bytes, size: int, blob: Bytes, offsets: Ints, table: Table,
    words: Ids, signposts: Ids, nodes: Records, leaves: Records, state: np.uint64, end: np.uint32,
) -> float:  # fmt: skip
    """log P of the words of data[:size] and the end of the sentence."""
    total, product = 0.0, 1.0
    position = 0
    while True:
        while position < size and is_space(data[position]):
            position += 1
        word = end
        if position < size:
            stop, hashed = scan_word(data, position)
            found = word_id(data, position, stop, hashed, blob, offsets, table, True)
            if found < 0:
                return RESERVED_NAME
            word, position = np.uint32(found), stop
            finished = False
        else:
            finished = True
        node, weight = longest(words, signposts, nodes, state, word)
        product *= weight * probability_of(nodes, leaves, node)
        if product < TINY:  # one logarithm for many words; a probability of 0 ends here as -inf
            total += np.log(product)
            product = 1.0
        if finished:
            return total + np.log(product)
        state = resting_place(nodes, leaves, node)


@kernel
def score_sentence(handle: np.ndarray, data: Bytes, size: int, wide: bool, start: int, end: int) -> float:
    """`walk_sentence` over the arrays of a handle: blob, offsets, table, words, signposts, nodes, leaves."""
    blob = carray(pointer(handle[0]), (np.int64(handle[1]),), np.uint8)
    offsets = carray(pointer(handle[2]), (np.int64(handle[3]),), np.int64)
    table = carray(pointer(handle[4]), (np.int64(handle[5]),), np.uint64)
    words = carray(pointer(handle[6]), (np.int64(handle[7]),), np.uint32)
    signposts = carray(pointer(handle[8]), (np.int64(handle[9]),), np.uint32)
    state = np.uint64(start) if start > 0 else NOT_FOUND
    last = np.uint32(end)
    if wide:
        nodes = carray(pointer(handle[10]), (np.int64(handle[11]),), WIDE_NODE)
        leaves = carray(pointer(handle[12]), (np.int64(handle[13]),), WIDE_LEAF)
        return walk_sentence(data, size, blob, offsets, table, words, signposts, nodes, leaves, state, last)
    narrow_nodes = carray(pointer(handle[10]), (np.int64(handle[11]),), NODE)
    narrow_leaves = carray(pointer(handle[12]), (np.int64(handle[13]),), LEAF)
    return walk_sentence(data, size, blob, offsets, table, words, signposts, narrow_nodes, narrow_leaves, state, last)
