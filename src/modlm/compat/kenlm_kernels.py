"""KenLM's calls as compiled functions that Python calls directly, over a KenLM binary or over our compiled form.

Each takes the address of a row of numbers (`handle`) that says where the model's arrays lie; whoever holds it holds
them. They keep the interpreter lock, so the spare memory of a model is used by one call at a time. Logarithms are of
base 10; sums are float32 where KenLM's are.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numba.core import types
from numba.np.numpy_support import carray
from numpy.typing import NDArray

from modlm.compat.object_kernels import STATE, TEXT, resized
from modlm.counts.search_kernels import NOT_FOUND
from modlm.formats.kenlm.binary_kernels import find_word, murmur
from modlm.formats.kenlm.plan import COLUMNS, END, ORDER, Plan
from modlm.formats.kenlm.query_kernels import START, score_words, step
from modlm.ground.arrays import Bytes, Ids, Ints, entry, inlined, int64, kernel
from modlm.ground.memory_kernels import pointer
from modlm.model.ngram.compiled_kernels import Records, longest, probability_of, resting_place
from modlm.model.ngram.sentence_kernels import LEAF, NODE, RESERVED_NAME, WIDE_LEAF, WIDE_NODE, score_sentence
from modlm.text import text_kernels
from modlm.text.text_kernels import LINE_END, MULTIPLIER, PADDING, START_WORD, hash_word, is_space, mix, scan_word

LN10 = math.log(10.0)
ROOM = 32  # numbers of a handle
Handle = NDArray[np.uint64]


@inlined
def array_at(handle: Handle, place: int, kind: Any) -> Any:
    """The array whose address and length stand at a place of a handle."""
    return carray(pointer(handle[place]), (int64(handle[place + 1]),), kind)


@inlined
def handle_at(address: int) -> Handle:
    """The row of numbers at an address."""
    row: Handle = carray(pointer(np.uint64(address)), (ROOM,), np.uint64)
    return row


@inlined
def keep_state(out: Any, spare: Ids, size: int) -> None:
    """Write so many numbers into the state object."""
    at = resized(out.owner, 4 * size)
    if at == np.uint64(0):
        raise BufferError("the memory of the State is in use elsewhere")
    written = carray(pointer(at), (size,), np.uint32)
    for i in range(size):
        written[i] = spare[i]


# ---- a KenLM binary: data, plan, spare -------------------------------------------------------------------------------


@inlined
def binary_at(address: int) -> tuple[Bytes, Plan, Ids]:
    """The file, its plan, and spare memory."""
    handle = handle_at(address)
    plan = carray(pointer(handle[2]), (int64(handle[3]), COLUMNS), np.uint64)
    return array_at(handle, 0, np.uint8), plan, array_at(handle, 4, np.uint32)


@inlined
def binary_step(address: int, state: Any, word: Any, out: Any) -> tuple[Any, ...]:
    """log10 P, the n-gram's length, the word's number; the state after it is written."""
    data, plan, spare = binary_at(address)
    number = find_word(data, plan, murmur(carray(pointer(word.at), (word.size,), np.uint8), 0, word.size))
    length = min(state.size // 8, int64(plan[0, ORDER]) - 1)
    before = carray(pointer(state.at), (2 * length,), np.uint32)
    score, order, new = step(data, plan, before, length, number, spare)
    keep_state(out, spare, 2 * new)
    return score, order, number


@kernel
def binary_words(data: Bytes, plan: Plan, text: Bytes, top: int, begins: bool, ends: bool) -> tuple[Ints, int]:
    """KenLM's numbers of the words of a text, from place `top` on, and how many of them and boundaries there are."""
    words = np.empty(top + len(text) // 2 + 3, np.int64)
    wrote, position = top, 0
    if begins:
        words[wrote] = START
        wrote += 1
    while True:
        while position < len(text) and is_space(text[position]):
            position += 1
        if position >= len(text):
            break
        end = position + 1
        while end < len(text) and not is_space(text[end]):
            end += 1
        words[wrote] = find_word(data, plan, murmur(text, position, end))
        wrote += 1
        position = end
    if ends:
        words[wrote] = plan[0, END]
        wrote += 1
    return words, wrote


@inlined
def binary_scored(address: int, text: Any, begins: bool, ends: bool) -> tuple[Any, ...]:
    """The words of a text from place `first` to `last`, log10 of their probabilities, lengths of their n-grams."""
    data, plan, _ = binary_at(address)
    top = int64(plan[0, ORDER])
    words, last = binary_words(data, plan, carray(pointer(text.at), (text.size,), np.uint8), top, begins, ends)
    numbers_NT, lengths = np.empty((top + 1, last), np.float32), np.empty((2, last), np.uint8)
    lengths[1, :top] = 0
    score_words(data, plan, top, last, words, np.empty((4, last), np.uint64), numbers_NT, lengths)
    return words, top + begins, last, numbers_NT[0], lengths[0]


def binary_base(address: int, state: Any, word: Any, out: Any) -> float:
    return float(binary_step(address, state, word, out)[0])


def binary_full(address: int, state: Any, word: Any, out: Any) -> tuple[float, int, bool]:
    score, order, number = binary_step(address, state, word, out)
    return float(score), order, number == np.uint64(0)


def binary_known(address: int, word: Any) -> bool:
    data, plan, _ = binary_at(address)
    hashed = murmur(carray(pointer(word.at), (word.size,), np.uint8), 0, word.size)
    return bool(find_word(data, plan, hashed) != np.uint64(0))


def binary_score(address: int, text: Any, begins: bool, ends: bool) -> float:
    _, first, last, scores, _ = binary_scored(address, text, begins, ends)
    total = np.float32(0.0)
    for t in range(first, last):
        total += scores[t]
    return float(total)


def binary_full_scores(address: int, text: Any, begins: bool, ends: bool) -> list[tuple[float, int, bool]]:
    words, first, last, scores, orders = binary_scored(address, text, begins, ends)
    return [
        (float(scores[t]), int64(orders[t]), words[t] == 0 and not (ends and t == last - 1)) for t in range(first, last)
    ]


# ---- our compiled form: blob, offsets, table, words, start nodes, nodes, leaves, levels, a word, a state, … ----------

LEVELS, COPY, SPARE, WIDE, BEGIN = 14, 16, 18, 20, 21


@inlined
def word_number(handle: Handle, data: Bytes, begin: int, end: int) -> int:
    """The id of data[begin:end], 0 when it is unknown; `<s>` and `</s>` are words here."""
    hashed = hash_word(data, begin, end)
    if end - begin == 3 and hashed == mix(MULTIPLIER, START_WORD):
        return int64(handle[3]) - 1
    blob, offsets, table = array_at(handle, 0, np.uint8), array_at(handle, 2, np.int64), array_at(handle, 4, np.uint64)
    return int(max(0, text_kernels.find_word(data, begin, end, hashed, blob, offsets, table)))


@inlined
def padded(text: Any, copy: Bytes) -> int:
    """Copy a text and have a line end and zeros behind it; its size, as far as there is room."""
    given = carray(pointer(text.at), (text.size,), np.uint8)
    size = min(text.size, len(copy) - PADDING - 1)
    for i in range(size):
        copy[i] = given[i]
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
    return np.log10(prob), order, int64(resting_place(nodes, leaves, node))


@inlined
def ngram_step(handle: Handle, state: int, word: int) -> tuple[Any, ...]:
    """`node_step` in the model's precision."""
    words, levels = array_at(handle, 6, np.uint32), array_at(handle, LEVELS, np.int64)
    if handle[WIDE]:
        nodes, leaves = array_at(handle, 10, WIDE_NODE), array_at(handle, 12, WIDE_LEAF)
        return node_step(words, nodes, leaves, levels, state, word)
    return node_step(words, array_at(handle, 10, NODE), array_at(handle, 12, LEAF), levels, state, word)


@inlined
def ngram_after(address: int, state: Any, word: Any, out: Any) -> tuple[Any, ...]:
    """log10 P, the n-gram's length, the word's id; the state after it is written."""
    handle = handle_at(address)
    copy, spare = array_at(handle, COPY, np.uint8), array_at(handle, SPARE, np.uint32)
    number = word_number(handle, copy, 0, padded(word, copy))
    node = int64(carray(pointer(state.at), (1,), np.uint32)[0]) if state.size >= 4 else 0
    score, order, new = ngram_step(handle, node, number)
    spare[0] = new
    keep_state(out, spare, 1 if new > 0 else 0)
    return score, order, number


@kernel
def ngram_scores(address: int, data: Bytes, size: int, begins: bool, ends: bool) -> list[tuple[float, int, bool]]:
    """log10 P, the n-gram's length, and whether it is unknown, for each word of data[:size] and the end."""
    handle = handle_at(address)
    out, position, state = [(0.0, 0, False)], 0, int64(handle[BEGIN]) if begins else 0
    out.clear()
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


def ngram_base(address: int, state: Any, word: Any, out: Any) -> float:
    return float(ngram_after(address, state, word, out)[0])


def ngram_full(address: int, state: Any, word: Any, out: Any) -> tuple[float, int, bool]:
    score, order, number = ngram_after(address, state, word, out)
    return score, order, number == 0


def ngram_known(address: int, word: Any) -> bool:
    handle = handle_at(address)
    copy = array_at(handle, COPY, np.uint8)
    return word_number(handle, copy, 0, padded(word, copy)) != 0


def ngram_score(address: int, text: Any, begins: bool, ends: bool) -> float:
    handle = handle_at(address)
    data = np.empty(text.size + PADDING + 1, np.uint8)
    size = padded(text, data)
    if begins and ends:
        score = score_sentence(handle, data, size, handle[WIDE] != 0, 1)
        if score != RESERVED_NAME:
            return score / LN10
    total = 0.0
    for score, _, _ in ngram_scores(address, data, size, begins, ends):
        total += score
    return total


def ngram_full_scores(address: int, text: Any, begins: bool, ends: bool) -> list[tuple[float, int, bool]]:
    data = np.empty(text.size + PADDING + 1, np.uint8)
    return ngram_scores(address, data, padded(text, data), begins, ends)


# ---- as Python calls them --------------------------------------------------------------------------------------------

_ADDRESS, _FLAG = types.int64, types.boolean
_WORD, _SENTENCE = (_ADDRESS, STATE, TEXT, STATE), (_ADDRESS, TEXT, _FLAG, _FLAG)


@functools.cache
def calls(binary: bool) -> dict[str, Any]:
    """The functions of one kind of model by name; each takes the address of a handle first."""
    if binary:
        word = {"base": binary_base, "full": binary_full}
        text = {"score": binary_score, "full_scores": binary_full_scores}
        known = binary_known
    else:
        word, known = {"base": ngram_base, "full": ngram_full}, ngram_known
        text = {"score": ngram_score, "full_scores": ngram_full_scores}
    made = {name: entry(function, *_WORD) for name, function in word.items()}
    made |= {name: entry(function, *_SENTENCE) for name, function in text.items()}
    return made | {"known": entry(known, _ADDRESS, TEXT)}
