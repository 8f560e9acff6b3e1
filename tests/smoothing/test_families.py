"""Each family by hand on one small text, and all of them against exact fractions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from modlm.smoothing import SMOOTHERS, Estimates, estimate
from oracle import FAMILIES
from small_texts import EDGES, TEXTS, counts_of, oracle_of

# Bigrams: <s> a 3, a b 2, b </s> 2, a c 1, c </s> 1. After a: b b c, so c(a) = 3 and u(a) = 2.
# Unigrams: a 3, </s> 3, b 2, c 1; different words before each: a 1, b 1, c 1, </s> 2.
FEW = ["a b", "a b", "a c"]


def estimates(smoothing: str, *, order: int = 2) -> Estimates:
    return estimate(SMOOTHERS[smoothing](), counts_of(FEW, order=order))


class After(NamedTuple):
    """The sums of one context."""

    total: float
    followers: float
    kept: float
    fallback: float


def after(smoothing: str, context: str) -> After:
    """The sums of one context of order 2, a word."""
    made = estimates(smoothing)
    sums, place = made.sums(2), made.counts.node(made.counts.vocabulary.encode(context).tolist()) - 1
    return After(*(float(values[place]) for values in (sums.total, sums.followers, sums.kept, made.fallback(sums))))


def test_the_table_holds_every_family_of_the_oracle() -> None:
    assert set(SMOOTHERS) == set(FAMILIES)
    assert [member.name for member in SMOOTHERS.values()] == list(SMOOTHERS)


def test_maximum_likelihood_never_falls_through_a_seen_context() -> None:
    assert after("maximum-likelihood", "a") == (3, 2, 3, 0)


def test_witten_bell_falls_through_in_proportion_to_distinct_followers() -> None:
    assert after("witten-bell", "a").fallback == pytest.approx(2 / (3 + 2))


def test_absolute_discounting_falls_through_with_what_it_took() -> None:
    sums = after("absolute", "a")  # n1 = n2 = 2, so d = 1/3
    assert sums.kept == pytest.approx(3 - 2 / 3)
    assert sums.fallback == pytest.approx(2 / 3 / 3)


def test_modified_discounting_takes_more_from_larger_counts() -> None:
    sums = after("modified-absolute", "a")  # D1 = 1/3 from c, D2 = 3/2 from b
    assert sums.fallback == pytest.approx((1 / 3 + 3 / 2) / 3)


def test_good_turing_falls_through_even_where_no_count_is_discounted() -> None:
    counts = counts_of(["a b"] * 4, order=2)
    made = estimate(SMOOTHERS["good-turing"](), counts, discounts=[[0.5, 0.5, 0.0]])
    sums = made.sums(2)
    place = counts.node(counts.vocabulary.encode("a").tolist()) - 1
    assert sums.kept[place] == sums.total[place] == 4
    assert made.fallback(sums)[place] == pytest.approx(1 / (4 + 1))


@pytest.mark.parametrize("smoothing", ["kneser-ney", "modified-kneser-ney"])
def test_kneser_ney_counts_different_left_neighbours_below_the_highest_order(smoothing: str) -> None:
    made = estimates(smoothing)
    assert made.counts.of("a") == made.counts.of("b") == made.counts.of("c") == 1
    assert made.counts.of("</s>") == 2
    assert made.counts.of("a b") == 2
    assert made.sums(1).total.tolist() == [5.0]


@pytest.mark.parametrize("smoothing", SMOOTHERS)
def test_a_context_that_was_never_seen_falls_through_wholly(smoothing: str) -> None:
    assert after(smoothing, "</s>") == (0, 0, 0, 1)


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("name", TEXTS)
def test_sums_and_fallbacks_of_all_contexts_are_the_oracles(smoothing: str, edge: str, name: str) -> None:
    made = estimate(SMOOTHERS[smoothing](), counts_of(TEXTS[name], order=4, edge=edge))
    oracle = oracle_of(TEXTS[name], order=4, edge=edge, smoothing=smoothing)
    for n in oracle.orders:
        sums, vocabulary = made.sums(n), made.counts.vocabulary
        contexts = np.zeros((1, 0), dtype=np.uint32) if n == 1 else made.counts.trie.ngrams(n - 1)
        assert {tuple(vocabulary.decode(row)) for row in contexts} >= {c for c in oracle.after[n] if c is not None}
        for i, row in enumerate(contexts):
            context = tuple(vocabulary.decode(row))
            assert sums.total[i] == oracle.total(n, context)
            assert sums.followers[i] == oracle.followers(n, context)
            assert sums.kept[i] == pytest.approx(float(oracle.kept(n, context)), rel=1e-12)
            assert made.fallback(sums)[i] == pytest.approx(float(oracle.fallback(n, context)), rel=1e-12, abs=1e-15)
