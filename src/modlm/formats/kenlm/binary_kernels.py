"""Kernels over KenLM's binary files: words by hash, n-grams by hash or by trie, sentences and texts.

Every number that is read leads somewhere inside the file or is held back, so a damaged file gives wrong probabilities
and never a crash. Numbers are log10 in float32, added in KenLM's order, so scores are its own to the last bit.

N-grams are looked for last word first: (w), (w, c1), (w, c1, c2), … as long as each is there, which KenLM sees to by
filling up what pruning left out. A `place` is two numbers: in a trie the first entry of the next order and the one
behind the last, in a hash table the hash so far and the bucket.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from modlm.formats.kenlm import columns as c
from modlm.ground.arrays import Bytes, Ids, inlined, int64, kernel
from modlm.ground.memory_kernels import eight_bytes, single

U0, U1, U2, U3, U4, U7, U8 = (np.uint64(i) for i in (0, 1, 2, 3, 4, 7, 8))
U12, U16, U24, U31, U47 = (np.uint64(i) for i in (12, 16, 24, 31, 47))
LOW = np.uint64(0xFFFFFFFF)
MURMUR = np.uint64(0xC6A4A7935BD1E995)
NEXT_HASH, WORD_HASH = np.uint64(8978948897894561157), np.uint64(17894857484156487943)
UNEXTENDED = np.uint32(0x80000000)  # the bits of -0.0: a backoff that says that nothing follows


@inlined
def eight(data: Bytes, at: Any) -> np.uint64:
    """Eight bytes, the last ones of the file at most."""
    return np.uint64(eight_bytes(data, min(at, np.uint64(len(data)) - U8)))


@inlined
def four(data: Bytes, at: np.uint64) -> np.uint32:
    """Four bytes, the last ones of the file at most."""
    i = min(at, np.uint64(len(data)) - U4)
    low = np.uint64(data[i]) | np.uint64(data[i + U1]) << U8 | np.uint64(data[i + U2]) << U16
    return np.uint32(low | np.uint64(data[i + U3]) << U24)


@inlined
def bits(data: Bytes, base: np.uint64, bit: np.uint64, width: np.uint64) -> np.uint64:
    """A number of `width` bits, at most 57."""
    return (eight(data, base + (bit >> U3)) >> (bit & U7)) & ((U1 << width) - U1)


@inlined
def probe(data: Bytes, base: Any, stride: Any, count: Any, key: Any, slot: Any) -> Any:
    """Where the entry with a key lies in a hash table, looked for from a bucket on; 0 when it is not there."""
    for _ in range(count):
        at = base + stride * slot
        found = eight(data, at)
        if found == key or found == U0:
            return at if found == key else U0
        slot = slot + U1 if slot + U1 < count else U0
    return U0


# ---- words -----------------------------------------------------------------------------------------------------------


@kernel
def murmur(data: Bytes, start: int, end: int) -> Any:
    """MurmurHash64A of data[start:end], as KenLM hashes words; reads nothing behind the end."""
    at: Any = np.uint64(start)
    stop = np.uint64(end)
    hashed = (stop - at) * MURMUR
    while stop - at >= U8:
        chunk = eight_bytes(data, at) * MURMUR
        hashed = (hashed ^ ((chunk ^ (chunk >> U47)) * MURMUR)) * MURMUR
        at += U8
    if at < stop:
        tail, shift = U0, U0
        while at < stop:
            tail |= np.uint64(data[at]) << shift
            at += U1
            shift += U8
        hashed = (hashed ^ tail) * MURMUR
    hashed = (hashed ^ (hashed >> U47)) * MURMUR
    return hashed ^ (hashed >> U47)


@kernel
def find_word(data: Bytes, plan: c.Plan, hashed: np.uint64) -> Any:
    """KenLM's number of the word with this hash, 0 when there is none."""
    table, count = plan[0, c.WORD_TABLE], plan[0, c.WORD_COUNT]
    if plan[0, c.TRIE_FILE] == U0:
        at = probe(data, table, U12, count, hashed, hashed % count)
        word = np.uint64(four(data, at + U8)) if at != U0 else U0
        return word if word < plan[0, c.WORDS] else U0
    low, high = U0, count  # interpolated, since hashes are spread evenly; halves of hashes have no sign
    wanted, below, above = float(int64(hashed >> U1)), 0.0, 2.0**63
    while low < high:
        share = max(wanted - below, 0.0) / max(above - below, 1.0)
        middle = min(low + np.uint64(int64(share * float(int64(high - low)))), high - U1)
        found = eight(data, table + U8 * middle)
        if found == hashed:
            return middle + U1
        if found < hashed:
            low, below = middle + U1, float(int64(found >> U1))
        else:
            high, above = middle, float(int64(found >> U1))
    return U0


@kernel
def find_words(data: Bytes, plan: c.Plan, blob: Bytes, offsets: np.ndarray, out: Ids) -> None:
    """The number of each word of a list as vocabularies keep it."""
    for word in range(len(offsets) - 1):
        out[word] = find_word(data, plan, murmur(blob, offsets[word], offsets[word + 1] - 1))


# ---- n-grams ---------------------------------------------------------------------------------------------------------


@inlined
def unigram(data: Bytes, plan: c.Plan, word: np.uint64) -> tuple[Any, ...]:
    """Probability, backoff, whether it goes on to the left, and its place."""
    at = plan[1, c.BASE] + plan[1, c.STRIDE] * word
    prob, backoff = four(data, at), single(four(data, at + U4))
    if plan[0, c.TRIE_FILE] == U0:
        return single(prob | UNEXTENDED), backoff, prob < UNEXTENDED, word, U0
    first, last = eight(data, at + U8), min(eight(data, at + U24), plan[2, c.COUNT])
    return single(prob), backoff, first < last, first, last


@inlined
def aim(plan: c.Plan, order: int, first: np.uint64, last: np.uint64, word: np.uint64) -> tuple[np.uint64, ...]:
    """The place of an n-gram one word longer as `look` takes it, and the byte of the file that is looked at first."""
    row = np.uint64(order)
    if plan[0, c.TRIE_FILE] == U0:
        hashed = (first * NEXT_HASH) ^ ((U1 + word) * WORD_HASH)
        slot = hashed % plan[row, c.COUNT]
        return hashed, slot, plan[row, c.BASE] + plan[row, c.STRIDE] * slot
    middle = first + guess(word, plan[0, c.MAX_WORD] + U1, last - first)
    return first, last, plan[row, c.BASE] + ((middle * plan[row, c.STRIDE]) >> U3)


@inlined
def guess(part: np.uint64, whole: np.uint64, size: np.uint64) -> np.uint64:
    """Where in a sorted range of that size a word should be, if words were spread evenly."""
    share = float(int64(part)) * float(int64(size)) / float(int64(whole))  # numbers without a sign take longer
    return min(np.uint64(int64(share)), size - U1)


@inlined
def look(
    data: Bytes, plan: c.Plan, order: int, first: np.uint64, last: np.uint64, word: np.uint64, onward: bool
) -> tuple[Any, ...]:  # fmt: skip
    """Whether an n-gram is there; its probability, its backoff, whether it goes on to the left, and its place.

    Whether it goes on, and where, is looked up in a trie only if it is asked for (`onward`).
    """
    row, top = np.uint64(order), np.uint64(order) == plan[0, c.ORDER]
    base, stride = plan[row, c.BASE], plan[row, c.STRIDE]
    zero = np.float32(0.0)
    if plan[0, c.TRIE_FILE] == U0:
        at = probe(data, base, stride, plan[row, c.COUNT], first, last)
        if at == U0:
            return False, zero, zero, False, U0, U0
        found, backoff = four(data, at + U8), zero if top else single(four(data, at + U12))
        return True, single(found | UNEXTENDED), backoff, not top and found < UNEXTENDED, first, U0
    low, high, below, above = first, last, U0, plan[0, c.MAX_WORD] + U1
    width = plan[row, c.WORD_BITS]
    while low < high:
        middle = low + guess(word - below, above - below, high - low)
        here = bits(data, base, middle * stride, width)
        if here == word:
            prob, backoff = numbers(data, plan, row, middle)
            if top or not onward:
                return True, prob, zero if top else backoff, False, U0, U0
            begin, end = followers(data, plan, row, middle)
            return True, prob, backoff, begin < end, begin, end
        if here < word:
            low, below = middle + U1, here + U1
        else:
            high, above = middle, min(here, above)
    return False, zero, zero, False, U0, U0


@inlined
def numbers(data: Bytes, plan: c.Plan, row: np.uint64, entry: np.uint64) -> tuple[Any, Any]:
    """The probability and the backoff of an entry of a trie; the highest order has no backoff."""
    base, at = plan[row, c.BASE], entry * plan[row, c.STRIDE] + plan[row, c.WORD_BITS]
    if plan[row, c.PROB_TABLE] == U0:
        prob = single(np.uint32(bits(data, base, at, U31)) | UNEXTENDED)
        return prob, single(np.uint32((eight(data, base + ((at + U31) >> U3)) >> ((at + U31) & U7)) & LOW))
    backoff = bits(data, base, at, plan[row, c.BACKOFF_BITS])
    prob_place = bits(data, base, at + plan[row, c.BACKOFF_BITS], plan[row, c.PROB_BITS])
    prob = single(four(data, plan[row, c.PROB_TABLE] + U4 * prob_place))
    return prob, single(four(data, plan[row, c.BACKOFF_TABLE] + U4 * backoff))


@inlined
def followers(data: Bytes, plan: c.Plan, row: np.uint64, entry: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The entries of the next order that an entry of a trie leads to."""
    width, stride = plan[row, c.NEXT_BITS], plan[row, c.STRIDE]
    at = entry * stride + plan[row, c.WORD_BITS] + plan[row, c.NUMBER_BITS]
    begin, end = bits(data, plan[row, c.BASE], at, width), bits(data, plan[row, c.BASE], at + stride, width)
    offsets, count = plan[row, c.OFFSETS], plan[row, c.OFFSET_COUNT]
    if count > U0:  # the upper bits: how many entries of the array are not above this one
        low, high = U0, count
        while high - low > U1:
            middle = (low + high) >> U1
            if eight(data, offsets + U8 * middle) <= entry:
                low = middle
            else:
                high = middle
        begin |= low << width
        while low + U1 < count and eight(data, offsets + U8 * (low + U1)) <= entry + U1:
            low += U1
        end |= low << width
    return begin, min(end, plan[row + U1, c.COUNT])


@inlined
def extends(backoff: np.float32) -> bool:
    """Whether something may follow: KenLM writes -0.0 where nothing does."""
    return not (backoff == np.float32(0.0) and np.signbit(backoff))
