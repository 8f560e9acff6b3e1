"""What kernels are told of a KenLM binary: a table of numbers, one row for the file and one for each order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Plan = NDArray[np.uint64]

ORDER, TRIE_FILE, WORD_TABLE, WORD_COUNT, WORDS, MAX_WORD, BEGIN, END = range(8)
"""Columns of a plan's first row: the highest order; 1 for a trie; where word hashes lie, and how many places there are
for them; how many words there are, and the largest number that a word may have in a trie; those of `<s>`, `</s>`."""
BASE, COUNT, STRIDE, WORD_BITS, NUMBER_BITS, NEXT_BITS, OFFSETS, OFFSET_COUNT, PROB_TABLE, PROB_BITS = range(10)
BACKOFF_TABLE, BACKOFF_BITS = 10, 11
"""Columns of an order's row: where its table begins; entries or buckets; bytes of each (bits in a trie, above the
unigrams); and for tries the bits of a word, of its numbers and of its pointer, where the pointers' upper bits lie and
how many there are, and the tables of quantised numbers."""
COLUMNS = 12
