"""Questions to a text index: where words stand in a row, what follows them, and the longest context that was seen.

Numbers of few bits lie side by side in arrays of 64-bit numbers. The ids of a shard are those of words plus 1, with an
`</s>` behind every sentence, and `0 </s>` before every document; so `</s>` also stands where a sentence begins.
Suffixes are the places of a shard in the order of what stands there. Keys are the first words, as many as fit in 64
bits, of every 16th suffix, and tops every 64th of these: most of a search is in caches, and reads few ids. These four
make an index; a shard is a row of seven numbers: ids at, bits of an id, ids, suffixes at, bits of a suffix, suffixes,
keys at.
"""

from __future__ import annotations

import numpy as np

from modlm.ground.arrays import Bytes, Ids, Ints, Words, inlined, int64, kernel

STEP, TOP = 16, 64  # suffixes to a key, keys to a top key
SINGLE = 1024  # single words whose ranges a walk keeps at hand, `<s>` among them
BREAK, END = np.uint64(0), np.uint64(2)  # as stored: END is `</s>`, 1, plus 1
ONE, ALL = np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
NOTHING = 0xFFFFFFFF

Index = tuple[Words, Words, Words, Words]
Range = tuple[int, int]
Row = Ints | tuple[int, int, int, int, int, int, int]
"""A shard: a row of the table, or faster its numbers, which a loop then has at hand."""


# ---- numbers of few bits ---------------------------------------------------------------------------------------------


@inlined
def number(packed: Words, at: int, bits: int, place: int) -> np.uint64:
    """The number at a place of an array that begins at `at`."""
    bit = np.uint64(place) * np.uint64(bits)
    word, shift = np.uint64(at) + (bit >> np.uint64(6)), bit & np.uint64(63)
    found = packed[word] >> shift
    if shift + np.uint64(bits) > np.uint64(64):
        found |= packed[word + ONE] << (np.uint64(64) - shift)
    return np.uint64(found & (ALL >> np.uint64(64 - bits)))


@inlined
def put(packed: Words, at: int, bits: int, place: int, value: np.uint64) -> None:
    """Write a number where zeros are."""
    bit = np.uint64(place) * np.uint64(bits)
    word, shift = np.uint64(at) + (bit >> np.uint64(6)), bit & np.uint64(63)
    packed[word] |= value << shift
    if shift + np.uint64(bits) > np.uint64(64):
        packed[word + ONE] |= value >> (np.uint64(64) - shift)


@kernel
def unpack(packed: Words, at: int, bits: int, low: int, high: int) -> Ints:
    """The numbers between two places."""
    out = np.empty(max(0, high - low), np.int64)
    for place in range(low, high):
        out[place - low] = number(packed, at, bits, place)
    return out


@kernel
def lay_out(
    text: Ids, to_index: Ids, begins: Ints, row: Ints, packed: Words, spelled: Bytes, width: int, documents: Ints
) -> None:
    """Sentences `<s> w … </s>` as the ids of a shard, and these as bytes, high ones first.

    `to_index` has the index's id of each word, and of `<s>` as the last. `begins` are the places of the text at which
    documents begin; where these begin in the shard goes to `documents`.
    """
    place, document = 0, 0
    for t in range(len(text)):
        if text[t] != len(to_index) - 1:
            put(packed, row[0], row[1], place, np.uint64(to_index[text[t]]) + ONE)
            place += 1
        elif document < len(begins) and begins[document] == t:
            documents[document] = place
            document += 1
            put(packed, row[0], row[1], place + 1, END)
            place += 2
    for at in range(place):
        value = number(packed, row[0], row[1], at)
        for byte in range(width):
            spelled[at * width + byte] = value >> np.uint64(8 * (width - 1 - byte))


@kernel
def take_suffixes(
    ids: Words, row: Ints, ordered: Ints, width: int, left_out: Ints, suffixes: Words, keys: Words
) -> int:
    """Of places in order, those at which an id of so many bytes begins, with their keys; gives how many.

    Without those inside of sorted ranges (low, high, low, …).
    """
    taken = 0
    for at in range(len(ordered)):
        place = int64(ordered[at] // width)
        if place * width == ordered[at] and np.searchsorted(left_out, place, side="right") % 2 == 0:
            put(suffixes, row[3], row[4], taken, np.uint64(place))
            if taken % STEP == 0:
                key = np.uint64(0)
                for word in range(64 // row[1]):
                    key = key << np.uint64(row[1]) | id_at(ids, row, place + word)
                keys[row[6] + taken // STEP] = key
            taken += 1
    return taken


# ---- searching -------------------------------------------------------------------------------------------------------


@inlined
def shard(table_SF: Ints, s: int) -> Row:
    """The numbers of a shard."""
    row = table_SF[s]
    return row[0], row[1], row[2], row[3], row[4], row[5], row[6]


@inlined
def id_at(ids: Words, row: Row, place: int) -> np.uint64:
    """The id at a place of a shard; as if a document ended behind the last."""
    return number(ids, row[0], row[1], place) if place < row[2] else BREAK


@inlined
def order_of(index: Index, row: Row, suffix: int, text: Ids, begin: int, length: int, known: int) -> int:
    """Whether a suffix comes before (-1) the words of a text, begins with them (0), or comes behind; some are known."""
    place = int64(number(index[1], row[3], row[4], suffix))
    for at in range(known, length):
        found, wanted = id_at(index[0], row, place + at), np.uint64(text[begin + at])
        if found != wanted:
            return -1 if found < wanted else 1
    return 0


@inlined
def bound(
    index: Index, row: Row, low: int, high: int, text: Ids, begin: int, length: int, known: int, last: int
) -> int:
    """The first suffix of a range that does not come before the words; or (`last` 1) that comes behind those."""
    while low < high:
        middle = (low + high) >> 1
        if order_of(index, row, middle, text, begin, length, known) < last:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def last_with(index: Index, row: Row, low: int, high: int, text: Ids, begin: int, length: int, known: int) -> int:
    """The end of the suffixes that begin with the words as the one at `low` does: looked for near it first."""
    step = 1
    while low + step < high and order_of(index, row, low + step, text, begin, length, known) == 0:
        step *= 2
    return bound(index, row, low + step // 2 + 1, min(high, low + step), text, begin, length, known, 1)


@inlined
def key_bound(keys: np.ndarray, low: int, high: int, key: int | np.uint64) -> int:
    """The first key of a range that is not below one."""
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def key_from(index: Index, low: int, end: int, key: np.uint64) -> int:
    """The same in all keys of a shard from `low` on, near there first, then by the top keys."""
    near = min(end, low + TOP)
    if near == end or index[2][near] >= key:
        return key_bound(index[2], low, near, key)
    top = key_bound(index[3], near // TOP + 1, (end + TOP - 1) // TOP, key)
    return key_bound(index[2], (top - 1) * TOP, min(end, top * TOP), key)


@inlined
def search(index: Index, row: Row, text: Ids, begin: int, length: int) -> Range:
    """The suffixes of a shard that begin with words (as stored) of a text, as a range."""
    bits, fit = row[1], 64 // row[1]
    key, used = np.uint64(0), min(fit, length)
    for at in range(used):
        if np.uint64(text[begin + at]) > ALL >> np.uint64(64 - bits):
            return 0, 0  # a word that came later
        key = key << np.uint64(bits) | np.uint64(text[begin + at])
    rest, last = np.uint64(bits * (fit - used)), key == ALL >> np.uint64(64 - bits * used)
    first, end = row[6], row[6] + (row[5] + STEP - 1) // STEP
    lower = key_from(index, first, end, key << rest)
    upper = end if last else key_from(index, lower, end, (key + ONE) << rest)
    low = (lower - first - 1) * STEP + 1 if lower > first else 0
    high = min((upper - first) * STEP, row[5])
    inside = min((lower - first) * STEP, row[5]) if length <= fit else high
    low = bound(index, row, low, inside, text, begin, length, 0, 0)
    if low == high or order_of(index, row, low, text, begin, length, 0) != 0:
        return low, low
    if length <= fit and upper > lower:
        return low, bound(index, row, (upper - first - 1) * STEP + 1, high, text, begin, length, 0, 1)
    return low, last_with(index, row, low, high, text, begin, length, 0)


@inlined
def narrowed(index: Index, row: Row, text: Ids, begin: int, length: int, low: int, high: int) -> Range:
    """Of a range of suffixes with all but the last of some words in common, those with the last one, too."""
    if high - low > 8 * STEP and length <= 64 // row[1] and begin >= 0:
        return search(index, row, text, begin, length)
    low = bound(index, row, low, high, text, begin, length, length - 1, 0)
    if low == high or order_of(index, row, low, text, begin, length, length - 1) != 0:
        return low, low
    return low, last_with(index, row, low, high, text, begin, length, length - 1)


# ---- along a text ----------------------------------------------------------------------------------------------------


@kernel
def walk(
    index: Index, table_SF: Ints, text: Ids, start: int, least: int, longest: int, lengths_T: Ints, counts_T: Ints,
    ranges_TS2: Ints,
) -> None:  # fmt: skip
    """At each word the longest context in its sentence that was seen `least` times, and how often the word followed.

    A context is at most one word longer than the one before, so its range of suffixes is narrowed down; where that
    leaves too few, the farthest word is dropped and the rest is looked for.
    """
    stored, one = np.empty(len(text), np.uint32), np.ones(1, np.uint32)
    now_S2, next_S2 = np.zeros((len(table_SF), 2), np.int64), np.zeros((len(table_SF), 2), np.int64)
    single_W, single_WS2 = np.full(SINGLE, NOTHING, np.uint32), np.zeros((SINGLE, len(table_SF), 2), np.int64)
    begin = 0
    for t in range(len(text)):
        word, total = text[t], 0
        lengths_T[t], counts_T[t] = 0, 0
        if word == NOTHING:
            begin = t + 1
            continue
        stored[t] = END if word == start else word + 1
        if word == start:
            begin = t
        elif begin < t:
            lengths_T[t], ranges_TS2[t] = t - begin, now_S2
            for s in range(len(table_SF)):
                low, high = narrowed(
                    index, shard(table_SF, s), stored, begin, t + 1 - begin, now_S2[s, 0], now_S2[s, 1]
                )
                next_S2[s, 0], next_S2[s, 1] = low, high
                total += high - low
            counts_T[t] = total
        if t + 1 == len(text) or text[t + 1] == start or text[t + 1] == NOTHING or word + 1 == END:
            begin = t + 1  # nothing is asked after this word, or no context reaches over it
            continue
        if begin < t:
            if total >= least and t + 1 - begin <= longest:
                now_S2[:] = next_S2
                continue
            begin += 1
        while begin <= t:
            total, slot = 0, word % SINGLE
            for s in range(len(table_SF)):
                if begin == t and single_W[slot] == word:
                    low, high = single_WS2[slot, s, 0], single_WS2[slot, s, 1]
                else:
                    low, high = search(index, shard(table_SF, s), stored, begin, t + 1 - begin)
                    if word == start:  # without ends that no sentence follows: those before a break
                        low = bound(index, shard(table_SF, s), low, high, one, -1, 2, 1, 0)
                now_S2[s, 0], now_S2[s, 1] = low, high
                total += high - low
            if begin == t:
                single_W[slot], single_WS2[slot] = word, now_S2
            if total >= least:
                break
            begin += 1


@inlined
def follower(index: Index, row: Row, length: int, suffix: int) -> np.uint64:
    """The id behind the first `length` words of a suffix."""
    return id_at(index[0], row, int64(number(index[1], row[3], row[4], suffix)) + length)


@kernel
def followers(index: Index, table_SF: Ints, length: int, ranges_S2: Ints, words: Ids, counts: Ints) -> int:
    """The words behind a context, rising, and how often each, as many as there is room for; gives how many."""
    at_S2, found, one = ranges_S2.copy(), 0, np.empty(1, np.uint32)
    while found < len(words):
        least = ALL
        for s in range(len(table_SF)):
            if at_S2[s, 0] < at_S2[s, 1]:
                least = min(least, follower(index, shard(table_SF, s), length, at_S2[s, 0]))
        if least == ALL:
            break
        words[found], counts[found], one[0] = least - ONE, 0, least
        for s in range(len(table_SF)):
            low, high = at_S2[s, 0], at_S2[s, 1]
            if low < high and follower(index, shard(table_SF, s), length, low) == least:
                at_S2[s, 0] = last_with(index, shard(table_SF, s), low, high, one, -length, length + 1, length)
                counts[found] += at_S2[s, 0] - low
        found += 1
    return found


@kernel
def sample_followers(index: Index, table_SF: Ints, lengths_T: Ints, ranges_TS2: Ints, most: int, out_T: Ints) -> None:
    """How many different words follow at `most` places all over each range, or at all of its places; 0 without one."""
    words = np.empty(most * len(table_SF), np.uint64)
    for t in range(len(lengths_T)):
        taken = 0
        for s in range(len(table_SF)):
            low, size = ranges_TS2[t, s, 0], ranges_TS2[t, s, 1] - ranges_TS2[t, s, 0]
            taking = min(size, most) if lengths_T[t] > 0 else 0
            for at in range(taking):
                suffix = low + at * (size - 1) // max(1, taking - 1)
                words[taken] = follower(index, shard(table_SF, s), lengths_T[t], suffix)
                taken += 1
        if len(table_SF) > 1:
            words[:taken].sort()
        out_T[t] = min(taken, 1)
        for at in range(1, taken):
            out_T[t] += words[at] != words[at - 1]


# ---- words in a row, whatever the lines ------------------------------------------------------------------------------


@kernel
def find(index: Index, row: Row, text: Ids, out_R3: Ints) -> int:
    """Ranges of the suffixes that begin with the words (as stored), sentences ending anywhere between them.

    Gives how many (low, high, ids from the first to the last), or -1 if there is no room for them.
    """
    now_R3, next_R3, one = np.empty_like(out_R3), np.empty_like(out_R3), np.empty(1, np.uint32)
    now_R3[0, 0], now_R3[0, 1] = search(index, row, text, 0, 1)
    now_R3[0, 2], count = 1, int64(now_R3[0, 0] < now_R3[0, 1])
    for at in range(1, len(text)):
        made = 0
        for r in range(count):
            low, high, length = now_R3[r, 0], now_R3[r, 1], now_R3[r, 2]
            while low < high:
                one[0] = text[at]
                first, end = narrowed(index, row, one, -length, length + 1, low, high)
                if first < end:
                    if made == len(out_R3):
                        return -1
                    next_R3[made, 0], next_R3[made, 1], next_R3[made, 2] = first, end, length + 1
                    made += 1
                one[0] = END
                low, high = narrowed(index, row, one, -length, length + 1, low, high)
                length += 1
        now_R3, next_R3, count = next_R3, now_R3, made
    out_R3[:count] = now_R3[:count]
    return count
