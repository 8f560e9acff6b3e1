"""Batches hold every prediction once, with the words, contexts, features and columns of its place in the text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from modlm.arrays import Ids, Ints
from modlm.errors import InputError
from modlm.training.batches import Batch, Batches, DenseRows, Shard, Streams, packed

J = 7  # words; `<s>` is 7
TEXTS = st.lists(st.lists(st.integers(0, J - 1).filter(lambda word: word != 1), max_size=6), min_size=1, max_size=12)


@dataclass(frozen=True)
class SmallRows:
    """Rows in which every position can be told from all others: its feature and column say where it is."""

    ids: Ids
    starts: Ints

    @property
    def log_probs_TC(self) -> np.ndarray:
        return -np.arange(len(self.ids), dtype=np.float32)[:, None]

    @property
    def features_TF(self) -> np.ndarray:
        return np.arange(len(self.ids), dtype=np.float32)[:, None]


def rows_of(text: list[list[int]]) -> SmallRows:
    sentences = [[J, *words, 1] for words in text]
    starts = np.cumsum([0, *map(len, sentences)])
    return SmallRows(np.array(list(chain.from_iterable(sentences)), np.uint32), starts)


def dense(text: list[list[int]], words: int = 2) -> DenseRows:
    return DenseRows(rows_of(text), J, words, ("uniform", "unknown"))


def places(batch: Batch) -> list[int]:
    return batch.predicted(batch.features_TBF)[:, 0].long().tolist()


def check_against_text(batch: Batch, rows: SmallRows) -> None:
    at_P = places(batch)
    assert batch.words_P.tolist() == rows.ids[at_P].tolist()
    assert batch.log_probs_PD[:, 0].tolist() == [-float(at) for at in at_P]
    assert torch.allclose(batch.log_probs_PD[:, 1], torch.tensor(-np.log(J), dtype=torch.float32))
    assert (batch.log_probs_PD[:, 2] == 0).tolist() == (batch.words_P == 0).tolist()
    for at, context in zip(at_P, batch.predicted(batch.contexts_TBW).tolist(), strict=True):
        sentence = rows.ids[max(start for start in rows.starts if start < at) : at].tolist()
        assert context == ([J, J, *sentence])[-2:]


@given(TEXTS, st.integers(1, 20))
def test_sentences_are_packed_by_length_and_every_prediction_comes_once(text: list[list[int]], room: int) -> None:
    rows, batches = rows_of(text), Batches(dense(text), batch_words=room, seed=3)
    seen: list[int] = []
    for number in batches.order(0):
        batch = batches.batch(int(number))
        steps, sentences = batch.whole
        assert steps * sentences <= room or sentences == 1
        assert batch.real_TB.shape == (steps, sentences)
        check_against_text(batch, rows)
        assert batch.words == len(batch.words_P)
        seen += places(batch)
    assert sorted(seen) == [at for at in range(len(rows.ids)) if at not in rows.starts]
    assert len(seen) == batches.words


@given(TEXTS, st.integers(1, 20), st.integers(2, 3))
def test_shards_make_up_the_batch(text: list[list[int]], room: int, world: int) -> None:
    for source in (Batches(dense(text), batch_words=room, seed=1), Streams(dense(text), streams=3, steps=4)):
        for number in range(len(source)):
            whole = source.batch(number)
            parts = [source.batch(number, Shard(rank, world)) for rank in range(world)]
            assert {part.whole for part in parts} == {whole.whole}
            assert sorted(chain.from_iterable(map(places, parts))) == sorted(places(whole))
            for rank, part in enumerate(parts):
                assert torch.equal(part.features_TBF, whole.features_TBF[:, rank::world])


@given(TEXTS, st.integers(1, 4), st.integers(1, 9))
def test_streams_run_through_the_text_in_its_order(text: list[list[int]], streams: int, steps: int) -> None:
    rows, source = rows_of(text), Streams(dense(text), streams=streams, steps=steps)
    batches = [source.batch(number) for number in source.order(0)]
    count = batches[0].real_TB.shape[1]
    along = []
    for stream in range(count):
        for batch in batches:
            real_T = batch.real_TB[:, stream]
            along += batch.features_TBF[:, stream, 0][real_T].long().tolist()
    assert along == [at for at in range(len(rows.ids)) if at not in rows.starts]
    for batch in batches:
        check_against_text(batch, rows)
    assert sum(batch.words for batch in batches) == source.words


def test_the_order_follows_from_seed_and_epoch() -> None:
    text = [[2]] * 40
    one, same, other = (Batches(dense(text), batch_words=2, seed=seed) for seed in (1, 1, 2))
    assert one.order(5).tolist() == same.order(5).tolist()
    assert one.order(5).tolist() != one.order(6).tolist()
    assert one.order(5).tolist() != other.order(5).tolist()
    assert sorted(one.order(5)) == list(range(40))


def test_a_batch_is_as_large_as_its_longest_sentence_allows() -> None:
    # 9 fits once in 10, then 5 twice, then 4 twice, then 2 and 1
    assert packed([9, 5, 5, 4, 4, 2, 1], 10).tolist() == [0, 1, 3, 5, 7]
    assert packed([30], 10).tolist() == [0, 1]


def test_a_text_without_sentences_is_refused() -> None:
    empty = DenseRows(SmallRows(np.zeros(0, np.uint32), np.zeros(1, np.int64)), J)
    for make in (lambda: Batches(empty, batch_words=5, seed=1), lambda: Streams(empty, streams=1, steps=1)):
        with pytest.raises(InputError, match="no sentence"):
            make()
