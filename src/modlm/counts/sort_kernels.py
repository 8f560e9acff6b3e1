"""Kernels of the in-memory engine: sort the beginnings of all suffixes of a text, then read the trie off them.

The forward trie of a text is the prefix tree of its suffixes, each cut at the sentence end and after `order` words. So
one sort of the T positions by the words that follow each, and one scan in that order, give every n-gram of every order
with its count: neighbours that share their first n words are the same n-gram. Sorting moves 64-bit keys that hold as
many words as fit, first by the first word (a counting sort), then inside each first word, then inside the runs that
are still equal; all of it in T-sized arrays, which is what keeps the memory near the size of the result.
"""

from __future__ import annotations

import numpy as np

from modlm.ground.arrays import Bytes, Ids, Ints, Words, int64, kernel, piece

SMALL = 48  # up to this, insertion sort; above it, radix sort
BYTE, EIGHT = np.uint64(255), np.uint64(8)


@kernel
def pad_starts(ids: Ids, start: int, copies: int, out: Ids) -> int:
    """The text with each `<s>` written `copies` times."""
    end = 0
    for i in range(len(ids)):
        for _ in range(copies if ids[i] == start else 1):
            out[end] = ids[i]
            end += 1
    return end


@kernel
def word_counts(ids: Ids, low: int, high: int, out: Ints) -> None:
    """Add the number of times that each id occurs in ids[low:high]."""
    for i in range(low, high):
        out[ids[i]] += 1


@kernel
def place_by_first_word(ids: Ids, low: int, high: int, fill: Ints, positions: Ids) -> None:
    """Positions of the words low..high-1, grouped by word, in the order of the text.

    fill[word - low] is the place of a word's first position, and afterwards that behind its last.
    """
    for i in range(len(ids)):
        if low <= ids[i] < high:
            positions[fill[ids[i] - low]] = i
            fill[ids[i] - low] += 1


@piece
def insertion_sort(keys: Words, values: Ids, size: int) -> None:
    """Sort the first `size` pairs by key."""
    for i in range(1, size):
        key, value = keys[i], values[i]
        j = i - 1
        while j >= 0 and keys[j] > key:
            keys[j + 1] = keys[j]
            values[j + 1] = values[j]
            j -= 1
        keys[j + 1] = key
        values[j + 1] = value


@piece
def radix_sort(
    keys: Words, values: Ids, size: int, other_keys: Words, other_values: Ids, bits: int, histogram: Ints
) -> bool:
    """Sort pairs by the lowest `bits` of the key, a byte at a time; True when the result ended in the other arrays."""
    digits = (bits + 7) // 8
    for place in range(256 * digits):
        histogram[place] = 0
    for i in range(size):
        key = keys[i]
        for d in range(digits):
            histogram[256 * d + int64(key & BYTE)] += 1
            key >>= EIGHT
    swapped = False
    for d in range(digits):
        shift, base = np.uint64(8 * d), 256 * d
        if histogram[base + int64((keys[0] >> shift) & BYTE)] == size:
            continue  # all keys agree in this byte
        total = 0
        for place in range(base, base + 256):
            here = histogram[place]
            histogram[place] = total
            total += here
        for i in range(size):
            digit = base + int64((keys[i] >> shift) & BYTE)
            place = histogram[digit]
            histogram[digit] = place + 1
            other_keys[place] = keys[i]
            other_values[place] = values[i]
        keys, other_keys = other_keys, keys
        values, other_values = other_values, values
        swapped = not swapped
    return swapped


@piece
def words_left(ids: Ids, position: int, order: int, end: int) -> int:
    """How many words begin at the position until its sentence ends, at most `order`."""
    words = 1
    while words < order and ids[position + words - 1] != end:
        words += 1
    return words


@piece
def sort_run(
    ids: Ids, positions: Ids, shared: Bytes, low: int, high: int, depth: int, order: int, bits: int, end: int,
    keys: Words, values: Ids, other_keys: Words, other_values: Ids, histogram: Ints,
) -> None:  # fmt: skip
    """Sort positions[low:high], equal in their first `depth` words, by as many further words as a key holds."""
    size = high - low
    fields = 64 // bits if 64 // bits < order - depth else order - depth
    for i in range(size):
        position = int64(positions[low + i])
        words = words_left(ids, position, order, end)
        key = np.uint64(0)
        for field in range(fields):
            key <<= np.uint64(bits)
            if depth + field < words:
                key |= np.uint64(ids[position + depth + field]) + np.uint64(1)
        keys[i] = key
        values[i] = positions[low + i]
    if size <= SMALL:
        insertion_sort(keys, values, size)
    elif radix_sort(keys, values, size, other_keys, other_values, bits * fields, histogram):
        keys, values = other_keys, other_values
    for i in range(size):
        positions[low + i] = values[i]
        if i:
            differ = keys[i] ^ keys[i - 1]
            same = fields
            while differ:
                same -= 1
                differ >>= np.uint64(bits)
            shared[low + i] = depth + same


@kernel
def sort_suffixes(
    ids: Ids, positions: Ids, shared: Bytes, length: Bytes, bounds: Ints, low: int, high: int,
    order: int, bits: int, end: int,
    keys: Words, values: Ids, other_keys: Words, other_values: Ids, histogram: Ints,
) -> None:  # fmt: skip
    """Sort the suffixes that begin with the words low..high-1.

    Afterwards shared[i] is how many words suffix i has in common with the one before it (0 at a new first word; it may
    count past a common sentence end) and length[i] how many it has.
    """
    fields = 64 // bits
    for word in range(low, high):
        begin, stop = bounds[word], bounds[word + 1]
        for i in range(begin, stop):
            shared[i] = 1 if i > begin else 0
        for depth in range(1, order, fields):
            i = begin
            while i < stop:
                run = i + 1
                while run < stop and shared[run] >= depth:
                    run += 1
                if run - i > 1:
                    sort_run(
                        ids, positions, shared, i, run, depth, order, bits, end,
                        keys, values, other_keys, other_values, histogram,
                    )  # fmt: skip
                i = run
        for i in range(begin, stop):
            length[i] = words_left(ids, int64(positions[i]), order, end)


@kernel
def count_nodes(shared: Bytes, length: Bytes, low: int, high: int, out: Ints) -> None:
    """Add to out[n] the number of n-grams, n > 1, that begin in the suffixes low..high-1."""
    for i in range(low, high):
        for n in range(max(1, shared[i]) + 1, length[i] + 1):
            out[n] += 1


@kernel
def fill_nodes(
    ids: Ids, positions: Ids, shared: Bytes, length: Bytes, bounds: Ints, low: int, high: int,
    order: int, next_node: Ints, words: Ids, first: Ids,
) -> None:  # fmt: skip
    """Write the nodes under the words low..high-1; next_node[n] is the first free node of order n."""
    for word in range(low, high):
        words[1 + word] = word
        if order > 1:
            first[1 + word] = next_node[2]
        for i in range(bounds[word], bounds[word + 1]):
            position = int64(positions[i])
            for n in range(max(1, shared[i]) + 1, length[i] + 1):
                node = next_node[n]
                next_node[n] += 1
                words[node] = ids[position + n - 1]
                if n < order:
                    first[node] = next_node[n + 1]


@kernel
def tally_nodes(
    shared: Bytes, length: Bytes, bounds: Ints, low: int, high: int, start: int, next_node: Ints, words: Ids,
    counts: Ids,
) -> None:  # fmt: skip
    """Count the nodes under the words low..high-1, into zeros; what ends in `<s>` does not occur."""
    for word in range(low, high):
        counts[1 + word] = 0 if word == start else bounds[word + 1] - bounds[word]
        for i in range(bounds[word], bounds[word + 1]):
            for n in range(2, length[i] + 1):
                next_node[n] += shared[i] < n
                node = next_node[n] - 1
                counts[node] += words[node] != start


@kernel
def place_nodes(
    positions: Ids, shared: Bytes, length: Bytes, low: int, high: int, n: int, node: int, out: Ids
) -> None:  # fmt: skip
    """out[position] = the n-gram that begins at that position of the text."""
    node -= 1
    for i in range(low, high):
        if length[i] >= n:
            if shared[i] < n:
                node += 1
            out[positions[i]] = node


@kernel
def link_suffixes(
    positions: Ids, shared: Bytes, length: Bytes, low: int, high: int, n: int, node: int, shorter: Ids, suffix: Ids
) -> None:  # fmt: skip
    """suffix[node] for the n-grams: what begins one position further on, one order down."""
    for i in range(low, high):
        if shared[i] < n <= length[i]:
            suffix[node] = shorter[int64(positions[i]) + 1]
            node += 1
