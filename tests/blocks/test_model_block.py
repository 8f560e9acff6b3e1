"""Another language model as a column: proper over our vocabulary, and the same along texts and windows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from modlm.blocks.block import flattened, windows_before
from modlm.blocks.model import ModelBlock
from modlm.model.language_model import LanguageModel, sliding_windows
from modlm.text import Vocabulary
from small_texts import TEXTS, flat_ids, model_of

TEXT = TEXTS["random sentences"]
OURS = Vocabulary.from_words(["b", "a", "x", "y", "c"])  # x and y are ours alone, d e f g h theirs
SENTENCES = ["a b c", "", "x a b y", "d a b", "y y", "a b a b a b a c x"]


def other_model(kind: str) -> LanguageModel:
    model = model_of(TEXT, order=3)
    return model if kind == "n-gram" else model.as_mixture()


@pytest.fixture(params=["n-gram", "mixture"])
def model(request: pytest.FixtureRequest) -> LanguageModel:
    return other_model(request.param)


def windows_and_words(block: ModelBlock, ids: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Every prediction of a text as a window and a word."""
    starts = np.append(np.flatnonzero(ids == block.vocabulary.start), len(ids))
    windows, words = [], []
    for begin, end in pairwise(starts):
        windows.append(sliding_windows(ids[begin:end], length)[1:])
        words.append(ids[begin + 1 : end])
    return np.concatenate(windows), np.concatenate(words)


def test_with_the_same_vocabulary_the_column_is_the_model(model: LanguageModel) -> None:
    block = ModelBlock(model, model.vocabulary)
    ids = flat_ids(model_of(TEXT), SENTENCES)
    assert np.array_equal(block.rows(ids).probs_TK[:, 0], model.word_probs(ids))
    window = model.window("a b")
    assert np.array_equal(block.after(window)[0][0, :, 0], model.next_distribution("a b"))


def test_shared_words_keep_their_probability_and_the_rest_is_shared_equally(model: LanguageModel) -> None:
    block = ModelBlock(model, OURS)
    window = np.array([[OURS.start, OURS.id("a")]], dtype=np.uint32)
    column = dict(zip(OURS.words, block.after(window)[0][0, :, 0], strict=True))
    theirs = dict(zip(model.vocabulary.words, model.next_distribution("a"), strict=True))
    for word in ("a", "b", "c", "</s>"):
        assert column[word] == theirs[word]
    left = 1 - sum(column[word] for word in ("a", "b", "c", "</s>"))
    for word in ("<unk>", "x", "y"):
        assert column[word] == pytest.approx(left / 3)


@pytest.mark.parametrize("words", [["a"], ["x", "y"], ["a", "b", "c", "d", "e", "f", "g", "h"], list("qhgfedcba")])
def test_the_column_is_proper_over_any_vocabulary(model: LanguageModel, words: list[str]) -> None:
    vocabulary = Vocabulary.from_words(words)
    block = ModelBlock(model, vocabulary)
    ids = np.arange(len(vocabulary) + 1, dtype=np.uint32)
    windows_BC = np.stack(np.meshgrid(ids, ids), axis=-1).reshape(-1, 2)
    columns_BJ = block.after(windows_BC)[0][:, :, 0]
    assert columns_BJ.sum(axis=1) == pytest.approx(np.ones(len(windows_BC)), rel=1e-12)
    assert columns_BJ.min() >= 0


def test_the_column_stays_proper_where_the_other_model_leaves_no_mass() -> None:
    sure = model_of(["a"] * 3, order=2, smoothing="maximum-likelihood")  # after <s> always a, after a always </s>
    block = ModelBlock(sure, Vocabulary.from_words(["a", "x"]))
    start = block.vocabulary.start
    assert block.after(np.array([[start]], dtype=np.uint32))[0][0, :, 0].tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("vocabulary", [OURS, model_of(TEXT).vocabulary], ids=["other words", "the same words"])
def test_windows_and_texts_give_the_same_rows(model: LanguageModel, vocabulary: Vocabulary) -> None:
    from modlm.text import Corpus

    block = ModelBlock(model, vocabulary)
    ids = Corpus.from_text(SENTENCES, vocabulary).ids
    along = block.rows(ids).probs_TK[:, 0]
    assert np.all(along[ids == vocabulary.start] == 1)
    windows_BC, words_B = windows_and_words(block, ids, 4)
    rows = block.rows(flattened(windows_BC, words_B))
    assert rows.probs_TK[5::6, 0] == pytest.approx(along[ids != vocabulary.start], rel=1e-12)
    columns_BJ = block.after(windows_BC)[0][:, :, 0]
    assert columns_BJ[np.arange(len(words_B)), words_B] == pytest.approx(along[ids != vocabulary.start], rel=1e-12)


def test_more_windows_than_fit_in_one_batch_are_all_answered(
    model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = ModelBlock(model, OURS)
    from modlm.text import Corpus

    ids = Corpus.from_text(SENTENCES, OURS).ids
    whole = block.rows(ids).probs_TK
    monkeypatch.setattr("modlm.blocks.model.TOGETHER", 2)
    assert np.array_equal(block.rows(ids).probs_TK, whole)


def test_windows_reach_back_to_the_start_of_the_sentence() -> None:
    start = 9
    ids = np.array([9, 2, 3, 1, 9, 4, 1], dtype=np.uint32)
    nothing = 0xFFFFFFFF
    windows = windows_before(ids, np.array([1, 3, 5, 6]), 2, start)
    assert windows.tolist() == [[nothing, 9], [2, 3], [nothing, 9], [9, 4]]
