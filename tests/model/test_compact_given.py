"""Compact forms of models that are not determined by counts: probabilities as ranks, exact or in a few bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import modlm
from modlm.errors import ConfigError
from modlm.ground import bit_kernels
from modlm.model.compact_lm import CompactLM
from modlm.model.ngram.arpa import read_model, save_arpa
from modlm.model.ngram.compact_layout import BIG
from modlm.model.ngram.compact_making import rounded, table_of
from modlm.model.ngram_lm import NgramLM
from modlm.model.ngram_size import SETTINGS, cuts, fitted
from small_texts import TEXT_LISTS, TEXTS, counts_of, model_of

TEXT = TEXTS["random sentences"]
QUERIES = ["", "a", "a b c a b", "h g f e", "z a z", "a a a a a a"]


def same_answers(one: NgramLM, other: NgramLM) -> None:
    """Scores, distributions along texts, and which n-gram answered."""
    assert one.score_batch(QUERIES) == pytest.approx(other.score_batch(QUERIES), rel=1e-6)
    for query in QUERIES:
        words = np.array([one.vocabulary.id(word) for word in query.split()], np.uint32)
        states = [model.start() for model in (one, other)]
        for word in words:
            moved = [model.form.advance(at, np.array([word])) for model, at in zip((one, other), states, strict=True)]
            states = [new for new, _, _ in moved]
            found = zip((one, other), moved, strict=True)
            orders = [np.searchsorted(m.form.levels, n, side="right") for m, (_, n, _) in found]
            assert orders[0] == orders[1]
        rows = [model.distributions(at) for model, at in zip((one, other), states, strict=True)]
        np.testing.assert_allclose(*rows, rtol=1e-5)
        logs = [model.log_distributions(at) for model, at in zip((one, other), states, strict=True)]
        np.testing.assert_allclose(*logs, rtol=1e-5, atol=1e-6)


def bit_for_bit(one: NgramLM, other: NgramLM) -> None:
    """The fast forms."""
    for ours, theirs in zip(one.compiled.arrays, other.compiled.arrays, strict=True):
        assert ours.tobytes() == theirs.tobytes()
    assert (one.compiled.levels, one.compiled.start) == (other.compiled.levels, other.compiled.start)


@settings(max_examples=15, deadline=None)
@given(text=TEXT_LISTS, threshold=st.sampled_from([1e-9, 1e-4, 1e-2]))
def test_any_pruned_model_answers_alike_and_expands_bit_for_bit(text: list[str], threshold: float) -> None:
    pruned = model_of(text, order=4).pruned(threshold)
    small = CompactLM.of(pruned)
    same_answers(small, pruned)
    bit_for_bit(small.as_ngram(), pruned)


@pytest.mark.parametrize("edge", ["once", "repeat"])
def test_an_arpa_file_with_a_hole_goes_there_and_back(tmp_path: Path, edge: str) -> None:
    save_arpa(model_of(TEXT, order=4, edge=edge).pruned(3e-4), tmp_path / "one.arpa")
    foreign = read_model(tmp_path / "one.arpa")
    suffixes = foreign.compiled.trie.suffix[foreign.compiled.trie.nodes(4)]
    assert (suffixes < foreign.compiled.levels[3]).any(), "every suffix is there, so nothing is put in"
    CompactLM.of(foreign).save(tmp_path / "small")
    small = modlm.load(tmp_path / "small", verify="full")
    assert isinstance(small, CompactLM)
    assert small.form.levels[-1] > foreign.form.levels[-1]
    same_answers(small, foreign)
    bit_for_bit(small.as_ngram(), foreign)
    assert small.counts is None
    assert isinstance(small.resident().form, type(foreign.form))


def test_fewer_bits_cost_little_and_say_how_much(tmp_path: Path) -> None:
    foreign = model_of(TEXT, order=4).pruned(1e-6)
    small = CompactLM.of(foreign, 8)
    assert "perplexity" in small.notes[-1]
    assert small.perplexity(QUERIES).perplexity == pytest.approx(foreign.perplexity(QUERIES).perplexity, rel=0.01)
    assert CompactLM.of(foreign, 4).bytes < CompactLM.of(foreign).bytes
    with pytest.raises(ConfigError, match="Leave out the bits"):
        CompactLM.of(model_of(TEXT), 8)
    with pytest.raises(ConfigError, match="2 to 16 bits"):
        CompactLM.of(foreign, 1)


def test_a_table_keeps_what_is_special_and_comes_near_the_rest() -> None:
    values = np.concatenate(([-1.0, 0.0, 1.0], 1 / (1 + np.exp(np.random.default_rng(0).normal(5, 2, 20_000)))))
    numbers, ranks = table_of(values, 64)
    assert len(numbers) == 64
    assert np.array_equal(numbers[ranks[:3]], values[:3])
    assert np.abs(np.log(numbers[ranks[3:]] / values[3:])).mean() < 0.1
    exact, ranks = table_of(values, len(values))
    assert np.array_equal(exact[ranks], values)


def test_the_best_model_within_so_many_bytes() -> None:
    counts = counts_of(TEXT, order=3)
    whole = CompactLM.from_counts(counts)
    best, told = fitted(counts, QUERIES, whole.bytes + SETTINGS)
    assert best.order == 3 and len(told["looked_at"]) == 1
    smaller, told = fitted(counts, QUERIES, whole.bytes + SETTINGS - 8)
    fits = [look["perplexity"] for look in told["looked_at"] if "perplexity" in look]
    assert smaller.bytes <= whole.bytes - 8
    assert smaller.perplexity(QUERIES).perplexity == pytest.approx(min(fits))
    assert any(look["prune"] for look in told["looked_at"]) and any(look["prune_entropy"] for look in told["looked_at"])
    with pytest.raises(ConfigError, match="words alone"):
        fitted(counts, QUERIES, SETTINGS)


def test_cuts_drop_more_and_more_and_never_words() -> None:
    rows = np.array(cuts(4))
    assert rows[:5].tolist() == [[0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 1, 2], [0, 1, 2, 2]]
    assert (np.diff(rows, axis=0) >= 0).all() and (np.diff(rows, axis=1) >= 0).all() and (rows[:, 0] == 0).all()


def test_from_counts_it_is_the_model_that_the_fast_form_makes() -> None:
    counts = counts_of(TEXT, order=4)
    one, other = CompactLM.from_counts(counts), CompactLM.of(NgramLM.from_counts(counts))
    assert np.array_equal(one.form.data, other.form.data)
    assert np.array_equal(one.form.unigrams, other.form.unigrams)
    assert one.form.fallback == other.form.fallback
    assert one.counted == other.counted


def sums_after_all(model: NgramLM) -> np.ndarray:
    """Sums after every context."""
    return model.form.distributions(np.arange(model.form.levels[-2])).sum(axis=1, dtype=np.float64)


@settings(max_examples=15, deadline=None)
@given(text=TEXT_LISTS, threshold=st.sampled_from([1e-9, 1e-4]), bits=st.sampled_from([2, 3, 8]))
def test_in_few_bits_every_context_sums_to_one(text: list[str], threshold: float, bits: int) -> None:
    small = CompactLM.of(model_of(text, order=4).pruned(threshold), bits)
    np.testing.assert_allclose(sums_after_all(small), 1.0, atol=1e-6)
    same_answers(small, small.as_ngram())


def test_in_few_bits_a_context_with_one_follower_keeps_no_backoff() -> None:
    small = CompactLM.of(model_of(TEXT, order=4).pruned(1e-6), 4).form
    first = small.trie().first.astype(int)
    for order in (3, 4):
        alone = np.diff(first[small.levels[order - 1] : small.levels[order] + 1]) < 2
        flags = [bit_kernels.bit(small.data, small.table[order, BIG], i) for i in range(len(alone))]
        assert alone.any() and np.array_equal(~np.array(flags), alone)


def test_a_file_that_does_not_sum_to_one_keeps_its_sums(tmp_path: Path) -> None:
    save_arpa(model_of(TEXT, order=4).pruned(3e-4), tmp_path / "one.arpa")
    lines = (tmp_path / "one.arpa").read_text().splitlines()
    at = lines.index("\\2-grams:") + 1
    lines[at] = "-3" + lines[at][lines[at].index("\t") :]  # its context now lacks what this n-gram had
    (tmp_path / "one.arpa").write_text("\n".join(lines) + "\n")
    foreign = read_model(tmp_path / "one.arpa")
    sums = sums_after_all(foreign)
    assert sums.min() < 0.99
    again = CompactLM.of(foreign, 4).as_ngram()
    np.testing.assert_allclose(sums_after_all(again), sums, atol=1e-6)


def test_no_context_gives_away_all_that_it_leaves_to_other_words() -> None:
    """Rounded alone, 2 and 3 quarters may come to more than 1."""
    pruned = model_of(["a b"] * 400 + ["a c"] * 100 + ["a d"] * 90 + ["b a"], order=2).pruned(1e-9)
    exact, few = pruned.compiled, rounded(pruned.compiled, 2)
    for context in range(1, exact.levels[2]):
        low, high = exact.followers(context)
        left, now = (1 - float(np.sum(one.probs_of(np.arange(low, high)))) for one in (exact, few))
        assert now >= left / 2 - 1e-9
