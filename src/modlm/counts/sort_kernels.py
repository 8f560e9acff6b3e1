"""Kernels of the in-memory engine: sort the beginnings of all suffixes of a text, then read the trie off them.

The forward trie of a text is the prefix tree of its suffixes, each cut at the sentence end and after `order` words. So
one sort of the T positions by the words that follow each, and one scan in that order, give every n-gram of every order
with its count: neighbours that share their first n words are the same n-gram. Sorting moves 64-bit keys that hold as
many words as fit, first by the first word (a counting sort), then inside each first word, then inside the runs that
are still equal; all of it in T-sized arrays, which is what keeps the memory near the size of the result.
"""

from __future__ import annotations

import numpy as np

from modlm.ground.arrays import Bytes, Ids, Ints, int64, kernel

SMALL = 24  # below this, insertion sort
RADIX = 1500  # from this on, radix sort


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
def place_by_first_word(ids: Ids, low: int, high: int, bounds: Ints, positions: Ids) -> None:
    """Positions of the words low..high-1, grouped by word, in the order of the text."""
    fill = bounds[low : high + 1].copy()
    for i in range(len(ids)):
        if low <= ids[i] < high:
            positions[fill[ids[i] - low]] = i
            fill[ids[i] - low] += 1


@kernel
def insertion_sort(keys: np.ndarray, values: Ids, low: int, high: int) -> None:
    for i in range(low + 1, high):
        key, value = keys[i], values[i]
        j = i - 1
        while j >= low and keys[j] > key:
            keys[j + 1] = keys[j]
            values[j + 1] = values[j]
            j -= 1
        keys[j + 1] = key
        values[j + 1] = value


@kernel
def quick_sort(keys: np.ndarray, values: Ids, size: int) -> None:
    """Sort pairs by key; the pivot is the middle of three, the larger half waits on a stack."""
    stack = np.empty((64, 2), dtype=np.int64)
    top = 0
    low, high = 0, size
    while True:
        while high - low > SMALL:
            a, b, c = keys[low], keys[(low + high) >> 1], keys[high - 1]
            pivot = max(min(a, b), min(max(a, b), c))
            i, j = low, high - 1
            while i <= j:
                while keys[i] < pivot:
                    i += 1
                while keys[j] > pivot:
                    j -= 1
                if i <= j:
                    keys[i], keys[j] = keys[j], keys[i]
                    values[i], values[j] = values[j], values[i]
                    i += 1
                    j -= 1
            if j + 1 - low > high - i:
                stack[top, 0], stack[top, 1] = low, j + 1
                low = i
            else:
                stack[top, 0], stack[top, 1] = i, high
                high = j + 1
            top += 1
        insertion_sort(keys, values, low, high)
        if top == 0:
            return
        top -= 1
        low, high = stack[top, 0], stack[top, 1]


@kernel
def radix_sort(keys: np.ndarray, values: Ids, size: int, other_keys: np.ndarray, other_values: Ids, bits: int) -> bool:
    """Sort pairs by the lowest `bits` of the key, a byte at a time; True when the result ended in the other arrays."""
    digits = (bits + 7) // 8
    histogram = np.zeros((digits, 256), dtype=np.int64)
    for i in range(size):
        key = keys[i]
        for d in range(digits):
            histogram[d, (key >> np.uint64(8 * d)) & np.uint64(255)] += 1
    swapped = False
    for d in range(digits):
        shift = np.uint64(8 * d)
        if histogram[d, (keys[0] >> shift) & np.uint64(255)] == size:
            continue  # all keys agree in this byte
        total = 0
        for digit in range(256):
            here = histogram[d, digit]
            histogram[d, digit] = total
            total += here
        for i in range(size):
            digit = (keys[i] >> shift) & np.uint64(255)
            place = histogram[d, digit]
            histogram[d, digit] = place + 1
            other_keys[place] = keys[i]
            other_values[place] = values[i]
        keys, other_keys = other_keys, keys
        values, other_values = other_values, values
        swapped = not swapped
    return swapped


@kernel
def words_left(ids: Ids, position: int, order: int, end: int) -> int:
    """How many words begin at the position until its sentence ends, at most `order`."""
    words = 1
    while words < order and ids[position + words - 1] != end:
        words += 1
    return words


@kernel
def sort_run(
    ids: Ids, positions: Ids, shared: Bytes, low: int, high: int,
    depth: int, order: int, bits: int, end: int, scratch_keys: np.ndarray, scratch_values: np.ndarray,
) -> None:  # fmt: skip
    """Sort positions[low:high], equal in their first `depth` words, by as many further words as a key holds."""
    size = high - low
    fields = min(64 // bits, order - depth)
    keys, other_keys = scratch_keys[0, :size], scratch_keys[1, :size]
    values, other_values = scratch_values[0, :size], scratch_values[1, :size]
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
        insertion_sort(keys, values, 0, size)
    elif size < RADIX:
        quick_sort(keys, values, size)
    elif radix_sort(keys, values, size, other_keys, other_values, bits * fields):
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
) -> None:  # fmt: skip
    """Sort the suffixes that begin with the words low..high-1.

    Afterwards shared[i] is how many words suffix i has in common with the one before it (0 at a new first word; it may
    count past a common sentence end) and length[i] how many it has.
    """
    fields = 64 // bits
    largest = 0
    for word in range(low, high):
        largest = max(largest, bounds[word + 1] - bounds[word])
    scratch_keys = np.empty((2, largest), dtype=np.uint64)
    scratch_values = np.empty((2, largest), dtype=np.uint32)
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
                        ids, positions, shared, i, run, depth, order, bits, end, scratch_keys, scratch_values
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
