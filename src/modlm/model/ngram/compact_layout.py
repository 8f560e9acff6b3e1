"""Where the parts of a compact n-gram model lie.

One array of 64-bit numbers holds everything; a row of the table says where the parts of an order lie in it. N-grams are
counted within their order, in the order of the trie.

    pointers   for each context a one, then a zero for each of its followers
    words      a follower's rank among the followers of the context one word shorter (2-grams: its word), made to grow
               through the whole order, by Elias and Fano: low bits packed, high bits in unary
    counts     by levels: whether there is more, and if not, what is left, in a few bits
    sums       total and kept mass of the contexts with many large counts; those of others are summed up when asked for

Since a follower of a context follows the shorter context too, its rank there is its place: suffixes need no pointers.
"""

from __future__ import annotations

SIZE, POINTERS, LOW, LOW_BITS, HIGH, BIG, SUMS, FALLBACKS, REALS, LEAST = range(10)  # of a row of the table
LEVELS = 10  # where the levels of counts begin in a row: flags and numbers of each
BITS = (0, 0, 3, 7, 16, 44)  # of what is left at each level
PROBS, VALUES = LEVELS + 2 * len(BITS), LEVELS + 2 * len(BITS) + 1
ROW = VALUES + 1
PLAIN = 2  # levels whose counts are one value each
MANY = 2  # large counts after a context from which on their sums are kept
DEEPEST = 16  # words of a context
