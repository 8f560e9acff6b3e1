"""Estimates: what is said about replaced discounts, and what users may give instead."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from modlm.errors import ConfigError
from modlm.smoothing import SMOOTHERS, estimate
from small_texts import TEXTS, counts_of, model_of, oracle_of

FEW = ["a b", "a b", "a c"]  # bigrams: <s> a 3, a b 2, b </s> 2, a c 1, c </s> 1


def test_a_replaced_discount_is_told_once_with_its_order_and_reason(caplog: pytest.LogCaptureFixture) -> None:
    # order 2: n1 = n2 = 2, so d = 1/3; order 1 (different left neighbours): a 1, b 1, c 1, </s> 2, so d = 3/5
    with caplog.at_level(logging.WARNING, logger="modlm"):
        assert estimate(SMOOTHERS["kneser-ney"](), counts_of(FEW, order=2)).notes == ()
        assert caplog.messages == []
        model = model_of(["a b c"] * 9, order=2, smoothing="kneser-ney")  # every bigram 9 times, every word after one
        model.as_mixture()
        model.next_words("a")
        model.explain("a b")
    expected = [
        "order 1: no n-gram occurs twice; the default discount 0.5 is used",
        "order 2: no n-gram occurs once; the default discount 0.5 is used",
    ]
    assert list(model.notes) == expected
    assert caplog.messages == [f"kneser-ney, {note}" for note in expected]


def test_the_note_of_modified_discounts_shows_the_counts_of_counts() -> None:
    notes = estimate(SMOOTHERS["modified-kneser-ney"](), counts_of(FEW, order=2)).notes
    assert len(notes) == 2
    assert notes[0].startswith("order 1: the counts of counts (n1 = 3, n2 = 1, n3 = 0, n4 = 0) do not determine")
    assert notes[0].endswith("D2 = 1.0, D3+ = 1.5")
    assert notes[1].endswith("defaults are used: D3+ = 1.5")  # D1 = 1/3 and D2 = 3/2 are estimated


@pytest.mark.parametrize("smoothing", ["maximum-likelihood", "witten-bell"])
def test_families_without_discounts_have_nothing_to_tell(smoothing: str) -> None:
    assert model_of(["a"], smoothing=smoothing).notes == ()


@pytest.mark.parametrize(
    "smoothing", ["good-turing", "absolute", "modified-absolute", "kneser-ney", "modified-kneser-ney"]
)
@pytest.mark.parametrize("discounts", [[[0.25]], [[0.5, 1.0, 1.5]], [[0.1], [0.2, 0.3], [0.4, 0.5, 0.0]]])
def test_given_discounts_replace_the_estimates_silently(
    smoothing: str, discounts: Sequence[Sequence[float]], caplog: pytest.LogCaptureFixture
) -> None:
    text = TEXTS["random sentences"]
    model = model_of(text, smoothing=smoothing, discounts=discounts)
    oracle = oracle_of(text, smoothing=smoothing, discounts=discounts)
    assert caplog.messages == []
    assert model.notes == ()
    for context in ("", "a", "a b", "z"):
        expected = oracle.distribution(context.split())
        row = model.next_distribution(context)
        assert row == pytest.approx([float(expected[word]) for word in model.vocabulary.words], rel=1e-12)


@pytest.mark.parametrize(
    ("discounts", "message"),
    [
        ([], "one list, or one for each of the 3 orders, but has 0"),
        ([[0.5], [0.5]], "one list, or one for each of the 3 orders, but has 2"),
        ([[0.5]] * 4, "one list, or one for each of the 3 orders, but has 4"),
        ([[]], "must not be empty"),
        ([[-0.1]], "discount of a count of 1 must be at least 0 and less than 1, but is -0.1"),
        ([[1.0]], "discount of a count of 1 must be at least 0 and less than 1, but is 1.0"),
        ([[0.5, 2.0]], "discount of a count of 2 must be at least 0 and less than 2, but is 2.0"),
        ([[0.5], [0.5], [0.5, 1.0, 3.5]], "discount of a count of 3 must be at least 0 and less than 3, but is 3.5"),
        ([[float("nan")]], "but is nan"),
        ([0.5, 1.0, 1.5], "for each order a list"),
        ("0.5", "for each order a list"),
    ],
)
def test_discounts_that_cannot_be_are_refused(discounts: Sequence[Sequence[float]], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        model_of(FEW, order=3, discounts=discounts)


@pytest.mark.parametrize("smoothing", ["maximum-likelihood", "witten-bell"])
def test_families_that_take_nothing_refuse_discounts(smoothing: str) -> None:
    with pytest.raises(ConfigError, match=f"{smoothing} takes nothing from counts"):
        model_of(FEW, smoothing=smoothing, discounts=[[0.5]])


def test_an_unknown_family_names_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'kneser-ney'"):
        model_of(FEW, smoothing="knesser-ney")
