"""KenLM's calls as compiled functions that Python calls directly, over a KenLM binary or over our compiled form.

Each takes the address of a row of numbers, the `handle`, that says where the model's arrays lie; whoever holds it holds
them. They keep the interpreter lock, so a model's spare memory is used by one call at a time. Logarithms are of base
10, sums of a binary's are float32 as KenLM's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.core import types
from numba.np.numpy_support import carray
from numpy.typing import NDArray

from modlm.compat.object_kernels import STATE, TEXT, resized
from modlm.counts.search_kernels import NOT_FOUND, ONE, prefetch
from modlm.formats.kenlm import columns as c
from modlm.formats.kenlm.binary_kernels import find_word, murmur
from modlm.formats.kenlm.query_kernels import START, score_words, step
from modlm.ground.arrays import Bytes, Ids, Ints, entry, inlined, int64, kernel
from modlm.ground.memory_kernels import pointer
from modlm.model.ngram.compiled_kernels import Records, longest, probability_of, resting_place
from modlm.model.ngram.sentence_kernels import LEAF, NODE, RESERVED_NAME, WIDE_LEAF, WIDE_NODE, score_sentence
from modlm.text import text_kernels
from modlm.text.text_kernels import LINE_END, MULTIPLIER, PADDING, START_WORD, hash_word, is_space, mix, scan_word

LN10 = math.log(10.0)
ROOM = 32  # numbers of a handle
BINARY, WIDE, BEGIN, SPARE = 0, 1, 2, 4
"""Places in a handle: whether it is of a binary, of float64; the node at the begin of a sentence; spare memory. From 6
on come address and length of each array: file and plan, or those of `score_sentence`, levels and room for a word."""
Handle = NDArray[np.uint64]


@inlined
def array_at(handle: Handle, place: int, kind: Any) -> Any:
    """The array whose address and length stand at a place of a handle."""
    return carray(pointer(handle[place]), (int64(handle[place + 1]),), kind)


@inlined
def opened(address: int, text: Any) -> tuple[Handle, Bytes]:
    """The handle at an address, and a text as bytes."""
    return carray(pointer(np.uint64(address)), (ROOM,), np.uint64), carray(pointer(text.at), (text.size,), np.uint8)


# ---- a KenLM binary --------------------------------------------------------------------------------------------------


@kernel
def binary_scores(handle: Handle, text: Bytes, begins: bool, ends: bool) -> tuple[Any, ...]:
    """KenLM's numbers of the words, log10 of their probabilities and lengths of their n-grams; the first place."""
    data, plan = array_at(handle, 6, np.uint8), carray(pointer(handle[8]), (int64(handle[9]), c.COLUMNS), np.uint64)
    first, position = int64(plan[0, c.ORDER]), 0
    words = np.empty(first + len(text) // 2 + 3, np.int64)
    words[first], last = START, first + begins
    while position < len(text):
        end = position
        while end < len(text) and not is_space(text[end]):
            end += 1
        if end > position:
            words[last] = find_word(data, plan, murmur(text, position, end))
            last += 1
        position = end + 1
    words[last], last = plan[0, c.END], last + ends
    numbers_NT, lengths = np.empty((first + 1, last), np.float32), np.empty((2, last), np.uint8)
    lengths[1, :first] = 0
    score_words(data, plan, first, last, words, np.empty((4, last), np.uint64), numbers_NT, lengths)
    return words, numbers_NT[0], lengths[0], first + begins


# ---- our compiled form -----------------------------------------------------------------------------------------------


@inlined
def word_number(handle: Handle, data: Bytes, begin: int, end: int) -> int:
    """The id of data[begin:end], 0 when it is unknown; `<s>` and `</s>` are words here."""
    hashed = hash_word(data, begin, end)
    blob, offsets, table = array_at(handle, 6, np.uint8), array_at(handle, 8, np.int64), array_at(handle, 10, np.uint64)
    if end - begin == 3 and hashed == mix(MULTIPLIER, START_WORD):
        return len(offsets) - 1
    return max(0, text_kernels.find_word(data, begin, end, hashed, blob, offsets, table))


@inlined
def padded(text: Bytes, copy: Bytes) -> int:
    """Copy a text and have a line end and zeros behind it; its size, as far as there is room."""
    size = min(len(text), len(copy) - PADDING - 1)
    for i in range(size):
        copy[i] = text[i]
    copy[size] = LINE_END
    copy[size + 1 : size + 1 + PADDING] = 0
    return size


@kernel
def node_step(words: Ids, nodes: Records, leaves: Records, levels: Ints, state: int, word: int) -> tuple[Any, ...]:
    """log10 P of a word after a context, the n-gram's length, and the context after it."""
    context = np.uint64(state) if state < len(nodes) - 1 else NOT_FOUND
    node, weight = longest(words, nodes, context, np.uint32(word))
    prob = weight * probability_of(nodes, leaves, node)
    if prob == 0.0 and int64(node) == levels[2] - 1:  # <s> is never predicted; its row in ARPA files says 0
        prob = weight
    order = 1
    while order + 2 < len(levels) and int64(node) >= levels[order + 1]:
        order += 1
    rest = resting_place(
        nodes, leaves, node
    )  # what the next word reads first comes while Python is busy: 0.06 of 0.43 µs
    prefetch(words, (np.uint64(nodes[rest].first) + np.uint64(nodes[rest + ONE].first)) >> ONE)
    prefetch(nodes, np.uint64(nodes[rest].suffix))
    return np.log(prob) / LN10, order, int64(rest)


@inlined
def ngram_step(handle: Handle, state: int, word: int) -> tuple[Any, ...]:
    """`node_step` in the model's precision."""
    words, levels = array_at(handle, 12, np.uint32), array_at(handle, 20, np.int64)
    if handle[WIDE]:
        return node_step(words, array_at(handle, 16, WIDE_NODE), array_at(handle, 18, WIDE_LEAF), levels, state, word)
    return node_step(words, array_at(handle, 16, NODE), array_at(handle, 18, LEAF), levels, state, word)


@kernel
def ngram_scores(handle: Handle, text: Bytes, begins: bool, ends: bool) -> list[tuple[float, int, bool]]:
    """log10 P, the n-gram's length, and whether it is unknown, for each word and the end."""
    data = np.empty(len(text) + PADDING + 1, np.uint8)
    size, position, state = padded(text, data), 0, int64(handle[BEGIN]) if begins else 0
    out = [(0.0, 0, False) for _ in range(0)]
    while position < size:
        end, _ = scan_word(data, position)
        if end > position:
            number = word_number(handle, data, position, end)
            score, order, state = ngram_step(handle, state, number)
            out.append((score, order, number == 0))
        position = end + 1
    if ends:
        score, order, state = ngram_step(handle, state, 1)
        out.append((score, order, False))
    return out


# ---- as Python calls them --------------------------------------------------------------------------------------------


@inlined
def after(address: int, state: Any, word: Any, out: Any) -> tuple[float, int, int]:
    """log10 P, the n-gram's length, the word's number; the state after it is written."""
    handle, text = opened(address, word)
    spare, size = array_at(handle, SPARE, np.uint32), state.size // 4
    if handle[BINARY]:
        data, plan = array_at(handle, 6, np.uint8), carray(pointer(handle[8]), (int64(handle[9]), c.COLUMNS), np.uint64)
        number = int64(find_word(data, plan, murmur(text, 0, len(text))))
        length = min(size // 2, int64(plan[0, c.ORDER]) - 1)
        before = carray(pointer(state.at), (2 * length,), np.uint32)
        single, order, new = step(data, plan, before, length, np.uint64(number), spare)
        score, size = float(single), 2 * new
    else:
        copy = array_at(handle, 22, np.uint8)
        number = word_number(handle, copy, 0, padded(text, copy))
        node = int64(carray(pointer(state.at), (1,), np.uint32)[0]) if size > 0 else 0
        score, order, new = ngram_step(handle, node, number)
        spare[0], size = new, 1 if new > 0 else 0
    at = resized(out.owner, 4 * size)
    if at == np.uint64(0):
        raise BufferError("the memory of the State is in use elsewhere")
    carray(pointer(at), (size,), np.uint32)[:] = spare[:size]
    return score, order, number


def _base(address: int, state: Any, word: Any, out: Any) -> float:
    return after(address, state, word, out)[0]


def _full(address: int, state: Any, word: Any, out: Any) -> tuple[float, int, bool]:
    score, order, number = after(address, state, word, out)
    return score, order, number == 0


def _score(address: int, sentence: Any, begins: bool, ends: bool) -> float:
    handle, text = opened(address, sentence)
    if handle[BINARY]:
        _, scores, _, first = binary_scores(handle, text, begins, ends)
        added = np.float32(0.0)
        for t in range(first, len(scores)):
            added += scores[t]
        return float(added)
    if begins and ends:
        data = np.empty(len(text) + PADDING + 1, np.uint8)
        natural = score_sentence(handle[6:], data, padded(text, data), handle[WIDE] != 0, 1)
        if natural != RESERVED_NAME:
            return natural / LN10
    total = 0.0
    for log_prob, _, _ in ngram_scores(handle, text, begins, ends):
        total += log_prob
    return total


def _full_scores(address: int, sentence: Any, begins: bool, ends: bool) -> list[tuple[float, int, bool]]:
    handle, text = opened(address, sentence)
    if not handle[BINARY]:
        return ngram_scores(handle, text, begins, ends)
    words, scores, orders, first = binary_scores(handle, text, begins, ends)
    stop = len(scores) - ends  # a sentence end is never called unknown
    return [(np.float64(scores[t]), int64(orders[t]), words[t] == 0 and t < stop) for t in range(first, len(scores))]


BASE, FULL = (entry(function, types.int64, STATE, TEXT, STATE) for function in (_base, _full))
SCORE, FULL_SCORES = (
    entry(function, types.int64, TEXT, types.boolean, types.boolean) for function in (_score, _full_scores)
)
