"""The tables of words that the kernels look ids up in."""

from __future__ import annotations

import numpy as np
import pytest

from modlm.text import Vocabulary


@pytest.mark.parametrize("count", [1, 2, 3, 1000, 5000])
def test_every_word_is_found_in_the_table(count):
    words = [f"{'long-' * (i % 5)}{i}" for i in range(count)]
    vocabulary = Vocabulary.from_words(words)
    _, offsets, table = vocabulary.kernel_tables()
    assert len(offsets) == len(vocabulary) + 1
    assert len(table) >= 2 * len(vocabulary)
    assert np.array_equal(vocabulary.mapping(vocabulary), np.arange(len(vocabulary) + 1))


def test_the_table_leaves_no_word_out_when_all_words_are_unknown_elsewhere():
    one, two = Vocabulary.from_words(["a", "b"]), Vocabulary.from_words(["c"])
    assert one.mapping(two).tolist() == [0, 1, 0, 0, 3]
