"""All n-grams of a KenLM trie as the tables of an ARPA file."""

from __future__ import annotations

import numpy as np

from modlm.errors import InputError
from modlm.formats.arpa.reading import ArpaOrder, ArpaTables
from modlm.formats.kenlm import columns as c
from modlm.formats.kenlm import query_kernels
from modlm.formats.kenlm.binary import Binary
from modlm.formats.kenlm.words import ids_of_numbers, numbers_of_words, vocabulary_of
from modlm.ground.progress import progress

UNIGRAM = np.dtype([("prob", "<f4"), ("backoff", "<f4"), ("next", "<u8")])


def read_tables(binary: Binary) -> ArpaTables:
    """Its n-grams by our ids; what pruning had left out and KenLM filled in is there too. Hash tables have no list."""
    if not binary.is_trie:
        raise InputError(
            "a KenLM binary of hash tables (probing), which keep hashes in place of n-grams: it can be queried, but "
            "its n-grams cannot be listed or converted. Convert the ARPA file that it was built from, or a trie.",
            path=binary.path,
        )
    vocabulary, ours = vocabulary_of(binary), ids_of_numbers(numbers_of_words(binary), binary.words)
    vocabulary.files()  # a file without its words says so here
    table = np.frombuffer(binary.data, UNIGRAM, binary.words + 1, int(binary.plan[1, c.BASE]))
    ngrams = np.arange(binary.words, dtype=np.uint32)[:, None]
    probs, backoffs = (table[name][:-1].astype(np.float64) for name in ("prob", "backoff"))
    next_T2 = np.stack([table["next"][:-1], table["next"][1:]], axis=1)
    orders = [ArpaOrder(ours[ngrams], probs, backoffs)]
    with progress(f"Reading {binary.path}", total=sum(binary.counts[1:]), unit="n-grams") as bar:
        for order, count in enumerate(binary.counts[1:], start=2):
            shorter, before_T2 = ngrams, next_T2
            ngrams, next_T2 = np.zeros((count, order), np.uint32), np.zeros((count, 2), np.uint64)
            probs, backoffs = np.zeros((2, count))
            reached = query_kernels.list_order(
                binary.data, binary.plan, order, shorter, before_T2, ngrams, next_T2, probs, backoffs
            )
            if reached != count:
                raise binary.damaged(f"{reached:,} of {count:,} {order}-grams are reached")
            orders.append(ArpaOrder(ours[ngrams], probs, backoffs))
            bar.advance(count)
    return ArpaTables(vocabulary, tuple(orders), True, bool(binary.plan[0, c.BEGIN]), binary.path)
