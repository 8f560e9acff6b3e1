"""Whether two counts are the same, to the byte or in all that can be asked of them."""

from __future__ import annotations

import numpy as np

from modlm.counts import Counts


def assert_same_arrays(found: Counts, expected: Counts) -> None:
    """Every array, its dtype too, and what stands beside the arrays."""
    assert found.settings() == expected.settings()
    assert found.vocabulary == expected.vocabulary
    for name, array in expected.arrays().items():
        own = found.arrays()[name]
        assert own.dtype == array.dtype, name
        np.testing.assert_array_equal(own, array, err_msg=name)


def occurring(counts: Counts, order: int) -> dict[tuple[str, ...], int]:
    """The n-grams of an order that occur, with their frequencies."""
    nodes = counts.trie.nodes(order)
    rows = zip(counts.trie.ngrams(order), counts.frequencies[nodes].tolist(), strict=True)
    return {tuple(counts.vocabulary.decode(ngram)): count for ngram, count in rows if count > 0}


def by_context(counts: Counts, order: int) -> dict[tuple[str, ...], tuple[float, float]]:
    """Total and followers of the contexts of an order that something follows."""
    layer, rows = counts.layer(order), counts.trie.ngrams(order)
    firsts = counts.trie.first[layer.low : layer.high + 1].astype(np.int64) - counts.trie.levels[order]
    values = zip(firsts, firsts[1:], counts.total(order), counts.followers(order), strict=False)
    return {
        tuple(counts.vocabulary.decode(rows[begin][:-1])): (total, followers)
        for begin, end, total, followers in values
        if end > begin and total > 0
    }


def assert_same_answers(found: Counts, expected: Counts) -> None:
    """Frequencies, totals, followers, counts of counts, and the same of continuation counts; tries may differ."""
    for own, other in ((found, expected), (found.continuation(), expected.continuation())):
        for order in range(1, expected.order + 1):
            assert occurring(own, order) == occurring(other, order)
            assert by_context(own, order) == by_context(other, order)
            assert own.counts_of_counts(order, 6)[1:].tolist() == other.counts_of_counts(order, 6)[1:].tolist()
            assert own.types(order) == other.types(order)
