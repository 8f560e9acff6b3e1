"""Edit distances against a table filled by hand, error rates, and what the bootstrap makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.errors import ConfigError
from modlm.evaluation.error_rate import count_errors, drawn_errors, interval, probability_better

WORDS = st.lists(st.sampled_from(["a", "b", "cc", "été"]), max_size=7).map(" ".join)


def distance(one: Sequence[str], other: Sequence[str]) -> int:
    """The definition, slowly: drop a word of one, of the other, or take both."""

    @cache
    def rest(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return len(one) - i + len(other) - j
        return min(rest(i + 1, j) + 1, rest(i, j + 1) + 1, rest(i + 1, j + 1) + (one[i] != other[j]))

    return rest(0, 0)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=8))
def test_distances_are_those_of_the_definition(pairs: list[tuple[str, str]]) -> None:
    hypotheses, references = zip(*pairs, strict=True)
    places = np.arange(len(pairs))
    words = count_errors(hypotheses, references, places)
    assert words.distances.tolist() == [distance(h.split(), r.split()) for h, r in pairs]
    assert words.lengths.tolist() == [len(r.split()) for r in references]
    letters = count_errors(hypotheses, references, places, unit="characters")
    assert letters.distances.tolist() == [distance(h, r) for h, r in pairs]
    assert letters.lengths.tolist() == [len(r) for r in references]


def test_several_hypotheses_share_a_reference() -> None:
    errors = count_errors(["the cat", "a cat sat", "no"], ["the cat sat", "no"], np.array([0, 0, 1]))
    assert errors.distances.tolist() == [1, 1, 0]
    assert errors.lengths.tolist() == [3, 1]


def test_spaces_between_words_count_once_in_characters() -> None:
    errors = count_errors(["a   b"], ["a b"], np.array([0]), unit="characters")
    assert (errors.distances.tolist(), errors.lengths.tolist()) == ([0], [3])


def test_other_units_are_refused() -> None:
    with pytest.raises(ConfigError, match="words or characters"):
        count_errors(["a"], ["a"], np.array([0]), unit="phones")


def test_draws_are_the_same_for_all_systems() -> None:
    """A system with one error more in every group is worse by the same in every draw, whatever was drawn."""
    rng = np.random.default_rng(3)
    one = rng.integers(0, 5, 40)
    rates_DM = drawn_errors(np.stack((one, one + 1), axis=1), np.full(40, 10), rng=rng, draws=200)
    assert rates_DM.shape == (200, 2)
    assert rates_DM[:, 1] - rates_DM[:, 0] == pytest.approx(0.1)
    assert probability_better(rates_DM[:, 0], rates_DM[:, 1]) == 1.0
    assert probability_better(rates_DM[:, 0], rates_DM[:, 0]) == 0.5


def test_the_interval_is_that_of_the_binomial() -> None:
    """1,000 groups of one word, each wrong with 0.3: the rate has a standard deviation of sqrt(.21 / 1000) = 0.0145."""
    errors = (np.arange(1000) < 300).astype(np.int64)[:, None]
    drawn = drawn_errors(errors, np.ones(1000, np.int64), rng=np.random.default_rng(1), draws=4000)[:, 0]
    low, high = interval(drawn)
    assert low == pytest.approx(0.3 - 1.96 * 0.0145, abs=0.003)
    assert high == pytest.approx(0.3 + 1.96 * 0.0145, abs=0.003)


def test_without_draws_there_is_no_interval() -> None:
    drawn = drawn_errors(np.ones((3, 2), np.int64), np.ones(3, np.int64), rng=np.random.default_rng(1), draws=0)
    assert np.isnan(interval(drawn[:, 0])).all()
    assert np.isnan(probability_better(drawn[:, 0], drawn[:, 1]))
