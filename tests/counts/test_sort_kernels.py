"""Suffixes come in the order of their words, however many begin alike: long runs are sorted unlike short ones."""

from __future__ import annotations

from itertools import pairwise, takewhile

import numpy as np
import pytest

from modlm.counts.memory import sort_suffixes
from modlm.counts.sort_kernels import SMALL
from modlm.text.vocabulary import END

ORDER = 4


@pytest.mark.parametrize("types", [4, 40, 70_000])  # 21, 10 and 3 words of a suffix fit into a key at once
def test_suffixes_are_in_the_order_of_their_words(types: int) -> None:
    rng = np.random.default_rng(types)
    start, lines = types, []
    for _ in range(600):
        words = np.minimum(rng.zipf(1.2, size=rng.integers(0, 12)) + 1, types - 1)
        lines.append([start, *words.tolist(), END])
    ids = np.array([word for line in lines for word in line], dtype=np.uint32)
    found = sort_suffixes(ids, vocab_size=types, order=ORDER, workers=2)
    suffixes = [suffix_at(ids, int(position)) for position in found.positions]
    assert sorted(found.positions) == list(range(len(ids)))
    assert suffixes == sorted(suffixes)
    assert found.length.tolist() == [len(suffix) for suffix in suffixes]
    assert max(np.diff(found.bounds)) > 10 * SMALL  # of those that begin with the most frequent word
    for place, (before, after) in enumerate(pairwise(suffixes), 1):
        assert min(int(found.shared[place]), len(after)) == alike(before, after)


def suffix_at(ids: np.ndarray, position: int) -> list[int]:
    """At most ORDER words, no further than the end of the sentence."""
    words = ids[position : position + ORDER].tolist()
    return words[: words.index(END) + 1] if END in words else words


def alike(before: list[int], after: list[int]) -> int:
    """How many words two suffixes have in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
