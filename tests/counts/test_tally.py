"""Counts without a fold are those of the rest, counted from scratch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.counts.same_counts import assert_same_answers

from modlm.counts import Counts, count_text, held_out
from modlm.errors import InputError, VocabularyError
from modlm.smoothing import SMOOTHERS, Estimates, estimate
from modlm.text.corpus import Corpus
from small_texts import EDGES, TEXT_LISTS, TEXTS

SHAPES = [{"order": 4}, {"order": 4, "edge": "repeat"}, {"positions": (4, 2)}, {"positions": (1, 2, 3)}]


def without(corpus: Corpus, low: int, high: int) -> Corpus:
    ids = np.concatenate((corpus[:low].ids, corpus[high:].ids))
    return Corpus.from_ids(ids, corpus.vocabulary)


@given(TEXT_LISTS, st.sampled_from(SHAPES), st.integers(0, 12), st.integers(0, 12))
def test_subtracting_a_fold_is_counting_the_rest(text: list[str], shape: dict[str, int], a: int, b: int) -> None:
    corpus = Corpus.from_text(text)
    low, high = sorted((min(a, len(text)), min(b, len(text))))
    counts = held_out(count_text(corpus, **shape), corpus[low:high])  # type: ignore[arg-type]
    rest = count_text(without(corpus, low, high), **shape)  # type: ignore[arg-type]
    assert counts.sentences == rest.sentences
    assert_same_answers(counts, rest)


def probabilities(estimates: Estimates, ids: np.ndarray) -> np.ndarray:
    """Column and fallback of every order at every position."""
    contexts_TN, nodes_TN = estimates.counts.walk(ids)
    out = np.zeros((len(ids), estimates.counts.order, 2))
    for n in range(1, estimates.counts.order + 1):
        layer, sums = estimates.counts.layer(n), estimates.sums(n)
        fallback = estimates.fallback(sums)
        table = estimates.discounts[n - 1]
        for t, (context, node) in enumerate(zip(contexts_TN[:, n - 1], nodes_TN[:, n - 1], strict=True)):
            place = int(context) - layer.low
            if context == 0xFFFFFFFF or sums.kept[place] <= 0:
                out[t, n - 1] = 1 / len(estimates.counts.vocabulary), 1
                continue
            r = int(layer.frequencies[node]) if node else 0
            out[t, n - 1] = (r - table[min(r, len(table) - 1)]) / sums.kept[place] if r else 0, fallback[place]
    return out


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("family", SMOOTHERS)
def test_every_family_estimates_the_same(family: str, shape: dict[str, int]) -> None:
    corpus = Corpus.from_text(TEXTS["random sentences"])
    counts = held_out(count_text(corpus, **shape), corpus[20:35])  # type: ignore[arg-type]
    rest = count_text(without(corpus, 20, 35), **shape)  # type: ignore[arg-type]
    pair = [estimate(SMOOTHERS[family](), own) for own in (counts, rest)]
    for own, other in zip(pair[0].discounts, pair[1].discounts, strict=True):
        np.testing.assert_array_equal(own, other)
    np.testing.assert_allclose(*(probabilities(one, corpus.ids) for one in pair), rtol=1e-12)


def test_long_folds_are_walked_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus.from_text(TEXTS["random sentences"])
    whole = count_text(corpus, order=3)
    expected = held_out(whole, corpus[10:50]).frequencies
    for size in (1, 7, 30):
        monkeypatch.setattr("modlm.counts.tally.POSITIONS", size)
        np.testing.assert_array_equal(held_out(whole, corpus[10:50]).frequencies, expected)


def test_the_counts_themselves_stay_as_they_are() -> None:
    corpus = Corpus.from_text(["a b", "a"])
    counts = count_text(corpus, order=2)
    rest = held_out(counts, corpus[1:].ids)
    assert (counts.of("a"), rest.of("a"), rest.of("a </s>"), counts.sentences, rest.sentences) == (2, 1, 0, 2, 1)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("fold", [["c a"], ["a b", "a b"], ["a"], ["a b c b"], [""]])
def test_a_fold_of_another_text_is_an_error(fold: list[str], shape: dict[str, int]) -> None:
    counts = count_text(["a b c", "a b"], **shape)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not part of the counted text"):
        held_out(counts, Corpus.from_text(fold, counts.vocabulary))


def test_a_fold_with_other_words_is_an_error() -> None:
    with pytest.raises(VocabularyError, match="another vocabulary"):
        held_out(count_text(["a b"]), Corpus.from_text(["b b a"]))


@pytest.mark.parametrize("ids", [[0], [2, 3], [4, 3, 1], [9, 9, 9]])
def test_ids_that_are_no_text_are_an_error(ids: list[int]) -> None:
    counts: Counts = count_text(["a b"])
    with pytest.raises(InputError):
        held_out(counts, np.array(ids, dtype=np.uint32))


@pytest.mark.parametrize("edge", EDGES)
def test_holding_out_everything_leaves_nothing(edge: str) -> None:
    corpus = Corpus.from_text(TEXTS["random sentences"])
    counts = held_out(count_text(corpus, order=3, edge=edge), corpus)
    assert counts.sentences == 0 and not counts.frequencies.any()
