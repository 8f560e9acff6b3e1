"""The cache says how many of the last words a word is."""

from __future__ import annotations

import numpy as np
import pytest

from blocks.test_online import SIZE, START, WINDOW, WORDS, text_of
from modlm.blocks.block import Beside, one_each
from modlm.blocks.cache import CacheBlock


@pytest.mark.parametrize(("words", "decay"), [(7, 1.0), (100, 1.0), (50, 0.9), (3000, 0.5)])
def test_rows_are_shares_of_the_last_words(words: int, decay: float) -> None:
    ids, block = text_of(900), CacheBlock(WORDS, words=words, decay=decay)
    rows, memory_1, last = block.rows(ids), one_each(None, 1), np.zeros(0, np.uint32)
    for t, word in enumerate(ids):
        if word == START:
            assert rows.probs_TK[t] == 1
        else:
            left = decay ** np.arange(len(last))[::-1]
            expected = left[last == word].sum() / left.sum() if len(last) else 1 / SIZE
            assert rows.probs_TK[t, 0] == pytest.approx(expected, abs=1e-12)
            one = block.rows_after(WINDOW, ids[t : t + 1], Beside(memory=memory_1))
            assert one.probs_TK[0, 0] == pytest.approx(expected, abs=1e-12)
            if t % 50 == 1:
                columns_1JK, _ = block.after(WINDOW, Beside(memory=memory_1))
                assert columns_1JK.sum() == pytest.approx(1, abs=1e-12)
                assert columns_1JK[0, word, 0] == pytest.approx(expected, abs=1e-12)
            last = np.append(last, word)[-words:]
        memory_1 = block.remember(memory_1, ids[t : t + 1])


def test_two_parts_are_the_whole() -> None:
    ids, block = text_of(900), CacheBlock(WORDS, words=30)
    first = block.rows(ids[:333])
    second = block.rows(ids[333:], Beside(memory=first.memory))
    assert np.allclose(np.concatenate((first.probs_TK, second.probs_TK)), block.rows(ids).probs_TK, atol=1e-12)
