"""The n-gram block: columns and features of every order, along texts and after windows."""

from __future__ import annotations

import numpy as np
import pytest

from modlm.blocks import NOTHING, NgramBlock
from modlm.smoothing import SMOOTHERS, estimate
from small_texts import EDGES, TEXTS, contexts_of, counts_of, flat_ids, oracle_of, windows_of

TUNING = ["a b c", "", "z a", "b b b b b b", "c a b a z"]


def block_of(
    text: list[str],
    *,
    smoothing: str = "witten-bell",
    order: int = 3,
    edge: str = "once",
    vocabulary: str | None = None,
) -> NgramBlock:
    words = None if vocabulary is None else vocabulary.split()
    return NgramBlock(estimate(SMOOTHERS[smoothing](), counts_of(text, order=order, edge=edge, vocabulary=words)))


def test_columns_and_features_are_named_by_order() -> None:
    assert block_of(["a b"], order=2).columns == ("1-gram", "2-gram")
    assert block_of(["a b"], order=1).features == ("1-gram seen", "1-gram log total", "1-gram log followers")
    discounted = block_of(["a b"], order=1, smoothing="absolute")
    assert discounted.features[-1] == "1-gram log kept"


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("name", ["random sentences", "one sentence of each kind", "empty lines among others"])
def test_rows_and_features_along_a_text_are_the_oracles(smoothing: str, edge: str, name: str) -> None:
    block = block_of(TEXTS[name], smoothing=smoothing, order=4, edge=edge, vocabulary="a b c")
    oracle = oracle_of(TEXTS[name], smoothing=smoothing, order=4, edge=edge, vocabulary=["a", "b", "c"])
    ids = flat_ids(block.counts, TUNING)
    rows, predicted = block.rows(ids), ids != block.vocabulary.start
    assert np.all(rows.probs_TK[~predicted] == 1)
    assert np.all(rows.features_TF[~predicted] == 0)
    sentences = [sentence.split() for sentence in TUNING]
    expected = np.array([row[:4] for row in oracle.rows(sentences)], dtype=float)
    assert rows.probs_TK[predicted] == pytest.approx(expected, rel=1e-12)
    contexts = [words[:i] for words in sentences for i in range(len(words) + 1)]
    features = np.array([np.concatenate(oracle.features(context)) for context in contexts])
    assert rows.features_TF[predicted] == pytest.approx(features, rel=1e-12)


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@pytest.mark.parametrize("edge", EDGES)
def test_columns_and_features_after_windows_are_the_oracles(smoothing: str, edge: str) -> None:
    text = TEXTS["one sentence of each kind"]
    block = block_of(text, smoothing=smoothing, edge=edge)
    oracle = oracle_of(text, smoothing=smoothing, edge=edge)
    contexts = list(contexts_of(text))
    columns_BJK, features_BF = block.after(windows_of(block.vocabulary, contexts, length=9))
    for (words, start), columns_JK, features_F in zip(contexts, columns_BJK, features_BF, strict=True):
        expected = oracle.columns(words, start=start)[:3]
        for k in range(3):
            column = [float(expected[k][word]) for word in block.vocabulary.words]
            assert columns_JK[:, k] == pytest.approx(column, rel=1e-12)
        assert features_F == pytest.approx(np.concatenate(oracle.features(words, start=start)), rel=1e-12)


def test_windows_longer_than_the_order_say_no_more_than_their_last_words() -> None:
    block = block_of(TEXTS["random sentences"], order=3)
    vocabulary = block.vocabulary
    long = np.array([vocabulary.encode("c d a b")], dtype=np.uint32)
    for ours, theirs in zip(block.after(long), block.after(long[:, -2:].copy()), strict=True):
        assert np.array_equal(ours, theirs)


def test_nothing_within_a_window_empties_the_context() -> None:
    block = block_of(TEXTS["random sentences"], order=3)
    a, b = block.vocabulary.encode("a b")
    cut, bare = np.array([[a, NOTHING, b]], dtype=np.uint32), np.array([[NOTHING, NOTHING, b]], dtype=np.uint32)
    for ours, theirs in zip(block.after(cut), block.after(bare), strict=True):
        assert np.array_equal(ours, theirs)


def test_a_text_without_words_has_no_rows() -> None:
    block = block_of(["a b"])
    rows = block.rows(np.zeros(0, dtype=np.uint32))
    assert rows.probs_TK.shape == (0, 3)
    assert rows.features_TF.shape == (0, 9)
