"""All n-grams of a KenLM trie as the tables of an ARPA file."""

from __future__ import annotations

import numpy as np

from modlm.errors import InputError
from modlm.formats.arpa.reading import ArpaOrder, ArpaTables
from modlm.formats.kenlm import query_kernels
from modlm.formats.kenlm.binary import Binary
from modlm.formats.kenlm.plan import BEGIN
from modlm.formats.kenlm.words import numbers_of_words, vocabulary_of
from modlm.ground.progress import progress


def read_tables(binary: Binary) -> ArpaTables:
    """Its n-grams by our ids; what pruning had left out and KenLM filled in is there too. Hash tables have no list."""
    if not binary.is_trie:
        raise InputError(
            "a KenLM binary of hash tables (probing), which keep hashes in place of n-grams: it can be queried, but "
            "its n-grams cannot be listed or converted. Convert the ARPA file that it was built from, or a trie.",
            path=binary.path,
        )
    vocabulary, theirs = vocabulary_of(binary), numbers_of_words(binary)
    vocabulary.files()  # a file without its words says so here
    ours = np.zeros(binary.words, np.uint32)
    ours[theirs[1:]] = np.arange(1, len(theirs))
    ours[0] = 0
    ngrams = np.arange(binary.words, dtype=np.uint32)[:, None]
    orders = list[ArpaOrder]()
    with progress(f"Reading {binary.path}", total=sum(binary.counts), unit="n-grams") as bar:
        ranges_T2, probs, backoffs = _room(binary.words)
        query_kernels.list_unigrams(binary.data, binary.plan, ranges_T2, probs, backoffs)
        orders.append(ArpaOrder(ours[ngrams], probs.astype(np.float64), backoffs.astype(np.float64)))
        for order, count in enumerate(binary.counts[1:], start=2):
            shorter, before_T2 = ngrams, ranges_T2
            ngrams = np.zeros((count, order), np.uint32)
            ranges_T2, probs, backoffs = _room(count)
            reached = query_kernels.list_order(
                binary.data, binary.plan, order, shorter, before_T2, ngrams, ranges_T2, probs, backoffs
            )
            if reached != count:
                raise InputError(
                    f"a KenLM trie in which {reached:,} of {count:,} {order}-grams are reached. It is damaged.",
                    path=binary.path,
                )
            if order == binary.order:
                backoffs[:] = 0
            orders.append(ArpaOrder(ours[ngrams], probs.astype(np.float64), backoffs.astype(np.float64)))
            bar.advance(count)
    return ArpaTables(vocabulary, tuple(orders), True, bool(binary.plan[0, BEGIN]), binary.path)


def _room(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.zeros((count, 2), np.uint64), np.zeros(count, np.float32), np.zeros(count, np.float32)
