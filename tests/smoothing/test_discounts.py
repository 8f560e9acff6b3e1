"""Discounts from counts of counts: the formulas, and the rules where small texts leave them undefined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from modlm.ground.arrays import Ints
from modlm.smoothing import SMOOTHERS
from modlm.smoothing.discounts import katz_discounts, one_discount, three_discounts
from oracle_discounts import estimate_discounts


def counts_of_counts(*n: int) -> Ints:
    """n[r] n-grams occur r times, for r = 1, 2, …"""
    return np.array([0, *n, *[0] * (8 - len(n))], dtype=np.int64)


def test_one_discount_is_the_share_of_singletons() -> None:
    table, note = one_discount(counts_of_counts(3, 1))
    assert table.tolist() == [0, 3 / (3 + 2 * 1)]
    assert note == ""


@pytest.mark.parametrize(("n", "missing"), [((), "once"), ((0, 4), "once"), ((4, 0), "twice")])
def test_one_discount_is_half_where_singletons_or_pairs_are_missing(n: tuple[int, ...], missing: str) -> None:
    table, note = one_discount(counts_of_counts(*n))
    assert table.tolist() == [0, 0.5]
    assert f"no n-gram occurs {missing}" in note


def test_three_discounts_of_chen_and_goodman() -> None:
    table, note = three_discounts(counts_of_counts(10, 4, 3, 1))
    y = 10 / (10 + 2 * 4)
    assert table == pytest.approx([0, 1 - 2 * y * 4 / 10, 2 - 3 * y * 3 / 4, 3 - 4 * y * 1 / 3])
    assert note == ""


def test_each_of_three_discounts_has_its_own_default_and_the_note_names_it() -> None:
    table, note = three_discounts(counts_of_counts(4, 2, 4, 2))  # Y = 1/2; D2 = 2 - 3/2 * 2 is negative
    assert table.tolist() == [0, 0.5, 1.0, 2.0]
    assert "n1 = 4, n2 = 2, n3 = 4, n4 = 2" in note
    assert note.endswith("D2 = 1.0")


def test_katz_takes_the_mass_of_the_singletons_and_leaves_large_counts_alone() -> None:
    n = counts_of_counts(100, 40, 22, 15, 11, 9)
    table, note = katz_discounts(n)
    assert (table[:6] * n[:6]).sum() == pytest.approx(n[1])
    assert table[6:].tolist() == [0.0]
    assert note == ""


def test_katz_says_how_far_it_could_go() -> None:
    table, note = katz_discounts(counts_of_counts(10, 4, 2, 0, 1))
    assert table == pytest.approx([0, 1 - 1 / 2, 2 - 3 / 4, 0])
    assert note == "the counts of counts allow Good-Turing discounts only up to 2"


def test_katz_takes_half_a_count_where_nothing_can_be_estimated() -> None:
    table, note = katz_discounts(counts_of_counts(10))
    assert table.tolist() == [0, 0.5]
    assert "the default discount 0.5" in note


COUNTS_OF_COUNTS = st.lists(st.integers(0, 40) | st.integers(0, 3), max_size=6)


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@given(n=COUNTS_OF_COUNTS)
@example(n=[4, 6, 16, 1])  # D2 is 0 exactly, which is accepted
@example(n=[6, 1, 2, 1])  # k = 2 makes A = 1
def test_every_table_is_the_oracles(smoothing: str, n: list[int]) -> None:
    table, note = SMOOTHERS[smoothing]().discounts(counts_of_counts(*n))
    expected = estimate_discounts(smoothing, dict(enumerate(n, start=1)))
    assert table[0] == 0
    assert table[1:] == pytest.approx([float(d) for d in expected], rel=1e-12, abs=1e-14)
    if not SMOOTHERS[smoothing].discounting:
        assert note == ""
