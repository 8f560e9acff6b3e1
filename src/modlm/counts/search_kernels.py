"""Finding a word among the followers of a context: halve the range down to 64 words, then compare those at once.

The comparison is written as vector code for LLVM (which maps it to whatever the processor has), because the compiler
does not find it by itself. Most contexts have at most 64 followers, so most searches are one comparison without any
branch that depends on the data. Numbers are unsigned throughout: that spares numba's test for negative indices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from modlm.ground.arrays import Ids, inlined, intrinsic, kernel
from modlm.ground.memory_kernels import lowest_one
from modlm.ground.memory_kernels import prefetch as prefetch

ONE, NOT_FOUND = np.uint64(1), np.uint64(0)
WIDTH, NARROW = np.uint64(64), np.uint64(16)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


def comparison(width: int, bits: int = 32) -> Any:
    """A 64-bit mask: bit i is set where words[low + i] is the word. All `width` places must be inside the array."""

    @intrinsic
    def equal_words(typing_context: Any, words: Any, low: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            number, vector = ir.IntType(32), ir.VectorType(ir.IntType(bits), width)
            place = builder.bitcast(builder.gep(array.data, [arguments[1]]), vector.as_pointer())
            loaded = builder.load(place)
            loaded.align = bits // 8
            undefined = ir.Constant(vector, ir.Undefined)
            single = builder.insert_element(undefined, arguments[2], number(0))
            wanted = builder.shuffle_vector(single, undefined, ir.Constant(ir.VectorType(number, width), [0] * width))
            mask = builder.bitcast(builder.icmp_unsigned("==", loaded, wanted), ir.IntType(width))
            return mask if width == 64 else builder.zext(mask, ir.IntType(64))

        return types.uint64(words, types.uint64, types.uint32 if bits == 32 else types.uint64), generate

    return equal_words


equal_in_16, equal_in_64 = comparison(16), comparison(64)


@inlined
def lowest_bit(mask: np.uint64) -> np.uint64:
    """The place of the lowest set bit of a mask that is not 0."""
    return np.uint64(lowest_one(mask))


@inlined
def among(words: Ids, low: np.uint64, size: np.uint64, word: np.uint32) -> np.uint64:
    """The place of a word in words[low:low+size], or 0; the size is 1 to 64."""
    if low + WIDTH <= np.uint64(len(words)):
        if size <= NARROW:  # one or two cache lines instead of five
            mask = equal_in_16(words, low, word) & (ALL >> (WIDTH - size))
        else:
            mask = equal_in_64(words, low, word) & (ALL >> (WIDTH - size))
        return low + lowest_bit(mask) if mask != NOT_FOUND else NOT_FOUND
    for i in range(size):
        if words[low + np.uint64(i)] == word:
            return low + np.uint64(i)
    return NOT_FOUND


@kernel
def find(words: Ids, low: np.uint64, high: np.uint64, word: np.uint32) -> np.uint64:
    """The place of a word in the sorted words[low:high], or 0; the range must not be empty."""
    size = high - low
    while size > WIDTH:
        half = size >> ONE
        middle = low + half
        low = middle if words[middle] <= word else low
        size -= half
    return among(words, low, size, word)
