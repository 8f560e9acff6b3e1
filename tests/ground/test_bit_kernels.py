"""Vectors of bits, also where the numbers in them do not fit 32 bits."""

from __future__ import annotations

import numpy as np

from modlm.ground import bit_kernels
from modlm.ground.bit_kernels import HEAD, LINE, SAMPLE, WORDS

MANY = 2**32 + 5  # ones before the line that is looked at


def test_places_and_ranks_are_those_of_the_bits() -> None:
    rng = np.random.default_rng(0)
    for share in (0.02, 0.5, 0.97):
        bits = rng.random(5000) < share
        plain = np.zeros(5000 // 64 + 1, np.uint64)
        packed = np.packbits(bits, bitorder="little")
        plain.view(np.uint8)[: len(packed)] = packed
        data = np.concatenate((np.zeros(1, np.uint64), bit_kernels.lines_of(plain, 5000, int(bits.sum()), 1)))
        assert bit_kernels.sound(data, 1, 5000)
        for flip, places in ((0, np.flatnonzero(bits)), (1, np.flatnonzero(~bits))):
            assert [bit_kernels.place_of(data, 1, i, flip) for i in range(len(places))] == places.tolist()
            after = [bit_kernels.next_one(data, 1, place, flip) for place in range(0, 5000, 7)]
            assert after == [next((p for p in places if p >= place), 5000) for place in range(0, 5000, 7)]
        assert [bit_kernels.ones_before(data, 1, p) for p in range(0, 5000, 7)] == [
            int(bits[:p].sum()) for p in range(0, 5000, 7)
        ]


def test_beyond_two_to_the_32nd() -> None:
    """A vector of 2^33 bits whose memory is never touched but for the line that is looked at."""
    bits = 2**33
    lines = bits // LINE + 1
    line = lines - 7
    samples = MANY // SAMPLE // 2 + 4
    data = np.zeros(1 + HEAD + lines * WORDS + samples, np.uint64)
    ones = 1 + HEAD + lines * WORDS
    data[1 : 1 + HEAD] = bits, lines, ones, ones + samples
    begin = 1 + HEAD + line * WORDS
    data[begin] = MANY | 3 << 37 | 3 << 46 | 3 << 55  # three ones before its third, fifth and seventh number of bits
    data[begin + 1] = 0b1011
    for i in (MANY // SAMPLE, MANY // SAMPLE + 1):
        data[ones + i // 2] |= np.uint64(line << 32 * (i % 2))
    assert bit_kernels.sound(data, 1, bits)
    place = line * LINE
    assert place > 2**32
    assert [bit_kernels.place_of(data, 1, MANY + i, 0) for i in range(3)] == [place, place + 1, place + 3]
    assert [bit_kernels.ones_before(data, 1, place + i) for i in range(5)] == [MANY + n for n in (0, 1, 2, 2, 3)]
    assert bit_kernels.next_one(data, 1, place + 2, 0) == place + 3
