"""Bits in lines: vectors of bits that say how many ones come before a place, and where the i-th one or zero is.

A vector lies in an array of 64-bit numbers as lines of eight, a cache line each. The first number of a line has in
its low bits how many ones come before the line and above them, nine bits each, how many come before its third, fifth
and seventh number of bits; then come these seven, 448 bits. Behind the lines stand samples: the line of every 256th
one, and of every 256th zero. All functions take the array and the place where a vector begins in it. `sound` says
whether a vector lies inside of its array; in one that does, nothing that a damaged file says leads out of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types

from modlm.ground.arrays import Words, inlined, int64, intrinsic, kernel
from modlm.ground.memory_kernels import lowest_one, prefetch

LINE, SAMPLE = 448, 256
WORDS = 8  # of a line
HEAD = 4  # numbers before the lines: bits, lines, where the samples of ones and of zeros begin
BEFORE = np.uint64((1 << 37) - 1)  # the low bits of the first number of a line
NINE = np.uint64(511)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
PLACES = np.array([[[b for b in range(8) if byte >> b & 1] + [0] * 8][0][:8] for byte in range(256)], np.uint8).ravel()


@intrinsic
def ones_in(typing_context: Any, word: Any) -> Any:
    """How many bits of a 64-bit number are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@inlined
def at(data: Words, place: int) -> np.uint64:
    """A number of the array; 0 outside of it."""
    return data[place] if 0 <= place < len(data) else np.uint64(0)


@inlined
def place_in(word: np.uint64, i: int) -> int:
    """The place of the i-th set bit of a number that has more than i."""
    place = 0
    low = ones_in(word & np.uint64(0xFFFFFFFF))
    if i >= low:
        i, place = i - low, 32
    low = ones_in((word >> np.uint64(place)) & np.uint64(0xFFFF))
    if i >= low:
        i, place = i - low, place + 16
    low = ones_in((word >> np.uint64(place)) & np.uint64(0xFF))
    if i >= low:
        i, place = i - low, place + 8
    byte = int64((word >> np.uint64(place)) & np.uint64(0xFF))
    return place + int64(PLACES[np.uint64(byte * 8 + (i & 7))])


@inlined
def line_of(data: Words, vector: int, place: int) -> tuple[np.uint64, np.uint64]:
    """Where the line of a place begins in the array, and the place within it; the last line for places behind it."""
    line = min(np.uint64(place) // np.uint64(LINE), data[np.uint64(vector + 1)] - np.uint64(1))
    inside = min(np.uint64(place) - line * np.uint64(LINE), np.uint64(LINE - 1))
    return np.uint64(vector + HEAD) + line * np.uint64(WORDS), inside


@inlined
def bit(data: Words, vector: int, place: int) -> bool:
    """The bit at a place."""
    line, inside = line_of(data, vector, place)
    word = data[line + np.uint64(1) + (inside >> np.uint64(6))]
    return (word >> (inside & np.uint64(63))) & np.uint64(1) != 0


@inlined
def some_bits(data: Words, vector: int, place: int, size: int) -> np.uint64:
    """At most 64 neighbouring bits, the first one lowest."""
    line, inside = line_of(data, vector, place)
    shift, k = inside & np.uint64(63), inside >> np.uint64(6)
    found = data[line + np.uint64(1) + k] >> shift
    if int64(shift) + size > 64:
        after = line + k + np.uint64(2) if k < np.uint64(6) else line + np.uint64(WORDS + 1)
        found |= at(data, int64(after)) << (np.uint64(64) - shift)
    return found & (ALL >> np.uint64(64 - size))


@inlined
def before_word(first: np.uint64, k: np.uint64) -> int:
    """How many ones come before the k-th number of bits of a line, k even, by the line's first number."""
    shift = np.uint64(28) + np.uint64(9) * (k >> np.uint64(1))
    nine = (first >> shift) & NINE if k else np.uint64(0)
    return int64((first & BEFORE) + nine)


@inlined
def ones_before(data: Words, vector: int, place: int) -> int:
    """How many ones come before a place."""
    line, inside = line_of(data, vector, place)
    k = inside >> np.uint64(6)
    even = k & ~np.uint64(1)
    found = before_word(data[line], even)
    if k != even:
        found += ones_in(data[line + np.uint64(1) + even])
    word = data[line + np.uint64(1) + k]
    return found + ones_in(word & ((np.uint64(1) << (inside & np.uint64(63))) - np.uint64(1)))


@inlined
def place_of(data: Words, vector: int, i: int, flip: int) -> int:
    """The place of the i-th one, counted from 0, or with `flip` zero; the number of bits where there are too few."""
    bits, lines = int64(data[vector]), int64(data[vector + 1])
    if i < 0:
        return bits
    begin = vector + HEAD
    sample, half = int64(data[vector + 2 + flip]), i // SAMPLE
    low = min(_half(data, sample, half), lines - 1)
    high = min(_half(data, sample, half + 1), lines - 1)
    while low < high:  # the last line before which there are at most i
        middle = (low + high + 1) >> 1
        before = int64(data[begin + middle * WORDS] & BEFORE)
        if (middle * LINE - before if flip else before) <= i:
            low = middle
        else:
            high = middle - 1
    line = np.uint64(begin + low * WORDS)
    first = data[line]
    before = int64(first & BEFORE)
    left = i - (low * LINE - before if flip else before)
    k, passed = 0, 0
    for pair in range(1, 4):
        ones = int64((first >> np.uint64(28 + 9 * pair)) & NINE)
        seen = pair * 128 - ones if flip else ones
        if seen <= left:
            k, passed = 2 * pair, seen
    left -= passed
    mask = ALL if flip else np.uint64(0)
    word = data[line + np.uint64(1 + k)] ^ mask
    inside = ones_in(word)
    if left >= inside and k < 6:
        left, k = left - inside, k + 1
        word = data[line + np.uint64(1 + k)] ^ mask
        inside = ones_in(word)
    return min(bits, low * LINE + k * 64 + place_in(word, left)) if left < inside else bits


@inlined
def ask_sample(data: Words, vector: int, i: int, flip: int) -> None:
    """Ask for the memory that `ask_line` reads."""
    prefetch(data, data[vector + 2 + flip] + np.uint64(max(0, i) // SAMPLE // 2))


@inlined
def ask_line(data: Words, vector: int, i: int, flip: int) -> None:
    """Ask for the line in which the i-th one, or with `flip` zero, is likely to be."""
    sample, half = int64(data[vector + 2 + flip]), max(0, i) // SAMPLE
    low, high = _half(data, sample, half), _half(data, sample, half + 1)
    prefetch(data, np.uint64(vector + HEAD + WORDS * (low + (high - low) * (i % SAMPLE) // SAMPLE)))


@inlined
def ask_bit(data: Words, vector: int, place: int) -> None:
    """Ask for the line of a place."""
    prefetch(data, line_of(data, vector, place)[0])


@inlined
def _half(data: Words, begin: int, i: int) -> int:
    """The i-th of numbers of 32 bits."""
    return int64((at(data, begin + (i >> 1)) >> np.uint64(32 * (i & 1))) & np.uint64(0xFFFFFFFF))


@inlined
def next_one(data: Words, vector: int, place: int, flip: int) -> int:
    """The place of the first one, or with `flip` zero, at or behind a place; the number of bits where there is none."""
    bits, mask = int64(data[vector]), ALL if flip else np.uint64(0)
    while place < bits:
        line, inside = line_of(data, vector, place)
        word = (data[line + np.uint64(1) + (inside >> np.uint64(6))] ^ mask) >> (inside & np.uint64(63))
        if word:
            return min(bits, place + lowest_one(word))
        place += 64 - int64(inside & np.uint64(63))
    return bits


@inlined
def number(data: Words, begin: int, width: int, i: int) -> int:
    """The i-th of packed numbers of `width` bits; 0 bits are 0."""
    if width == 0:
        return 0
    place = i * width
    word, shift = begin + (place >> 6), np.uint64(place & 63)
    found = at(data, word) >> shift
    if int64(shift) + width > 64:
        found |= at(data, word + 1) << (np.uint64(64) - shift)
    return int64(found & (ALL >> np.uint64(64 - width)))


@kernel
def set_number(data: Words, width: int, i: int, value: int) -> None:
    """Write the i-th of packed numbers into zeros."""
    if width:
        place = i * width
        word, shift = place >> 6, np.uint64(place & 63)
        data[word] |= np.uint64(value) << shift
        if int64(shift) + width > 64:
            data[word + 1] |= np.uint64(value) >> (np.uint64(64) - shift)


@kernel
def size_in_lines(bits: int, ones: int) -> int:
    """How many numbers a vector takes."""
    return HEAD + (bits // LINE + 1) * WORDS + ones // SAMPLE // 2 + 2 + (bits - ones) // SAMPLE // 2 + 2


@kernel
def in_lines(plain: Words, bits: int, ones: int, vector: int, out: Words) -> None:
    """Write a vector of plain bits as lines with samples to out: zeros that will stand at `vector` of the array."""
    lines = bits // LINE + 1
    samples = np.empty(3, np.int64)
    samples[0] = HEAD + lines * WORDS
    samples[1] = samples[0] + ones // SAMPLE // 2 + 2
    samples[2] = len(out)
    out[0], out[1], out[2], out[3] = bits, lines, vector + samples[0], vector + samples[1]
    found = 0
    taken = np.zeros(2, np.int64)
    for line in range(lines):
        begin = HEAD + line * WORDS
        first, inside = np.uint64(found), 0
        for k in range(WORDS - 1):
            if k in (2, 4, 6):
                first |= np.uint64(inside) << np.uint64(28 + 9 * (k >> 1))
            place = line * LINE + k * 64
            word = plain[place >> 6] if place < bits else np.uint64(0)
            out[begin + 1 + k] = word
            inside += ones_in(word)
        out[begin] = first
        found += inside
        for flip in range(2):
            seen = (line + 1) * LINE - found if flip else found
            while taken[flip] * SAMPLE < seen:
                _set_half(out, samples[flip], taken[flip], line)
                taken[flip] += 1
    for flip in range(2):
        while samples[flip] + (taken[flip] >> 1) < samples[flip + 1]:
            _set_half(out, samples[flip], taken[flip], lines - 1)
            taken[flip] += 1


@inlined
def _set_half(out: Words, begin: int, i: int, value: int) -> None:
    if begin + (i >> 1) < len(out):
        out[begin + (i >> 1)] |= np.uint64(value) << np.uint64(32 * (i & 1))


def lines_of(plain: Words, bits: int, ones: int, vector: int) -> Words:
    """The vector of some plain bits, to stand at `vector` of an array."""
    out = np.zeros(size_in_lines(bits, ones), np.uint64)
    in_lines(plain, bits, ones, vector, out)
    return out


@kernel
def ones_of(plain: Words) -> int:
    """How many bits of plain numbers are set."""
    found = 0
    for word in plain:
        found += ones_in(word)
    return found


def sound(data: Words, vector: int, bits: int | None = None) -> bool:
    """Whether a vector, of so many bits if that is known, lies inside of the array."""
    if not 0 < vector <= len(data) - HEAD:
        return False
    own, lines = int(data[vector]), int(data[vector + 1])
    return bits in (None, own) and lines == own // LINE + 1 and vector + HEAD + lines * WORDS <= len(data)
