"""Skip n-grams are the oracle's: counts, continuation counts, columns and fallbacks of every family."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.counts.same_counts import assert_same_arrays, by_context, occurring

from modlm.counts import SkipCounts, count_text
from modlm.errors import ConfigError
from modlm.model.ngram_lm import NgramLM
from modlm.smoothing import SMOOTHERS, estimate
from modlm.text.corpus import Corpus
from oracle import Oracle
from small_texts import TEXT_LISTS, TEXTS

POSITIONS = [(2,), (4, 3, 2), (1, 2, 3), (3, 1), (7,), (2, 1, 5)]
NONE = 0xFFFFFFFF


def oracle_for(text: list[str], positions: tuple[int, ...], smoothing: str = "absolute") -> Oracle:
    return Oracle([sentence.split() for sentence in text], positions=positions, smoothing=smoothing)


@pytest.mark.parametrize("positions", POSITIONS, ids=str)
@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_counts_are_the_oracles(text: list[str], positions: tuple[int, ...]) -> None:
    counts = count_text(text, positions=positions)
    assert isinstance(counts, SkipCounts)
    for family, own in (("absolute", counts), ("kneser-ney", counts.continuation())):
        oracle = oracle_for(text, positions, family)
        for order in oracle.orders:
            assert occurring(own, order) == dict(oracle.counts[order])
            sums = {c: (oracle.total(order, c), oracle.followers(order, c)) for c in oracle.after[order]}
            assert by_context(own, order) == sums


@given(TEXT_LISTS, st.lists(st.integers(1, 6), min_size=1, max_size=4, unique=True), st.sampled_from(sorted(SMOOTHERS)))
def test_columns_and_fallbacks_are_the_oracles(text: list[str], positions: list[int], family: str) -> None:
    if tuple(positions) == tuple(range(len(positions), 0, -1)):
        return
    half = text[: len(text) // 2 + 1]
    oracle = oracle_for(half, tuple(positions), family)
    counts = count_text(half, positions=positions)
    made = estimate(SMOOTHERS[family](), counts)
    ids = Corpus.from_text(text, counts.vocabulary).ids
    contexts_TN, nodes_TN = made.counts.walk(ids)
    predictions = iter(oracle.predictions([sentence.split() for sentence in text]))
    for t in np.flatnonzero(ids != counts.vocabulary.start):
        window, word = next(predictions)
        for n in oracle.orders:
            context = oracle.context(n, window)
            seen = contexts_TN[t, n - 1] != NONE
            place = int(contexts_TN[t, n - 1]) - counts.layer(n).low
            kept = float(made.sums(n).kept[place]) if seen else 0.0
            assert math.isclose(kept, oracle.kept(n, context), abs_tol=1e-9)
            if kept <= 0:
                continue
            r, table = int(made.counts.frequencies[nodes_TN[t, n - 1]]), made.discounts[n - 1]
            column = (r - table[min(r, len(table) - 1)]) / kept if r else 0.0
            assert math.isclose(column, oracle.column(n, context, word), abs_tol=1e-9)
            if family != "good-turing":
                assert math.isclose(made.fallback(made.sums(n))[place], oracle.fallback(n, context), abs_tol=1e-9)


def test_positions_of_the_previous_words_are_plain_counts_with_a_repeated_edge() -> None:
    text = TEXTS["random sentences"]
    assert_same_arrays(count_text(text, positions=(3, 2, 1)), count_text(text, order=4, edge="repeat"))


def test_skip_ngrams_are_not_mistaken_for_plain_ones() -> None:
    """In the authors' program (w_{i-2}, w_i) and (w_{i-3}, w_{i-2}) shared a key."""
    counts = count_text(["a b c"], positions=(3, 2))
    assert occurring(counts, 2) == {("<s>", "a"): 1, ("<s>", "b"): 1, ("a", "c"): 1, ("b", "</s>"): 1}
    contexts_TN, nodes_TN = counts.walk(np.array([NONE, *counts.vocabulary.encode("a c b"), 1], dtype=np.uint32))
    assert contexts_TN[4, 2] == NONE and nodes_TN[4, 2] == 0  # a c was never seen three and two words back
    assert counts.of("a c") == 1 and counts.of("c") == 1 and counts.of("b a") == 0 and counts.of("a b c d") == 0


def test_what_stands_before_a_window_is_not_known() -> None:
    counts = count_text(["a b c d"], positions=(4, 2))
    known = counts.walk(Corpus.from_text(["a b c d"], counts.vocabulary).ids)
    cut_out = counts.walk(np.array([NONE, *counts.vocabulary.encode("a b c d")], dtype=np.uint32))
    assert (known[0][1:5] != NONE).all()
    assert (cut_out[0][1:] != NONE).tolist() == [[True, False, False]] * 2 + [[True, True, False]] * 2


def test_the_farthest_position_is_the_context_length() -> None:
    assert count_text(["a"], positions=(2, 6, 3)).context_length == 6


def test_no_positions_are_unigrams() -> None:
    assert_same_arrays(count_text(["a b"], positions=()), count_text(["a b"], order=1, edge="repeat"))


WRONG = {
    (0,): "between 1",
    (2, -1): "between 1",
    (10**9,): "between 1",
    (2, 2): "can be used once",
    tuple(range(2, 40)): "up to 15 context positions",
}


@pytest.mark.parametrize("positions", WRONG, ids=str)
def test_positions_that_make_no_sense(positions: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match=WRONG[positions]):
        count_text(["a"], positions=positions)


def test_the_order_is_that_of_the_positions() -> None:
    with pytest.raises(ConfigError, match="2 positions make the order 3, but order is 5"):
        count_text(["a"], positions=(3, 2), order=5)


def test_skip_ngrams_are_counted_in_memory() -> None:
    with pytest.raises(ConfigError, match="Leave out the memory limit"):
        count_text(["a"], positions=(3, 2), memory="1GB")


def test_skip_ngrams_have_no_compiled_form() -> None:
    with pytest.raises(ConfigError, match="block of a mixture"):
        NgramLM.from_counts(count_text(["a b c"], positions=(3, 2)))
