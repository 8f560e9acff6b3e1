"""The oracle against numbers worked out by hand, and against what KenLM's `lmplz` made of the golden text."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from oracle import FAMILIES, START, Gram, Oracle, estimate_discounts, static_weights, vocabulary_of

F = Fraction
GOLDEN = Path(__file__).parent / "golden"
SMALL = [line.split() for line in (GOLDEN / "small.txt").read_text().splitlines()]

# Three sentences, J = 5 (a b c </s> <unk>). Bigrams: <s> a 3, a b 2, b </s> 2, a c 1, c </s> 1.
# Unigrams: a 3, </s> 3, b 2, c 1; distinct words before each: a 1, b 1, c 1, </s> 2.
TEXT = [["a", "b"], ["a", "b"], ["a", "c"]]


# Counts


def test_one_start_symbol_is_counted_as_context_only() -> None:
    raw = Oracle([["a", "b"]], order=3, edge="once").raw
    assert raw[1] == {("a",): 1, ("b",): 1, ("</s>",): 1}
    assert raw[2] == {("<s>", "a"): 1, ("a", "b"): 1, ("b", "</s>"): 1}
    assert raw[3] == {("<s>", "a", "b"): 1, ("a", "b", "</s>"): 1}


def test_repeated_start_symbols_give_every_position_one_ngram_per_order() -> None:
    raw = Oracle([["a", "b"]], order=3, edge="repeat").raw
    assert raw[3] == {("<s>", "<s>", "a"): 1, ("<s>", "a", "b"): 1, ("a", "b", "</s>"): 1}
    assert [sum(raw[n].values()) for n in (1, 2, 3)] == [3, 3, 3]


def test_skip_positions_leave_out_the_nearest_words() -> None:
    oracle = Oracle([["a", "b", "c"]], positions=(3, 2))
    assert oracle.raw[2] == {("<s>", "a"): 1, ("<s>", "b"): 1, ("a", "c"): 1, ("b", "</s>"): 1}
    assert oracle.raw[3] == {
        ("<s>", "<s>", "a"): 1,
        ("<s>", "<s>", "b"): 1,
        ("<s>", "a", "c"): 1,
        ("a", "b", "</s>"): 1,
    }
    assert oracle.context(3, oracle.window(["a", "b", "c"])) == ("a", "b")  # before </s>, c is position 1


def test_the_odd_chain_of_positions_grows_from_the_last_listed() -> None:
    oracle = Oracle([["a", "b", "c"]], positions=(1, 2))
    assert ("a", "c") in oracle.raw[2]
    assert ("b", "a", "c") in oracle.raw[3]


def test_contiguous_positions_are_the_repeated_edge() -> None:
    skip, repeat = Oracle(TEXT, positions=(3, 2, 1)), Oracle(TEXT, order=4, edge="repeat")
    assert skip.counts == repeat.counts
    assert skip.distribution(["a"]) == repeat.distribution(["a"])


def test_lower_orders_count_distinct_left_neighbours() -> None:
    counts = Oracle(TEXT, order=2).counts
    assert counts[1] == {("a",): 1, ("b",): 1, ("c",): 1, ("</s>",): 2}
    assert counts[2] == {("<s>", "a"): 3, ("a", "b"): 2, ("a", "c"): 1, ("b", "</s>"): 2, ("c", "</s>"): 1}


def test_ngrams_that_begin_a_sentence_keep_raw_counts_only_at_the_once_edge() -> None:
    assert Oracle(TEXT, order=3, edge="once").counts[2]["<s>", "a"] == 3
    assert Oracle(TEXT, order=3, edge="repeat").counts[2]["<s>", "a"] == 1  # its one extension is <s> <s> a


def test_a_unigram_model_uses_raw_counts_in_every_family() -> None:
    for smoothing in FAMILIES:
        assert Oracle(TEXT, order=1, smoothing=smoothing).counts[1]["a",] == 3


def test_totals_followers_and_counts_of_counts() -> None:
    oracle = Oracle(TEXT, order=2)
    assert (oracle.total(1, ()), oracle.followers(1, ())) == (5, 4)  # five bigram types, four words
    assert (oracle.total(2, ("a",)), oracle.followers(2, ("a",))) == (3, 2)
    assert (oracle.total(2, ("z",)), oracle.followers(2, None)) == (0, 0)
    assert oracle.counts_of_counts(2) == {1: 2, 2: 2, 3: 1}


def test_words_outside_the_vocabulary_are_unknown() -> None:
    oracle = Oracle(TEXT, order=2, vocabulary=["a", "b"])
    assert oracle.vocabulary == ["a", "b", "</s>", "<unk>"]
    assert oracle.raw[2]["a", "<unk>"] == 1
    assert oracle.distribution(["a", "c"]) == oracle.distribution(["a", "never seen"])


# Discounts


def test_modified_discounts() -> None:
    # Y = 10 / (10 + 2*4) = 5/9
    expected = (1 - 2 * F(5, 9) * F(4, 10), 2 - 3 * F(5, 9) * F(3, 4), 3 - 4 * F(5, 9) * F(1, 3))
    assert estimate_discounts("modified-kneser-ney", {1: 10, 2: 4, 3: 3, 4: 1}) == expected


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        ({}, (F(1, 2), 1, F(3, 2))),
        ({1: 7}, (F(1, 2), 1, F(3, 2))),  # Y = 1 and D1 = 1 would lose every singleton
        ({2: 4, 3: 2, 4: 1}, (F(1, 2), 1, F(3, 2))),  # Y = 0: D1 undefined, D2 = 2, D3 = 3
        ({1: 6, 2: 3}, (F(1, 2), 1, F(3, 2))),  # Y = 1/2: D1 = 1/2 by estimate, D2 = 2, D3 undefined
        ({1: 4, 2: 2, 3: 4, 4: 2}, (F(1, 2), 1, 2)),  # Y = 1/2: D2 = 2 - 3/2 * 2 < 0; D3 = 3 - 2 * 1/2 stays
        ({1: 4, 2: 6, 3: 16, 4: 1}, (F(1, 4), 0, 3 - F(1, 16))),  # Y = 1/4: D2 = 2 - 3/4 * 16/6 = 0 is accepted
    ],
)
def test_each_impossible_discount_gets_its_own_default(n: dict[int, int], expected: tuple[F, ...]) -> None:
    assert estimate_discounts("modified-absolute", n) == expected


def test_single_discount_and_its_default() -> None:
    assert estimate_discounts("kneser-ney", {1: 3, 2: 1}) == (F(3, 5),)
    assert estimate_discounts("absolute", {1: 3}) == estimate_discounts("absolute", {2: 3}) == (F(1, 2),)


def test_good_turing_takes_exactly_the_mass_of_the_singletons() -> None:
    n = {1: 100, 2: 40, 3: 22, 4: 15, 5: 11, 6: 9}
    discounts = estimate_discounts("good-turing", n)
    assert discounts[0] == 1 - (F(80, 100) - F(54, 100)) / (1 - F(54, 100))  # A = 6*9/100
    assert sum(n[r] * discounts[r - 1] for r in range(1, 6)) == n[1]
    assert discounts[5:] == (F(0),)


def test_good_turing_lowers_its_limit_until_all_counts_shrink_and_stay_positive() -> None:
    # no count of 4: k = 2, A = 3*2/10; 1* = (4/5 - 3/5) / (2/5), 2* = 2 (3/4 - 3/5) / (2/5)
    assert estimate_discounts("good-turing", {1: 10, 2: 4, 3: 2, 5: 1}) == (1 - F(1, 2), 2 - F(3, 4), F(0))
    assert estimate_discounts("good-turing", {1: 10, 2: 4}) == estimate_discounts("good-turing", {}) == (F(1, 2),)


def test_given_discounts_replace_the_estimate_of_their_order() -> None:
    oracle = Oracle(TEXT, order=2, smoothing="kneser-ney", discounts=[None, (0.25,)])
    assert oracle.discounts == {1: (F(3, 5),), 2: (F(1, 4),)}
    assert oracle.fallback(2, ("a",)) == F(2, 4) / 3


# Columns, fallbacks and the mixture


def test_maximum_likelihood_never_falls_back_from_a_seen_context() -> None:
    oracle = Oracle(TEXT, order=2, smoothing="maximum-likelihood")
    assert oracle.distribution(["a"]) == {"a": 0, "b": F(2, 3), "c": F(1, 3), "</s>": 0, "<unk>": 0}
    assert oracle.distribution(["z"]) == {"a": F(3, 9), "b": F(2, 9), "c": F(1, 9), "</s>": F(3, 9), "<unk>": 0}


def test_witten_bell_falls_back_in_proportion_to_distinct_followers() -> None:
    oracle = Oracle(TEXT, order=2, smoothing="witten-bell")
    assert oracle.fallback(2, ("a",)) == F(2, 3 + 2)
    assert oracle.weights(["a"]) == [F(2, 5) * F(9, 13), F(3, 5), F(2, 5) * F(4, 13)]
    assert oracle.distribution(["a"])["b"] == F(3, 5) * F(2, 3) + F(2, 5) * (F(9, 13) * F(2, 9) + F(4, 13) * F(1, 5))


def test_modified_kneser_ney_by_hand() -> None:
    oracle = Oracle(TEXT, order=2)
    assert oracle.discounts[1] == (F(3, 5), F(1), F(3, 2))  # n1 = 3, n2 = 1: Y = 3/5; D2 = 2 and D3 by default
    assert oracle.discounts[2] == (F(1, 3), F(3, 2), F(3, 2))  # n = 2, 2, 1, 0: Y = 1/3; D3 = 3 by default
    unigram = (1 - F(3, 5)) / 5 + F(14, 25) * F(1, 5)  # discounted 3 * 3/5 + 1 of 5
    assert oracle.fallback(1, ()) == F(14, 25)
    assert oracle.fallback(2, ("a",)) == (F(3, 2) + F(1, 3)) / 3
    assert oracle.probability("b", ["a"]) == F(2 - F(3, 2)) / 3 + F(11, 18) * unigram == F(71, 250)


def test_absolute_discounting_by_hand() -> None:
    oracle = Oracle(TEXT, order=2, smoothing="absolute")
    assert oracle.discounts == {1: (F(1, 3),), 2: (F(1, 3),)}  # n1 = n2 = 1 and n1 = n2 = 2
    assert oracle.column(2, ("a",), "b") == F(5, 3) / F(7, 3)
    assert oracle.fallback(2, ("a",)) == F(2, 3) / 3


def test_good_turing_falls_back_even_where_nothing_is_discounted() -> None:
    # After a: b 4 times. After b: </s> 4 times. No order has the counts of counts that Katz needs, so d is given.
    oracle = Oracle([["a", "b"]] * 4, order=2, smoothing="good-turing", discounts=[(0.5, 0.5, 0.0)] * 2)
    assert oracle.fallback(2, ("a",)) == F(1, 4 + 1)
    assert oracle.column(2, ("a",), "b") == 1
    assert oracle.fallback(1, ()) == F(1, 12 + 1)
    assert oracle.probability("b", ["a"]) == F(4, 5) + F(1, 5) * (F(12, 13) * F(1, 3) + F(1, 13) * F(1, 4))


def test_good_turing_adds_nothing_where_one_follower_is_discounted() -> None:
    text = [["a", "b"]] * 4 + [["a", "c"]]
    oracle = Oracle(text, order=2, smoothing="good-turing", discounts=[(0.5, 0.5, 0.0)] * 2)
    assert oracle.fallback(2, ("a",)) == F(1, 2) / 5
    assert oracle.fallback(2, ("b",)) == F(1, 4 + 1)


def test_the_last_fallback_is_split_equally_over_the_extra_columns() -> None:
    oracle = Oracle(TEXT, order=1, smoothing="witten-bell", extra=("uniform", "unknown"))
    assert oracle.weights([]) == [F(9, 13), F(2, 13), F(2, 13)]
    assert oracle.distribution([])["<unk>"] == F(2, 13) * F(1, 5) + F(2, 13)


def test_a_window_too_short_for_an_order_leaves_that_order_unseen() -> None:
    oracle = Oracle(TEXT, order=3, smoothing="witten-bell")
    assert oracle.weights([])[2] == 0
    assert set(oracle.columns([])[2].values()) == {F(1, 5)}
    assert oracle.features([])[2] == (0, 0, 0)
    assert oracle.distribution(["a"], start=False) == Oracle(TEXT, order=2, smoothing="witten-bell").distribution(["a"])


def test_features() -> None:
    counted = (1.0, math.log(3), math.log(2))
    assert Oracle(TEXT, order=2, smoothing="witten-bell").features(["a"])[1] == counted
    assert Oracle(TEXT, order=2).features(["a"])[1] == (*counted, math.log(F(7, 6)))  # kept: 1/2 of b, 2/3 of c
    assert Oracle(TEXT, order=2).features(["z"])[1] == (0.0, 0.0, 0.0, 0.0)


def test_pruned_counts_go_to_the_fallback_and_discounts_stay() -> None:
    oracle, whole = Oracle(TEXT, order=2, prune=(0, 1)), Oracle(TEXT, order=2)
    assert oracle.discounts == whole.discounts
    assert oracle.compiled(2).keys() < whole.compiled(2).keys()
    assert oracle.column(2, ("a",), "b") == 1
    assert oracle.fallback(2, ("a",)) == 1 - F(1, 2) / 3
    assert oracle.fallback(2, ("c",)) == 1
    assert oracle.features(["a", "c"])[1] == (0, 0, 0, 0)  # all that follows c is gone


def test_held_out_counts_are_those_of_the_other_sentences() -> None:
    rest = Oracle(TEXT, order=2).held_out(range(1, 3))
    assert rest.raw[2] == {("<s>", "a"): 1, ("a", "b"): 1, ("b", "</s>"): 1}
    assert rest.vocabulary == vocabulary_of(TEXT)


@pytest.mark.parametrize("smoothing", FAMILIES)
@pytest.mark.parametrize(("edge", "positions"), [("once", None), ("repeat", None), ("repeat", (4, 2))])
def test_columns_and_weights_sum_to_one_and_the_mixture_is_the_recursion(
    smoothing: str, edge: str, positions: tuple[int, ...] | None
) -> None:
    rng = random.Random(7)
    random_text = [rng.choices("abcdefgh", [8, 6, 4, 3, 2, 1, 1, 1], k=rng.randint(0, 6)) for _ in range(30)]
    texts: list[list[list[str]]] = [random_text, [["a"] * 5], [["a", "b"]] * 9, [[]], []]
    for text in texts:
        for prune in ((0,), (0, 1, 2)):
            oracle = Oracle(
                text, vocabulary="abcdefgh", edge=edge, positions=positions, smoothing=smoothing, prune=prune
            )
            for context in ([], ["a"], ["b", "a"], ["a", "a", "z"], ["h", "c", "a", "b"]):
                assert [sum(column.values()) for column in oracle.columns(context)] == [1] * (oracle.order + 1)
                assert sum(oracle.weights(context)) == 1
                assert min(oracle.weights(context)) >= 0
                assert oracle.distribution(context) == oracle.recursion(context)


def test_the_compiled_form_answers_every_query() -> None:
    for edge in ("once", "repeat"):
        oracle = Oracle(TEXT, order=3, edge=edge)
        entries = {gram: entry for n in oracle.orders for gram, entry in oracle.compiled(n).items()}

        def query(gram: Gram, entries: dict[Gram, tuple[F, F]] = entries) -> F:
            if gram in entries:
                return entries[gram][0]
            return entries.get(gram[:-1], (F(1), F(1)))[1] * query(gram[1:])

        for window, word in oracle.predictions([["a", "c"], ["b", "z", "a", "b"]]):
            assert query((*window, word)[-3:]) == oracle.probability(word, window, start=False)


# Static weights


def test_em_gives_each_column_its_share() -> None:
    assert static_weights([(1, 0), (1, 0), (0, 1), (1, 0)], steps=1) == pytest.approx([3 / 4, 1 / 4])
    assert static_weights([(0.5, 0.25)], steps=1) == pytest.approx([2 / 3, 1 / 3])
    assert static_weights([(0.5, 0.25)], steps=60) == pytest.approx([1, 0])


def test_em_never_lowers_the_likelihood() -> None:
    rows = Oracle(SMALL[:40], smoothing="maximum-likelihood", vocabulary=vocabulary_of(SMALL)).rows(SMALL[40:50])
    table = [[float(p) for p in row] for row in rows]
    losses = []
    for steps in range(6):
        weights = static_weights(rows, steps=steps)
        losses.append(-sum(math.log(sum(w * p for w, p in zip(weights, row, strict=True))) for row in table))
    assert losses == sorted(losses, reverse=True)
    assert losses[5] < losses[0]


# KenLM's answers


def read_arpa(name: str) -> dict[int, dict[Gram, tuple[float, float]]]:
    """log10 probability and backoff of every n-gram, by order."""
    orders: dict[int, dict[Gram, tuple[float, float]]] = {}
    for line in (GOLDEN / name).read_text().splitlines():
        if line.endswith("-grams:"):
            orders[int(line[1 : line.index("-")])] = {}
        elif "\t" in line:
            probability, words, *backoff = line.split("\t")
            orders[max(orders)][tuple(words.split())] = float(probability), float(*backoff)
    return orders


def largest_difference(oracle: Oracle, name: str) -> float:
    """Over all probabilities and backoffs, in log10; both must hold the same n-grams."""
    differences = []
    for n, expected in read_arpa(name).items():
        entries = oracle.compiled(n)
        assert entries.keys() == expected.keys()
        for gram, pair in entries.items():
            differences += [abs(math.log10(ours) - theirs) for ours, theirs in zip(pair, expected[gram], strict=True)]
    return max(differences)


@pytest.mark.parametrize(
    ("name", "oracle"),
    [
        ("small.o3.arpa", Oracle(SMALL, order=3)),
        ("small.o5.arpa", Oracle(SMALL, order=5)),
        ("small.o3.prune0-1-2.arpa", Oracle(SMALL, order=3, prune=(0, 1, 2))),
    ],
)
def test_modified_kneser_ney_at_the_once_edge_is_what_lmplz_writes(name: str, oracle: Oracle) -> None:
    assert largest_difference(oracle, name) < 1e-6


def lmplz_discounts(oracle: Oracle) -> list[tuple[F, ...]]:
    """lmplz's discounts: below the highest order it enters the very last n-gram with its raw count (kenlm#405).

    Last is by suffix: the largest last word, then the largest word before it, ..., words numbered as they first appear.
    """
    words = [START, "</s>", *(word for sentence in oracle.sentences for word in sentence)]
    number = {word: i for i, word in enumerate(dict.fromkeys(words))}
    padded = Oracle(oracle.sentences, order=oracle.order, edge="repeat").raw[oracle.order]
    last = max(padded, key=lambda gram: [number[word] for word in gram[::-1]])
    discounts = []
    for n in oracle.orders:
        n_r, gram = Counter(oracle.counts_of_counts(n)), last[-n:]
        if n < oracle.order and gram in oracle.raw[n]:  # a gram with more than one <s> is none
            n_r.subtract([oracle.counts[n][gram]])
            n_r.update([oracle.raw[n][gram]])
        discounts.append(estimate_discounts(oracle.smoothing, n_r))
    return discounts


def test_reordered_sentences_move_only_the_discounts_of_lmplz() -> None:
    text = sorted(SMALL, key=lambda sentence: "suru" in sentence)  # suru: 3 times, after 2 different words
    oracle = Oracle(text)
    assert largest_difference(oracle, "small.o3.arpa") < 1e-6
    assert largest_difference(oracle, "small.o3.reordered.arpa") > 0.01
    assert largest_difference(Oracle(text, discounts=lmplz_discounts(oracle)), "small.o3.reordered.arpa") < 1e-6
