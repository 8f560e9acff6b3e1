"""Batches hold every prediction once, with the words, contexts, features and columns of its place in the text."""

from __future__ import annotations

from itertools import chain

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from modlm.blocks.log_rows import LogRows
from modlm.mixers.mixer import contexts_along
from modlm.nets.batches import Batch, Sentences, Streams, packed

J = 7  # words; `<s>` is 7
TEXTS = st.lists(st.lists(st.integers(0, J - 1).filter(lambda word: word != 1), max_size=6), min_size=1, max_size=12)


def rows_of(text: list[list[int]]) -> LogRows:
    """Rows in which every position can be told from all others: its feature and column say where it is."""
    sentences = [[J, *words, 1] for words in text]
    ids = np.array(list(chain.from_iterable(sentences)), np.uint32)
    at_T1 = np.arange(len(ids), dtype=np.float32)[:, None]
    return LogRows(ids, np.cumsum([0, *map(len, sentences)]), -at_T1, at_T1, {})


def places(batch: Batch) -> list[int]:
    return batch.predicted(batch.features_TBF)[:, 0].long().tolist()


def check_against_text(batch: Batch, rows: LogRows) -> None:
    at_P = places(batch)
    assert batch.words_P.tolist() == rows.ids[at_P].tolist()
    assert batch.log_probs_PD[:, 0].tolist() == [-float(at) for at in at_P]
    assert batch.at_P.tolist() == at_P
    for at, context in zip(at_P, batch.predicted(batch.contexts_TBW).tolist(), strict=True):
        sentence = rows.ids[max(start for start in rows.starts if start < at) : at].tolist()
        assert context == ([J, J, *sentence])[-2:]


@given(TEXTS, st.integers(1, 20))
def test_sentences_are_packed_by_length_and_every_prediction_comes_once(text: list[list[int]], room: int) -> None:
    rows, batches = rows_of(text), Sentences(rows_of(text), 2, most=room)
    seen: list[int] = []
    for number in batches.order(0, seed=3):
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
    for source in (Sentences(rows_of(text), 2, most=room), Streams(rows_of(text), 2, streams=3, steps=4)):
        for number in range(len(source)):
            whole = source.batch(number)
            parts = [source.batch(number, slice(rank, None, world)) for rank in range(world)]
            assert {part.whole for part in parts} == {whole.whole}
            assert sorted(chain.from_iterable(map(places, parts))) == sorted(places(whole))
            for rank, part in enumerate(parts):
                assert torch.equal(part.features_TBF, whole.features_TBF[:, rank::world])


@given(TEXTS, st.integers(1, 4), st.integers(1, 9))
def test_streams_run_through_the_text_in_its_order(text: list[list[int]], streams: int, steps: int) -> None:
    rows, source = rows_of(text), Streams(rows_of(text), 2, streams=streams, steps=steps)
    batches = [source.batch(number) for number in source.order(0, seed=3)]
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
    one, same = (Sentences(rows_of(text), 2, most=2) for _ in range(2))
    order = one.order(5, seed=1).tolist()
    assert order == same.order(5, seed=1).tolist()
    assert order != one.order(6, seed=1).tolist()
    assert order != one.order(5, seed=2).tolist()
    assert sorted(order) == list(range(40))


def test_a_batch_is_as_large_as_its_longest_sentence_allows() -> None:
    # 9 fits once in 10, then 5 twice, then 4 twice, then 2 and 1
    assert packed([9, 5, 5, 4, 4, 2, 1], 10).tolist() == [0, 1, 3, 5, 7]
    assert packed([30], 10).tolist() == [0, 1]


def test_a_text_without_sentences_has_no_batches() -> None:
    assert len(Sentences(rows_of([]), 2, most=5)) == len(Streams(rows_of([]), 2, streams=1, steps=1)) == 0


@given(TEXTS, st.integers(1, 12))
def test_contexts_reach_back_to_the_start_of_the_sentence(text: list[list[int]], words: int) -> None:
    """As the contexts of mixers do."""
    rows = rows_of(text)
    contexts_TW, source = contexts_along(rows.ids, words), Sentences(rows, words, most=9)
    for batch in map(source.batch, range(len(source))):
        assert np.array_equal(batch.predicted(batch.contexts_TBW), contexts_TW[batch.at_P])
    for t in set(range(len(rows.ids))) - set(rows.starts.tolist()):
        begin = rows.starts[np.searchsorted(rows.starts, t, side="right") - 1]
        assert contexts_TW[t].tolist() == ([J] * words + rows.ids[begin:t].tolist())[-words:]
