"""Every smoothing family: fallbacks between 0 and 1, discounts that leave something, the same model in every form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modlm.model.ngram_lm import NgramLM
from modlm.smoothing import SMOOTHERS, estimate
from small_texts import EDGES, EXTRAS, TEXT_LISTS, TEXTS, contexts_of, counts_of, model_of, oracle_of

ANY_TEXT = TEXT_LISTS | st.sampled_from(list(TEXTS.values()))


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@settings(max_examples=40)
@given(text=ANY_TEXT, order=st.integers(1, 6), edge=st.sampled_from(EDGES))
def test_sums_are_possible(smoothing: str, text: list[str], order: int, edge: str) -> None:
    made = estimate(SMOOTHERS[smoothing](), counts_of(text, order=order, edge=edge))
    assert len(made.discounts) == order
    for n in range(1, order + 1):
        table, sums = made.discounts[n - 1], made.sums(n)
        assert table[0] == 0
        assert np.all((table[1:] >= 0) & (table[1:] < np.arange(1, len(table))))
        assert np.all((sums.kept > 0) == (sums.total > 0))
        assert np.all((sums.followers > 0) == (sums.total > 0))
        assert np.all((sums.kept >= 0) & (sums.kept <= sums.total))
        fallback = made.fallback(sums)
        assert np.all((fallback >= 0) & (fallback <= 1))
        assert np.all(fallback[sums.kept == 0] == 1)
        assert sums.seen.tolist() == (sums.kept > 0).tolist()


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@settings(max_examples=25)
@given(text=ANY_TEXT, order=st.integers(1, 6), edge=st.sampled_from(EDGES), extra=st.sampled_from(EXTRAS))
def test_distributions_sum_to_one_in_both_forms(
    smoothing: str, text: list[str], order: int, edge: str, extra: tuple[str, ...]
) -> None:
    model = model_of(text, order=order, edge=edge, smoothing=smoothing, extra=extra)
    mixture = model.as_mixture()
    for words, start in list(contexts_of(text))[:30]:
        compiled = model.next_distribution(words, start=start)
        assert compiled.sum() == pytest.approx(1, abs=1e-12)
        assert compiled.min() >= 0
        assert mixture.next_distribution(words, start=start) == pytest.approx(compiled, abs=1e-12)
        _, _, weights_BK = mixture.shares(mixture.window(words, start=start), np.zeros(1, dtype=np.uint32))
        assert weights_BK.sum() == pytest.approx(1, abs=1e-12)
        assert weights_BK.min() >= 0


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@settings(max_examples=15)
@given(
    text=TEXT_LISTS,
    order=st.integers(1, 5),
    edge=st.sampled_from(EDGES),
    extra=st.sampled_from(EXTRAS),
    vocabulary=st.none() | st.lists(st.sampled_from("abcdxy"), unique=True),
)
def test_every_probability_is_the_oracles(
    smoothing: str, text: list[str], order: int, edge: str, extra: tuple[str, ...], vocabulary: list[str] | None
) -> None:
    asked = {"order": order, "edge": edge, "smoothing": smoothing, "extra": extra, "vocabulary": vocabulary}
    model, oracle = model_of(text, **asked), oracle_of(text, **asked)  # type: ignore[arg-type]
    assert set(model.vocabulary.words) == set(oracle.vocabulary)
    for words, start in list(contexts_of(text))[::3]:
        expected = oracle.distribution(words, start=start)
        row = model.next_distribution(words, start=start)
        assert row == pytest.approx([float(expected[word]) for word in model.vocabulary.words], rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@pytest.mark.parametrize("edge", EDGES)
def test_every_probability_of_awkward_texts_is_the_oracles(smoothing: str, edge: str) -> None:
    for name, text in TEXTS.items():
        model = model_of(text, order=4, edge=edge, smoothing=smoothing)
        oracle = oracle_of(text, order=4, edge=edge, smoothing=smoothing)
        for words, start in list(contexts_of(text))[::9]:
            expected = oracle.distribution(words, start=start)
            row = model.next_distribution(words, start=start)
            assert row == pytest.approx([float(expected[w]) for w in model.vocabulary.words], rel=1e-12), name


@pytest.mark.parametrize("smoothing", SMOOTHERS)
def test_frequencies_in_64_bits_give_the_same_model(smoothing: str) -> None:
    counts = counts_of(TEXTS["random sentences"])
    wide = counts.with_frequencies(counts.frequencies.astype(np.uint64))
    ours = NgramLM.from_counts(counts, smoothing=smoothing)
    theirs = NgramLM.from_counts(wide, smoothing=smoothing)
    assert np.array_equal(ours.compiled.leaves, theirs.compiled.leaves)
    assert np.array_equal(ours.compiled.nodes, theirs.compiled.nodes)
    assert np.array_equal(ours.as_mixture().next_distribution("a"), theirs.as_mixture().next_distribution("a"))
