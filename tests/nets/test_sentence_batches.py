"""Sentences side by side: every position once, its own words before it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from modlm.mixers.mixer import contexts_along
from modlm.nets.sentence_batches import sentence_batches

START = 99
LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=20)


def text_of(lengths: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Sentences of so many predictions each."""
    ids = np.concatenate([[START, *range(1, length + 1)] for length in lengths]).astype(np.uint32)
    return ids, np.flatnonzero(ids == START)


@given(lengths=LENGTHS, most=st.integers(1, 40))
def test_every_prediction_stands_in_one_batch_in_the_order_of_time(lengths: list[int], most: int) -> None:
    ids, starts = text_of(lengths)
    seen = []
    for batch in sentence_batches(starts, len(ids), most):
        assert batch.places_TB.shape[1] == 1 or batch.places_TB.size <= most
        assert batch.real_TB[0].all()
        places = batch.places_TB[batch.real_TB]
        assert np.array_equal(ids[places], np.broadcast_to(np.arange(len(batch.places_TB))[:, None] + 1,
                                                           batch.real_TB.shape)[batch.real_TB])  # fmt: skip
        seen += places.tolist()
    assert sorted(seen) == np.flatnonzero(ids != START).tolist()


@given(lengths=LENGTHS, words=st.integers(1, 12))
def test_contexts_reach_back_to_the_start_of_the_sentence(lengths: list[int], words: int) -> None:
    ids, starts = text_of(lengths)
    contexts_TW = contexts_along(ids, words)
    for t in np.flatnonzero(ids != START).tolist():
        begin = starts[np.searchsorted(starts, t, side="right") - 1]
        before = [START] * words + ids[begin:t].tolist()
        assert contexts_TW[t].tolist() == before[-words:]
