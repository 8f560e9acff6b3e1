"""The compact form: the same model as the fast one, from bits, and back again bit for bit."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import modlm
from modlm.errors import ConfigError
from modlm.ground import bit_kernels
from modlm.model.compact_lm import CompactLM, in_form
from modlm.model.ngram.arpa import save_arpa
from modlm.model.ngram.readable_counts import counts_at
from modlm.model.ngram_lm import NgramLM
from modlm.smoothing import SMOOTHERS
from small_texts import TEXT_LISTS, TEXTS, model_of

TEXT = TEXTS["random sentences"]
QUERIES = ["", "a", "a b c a b", "h g f e", "z a z", "a a a a a a"]


def same(one: NgramLM, other: NgramLM) -> None:
    """Bit for bit, with the counts."""
    for ours, theirs in zip(one.compiled.arrays, other.compiled.arrays, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.tobytes() == theirs.tobytes()
    assert (one.compiled.levels, one.compiled.start) == (other.compiled.levels, other.compiled.start)
    assert one.settings == other.settings
    assert one.counts is not None
    assert other.counts is not None
    for name, array in one.counts.arrays().items():
        assert np.array_equal(array, other.counts.arrays()[name]), name


def answers_alike(fast: NgramLM, small: NgramLM) -> None:
    """Scores, states, distributions and columns."""
    assert small.score_batch(QUERIES) == pytest.approx(fast.score_batch(QUERIES), rel=1e-6)
    states, words = np.arange(fast.compiled.contexts), np.random.default_rng(0).integers(0, len(fast.vocabulary), 9)
    states = np.unique(fast.advance(states, np.resize(words, len(states)).astype(np.uint32))[0])
    for word in words.tolist():
        ours, theirs = (model.advance(states, np.full(len(states), word, np.uint32)) for model in (small, fast))
        assert np.array_equal(ours[0], theirs[0])
        np.testing.assert_allclose(ours[1], theirs[1], rtol=2e-6, atol=1e-6)
    np.testing.assert_allclose(small.distributions(states), fast.distributions(states), rtol=2e-6)
    for query in QUERIES:
        for ours, theirs in zip(small.explain(query), fast.explain(query), strict=True):
            assert ours.weights == pytest.approx(theirs.weights, rel=1e-5, abs=1e-6)
            assert ours.shares == pytest.approx(theirs.shares, abs=1e-5)


@pytest.mark.parametrize("edge", ["once", "repeat"])
@pytest.mark.parametrize("smoothing", SMOOTHERS.own)
@pytest.mark.parametrize("order", [1, 2, 4])
def test_every_family_answers_alike_and_expands_bit_for_bit(
    tmp_path: Path, smoothing: str, edge: str, order: int
) -> None:
    fast = model_of(TEXT, order=order, edge=edge, smoothing=smoothing)
    CompactLM.of(fast).save(tmp_path / "small")
    small = modlm.load(tmp_path / "small", verify="full")
    assert isinstance(small, CompactLM)
    answers_alike(fast, small)
    same(small.as_ngram(), fast)


@settings(max_examples=40, deadline=None)
@given(text=TEXT_LISTS)
def test_any_text(text: list[str]) -> None:
    fast = model_of(text, order=4)
    small = CompactLM.of(fast)
    answers_alike(fast, small)
    same(small.as_ngram(), fast)


def test_large_counts_and_contexts_with_many_followers() -> None:
    rng = np.random.default_rng(3)
    words = [f"w{int(number)}" for number in rng.zipf(1.3, 60_000) if number < 2000]
    text = [" ".join(words[at : at + 9]) for at in range(0, len(words), 9)] + ["w1 w2 w3"] * 70_000
    fast = NgramLM.fit(text, 3)
    small = CompactLM.of(fast)
    assert small.form.table[2:, 5].any()  # sums are kept
    same(small.as_ngram(), fast)
    assert small.score_batch(text[:2000]) == pytest.approx(fast.score_batch(text[:2000]), rel=1e-6)
    np.testing.assert_allclose(small.next_distribution("w1"), fast.next_distribution("w1"), rtol=2e-6)


def test_a_small_folder_does_what_models_do(tmp_path: Path) -> None:
    fast = NgramLM.fit(TEXT, 4, spelling=True)
    small = in_form(fast, "compact")
    small.save(tmp_path / "small")
    small = modlm.load(tmp_path / "small")
    assert isinstance(small, CompactLM)
    assert small.described()["form"] == "compact"
    assert small.spelling is not None
    assert small.perplexity(["a q b"]).perplexity == pytest.approx(fast.perplexity(["a q b"]).perplexity, rel=1e-6)
    assert in_form(small, "compact") is small
    assert type(in_form(small, "fast")) is NgramLM
    assert type(modlm.load(tmp_path / "small", resident=True)) is NgramLM
    for model in (small, CompactLM.of(fast)):
        assert pickle.loads(pickle.dumps(model)).score("a b") == pytest.approx(fast.score("a b"))
    assert np.array_equal(counts_at(tmp_path / "small").frequencies, fast.counts.frequencies)  # type: ignore[union-attr]
    save_arpa(small, tmp_path / "small.arpa")
    save_arpa(fast, tmp_path / "fast.arpa")
    assert (tmp_path / "small.arpa").read_bytes() == (tmp_path / "fast.arpa").read_bytes()
    again = NgramLM.fit([tmp_path / "small"])
    same(again, NgramLM.fit(TEXT, 4))
    mixed = small.as_mixture()
    assert mixed.score("a b c") == pytest.approx(fast.score("a b c"), rel=1e-5)


def test_what_has_no_compact_form_says_so() -> None:
    with pytest.raises(ConfigError, match="Only n-gram models"):
        in_form(model_of(TEXT).as_mixture(), "compact")
    with pytest.raises(ConfigError, match="Known: fast, compact"):
        in_form(model_of(TEXT), "tiny")


def test_bits_in_lines() -> None:
    rng = np.random.default_rng(1)
    for size, share in ((1, 1.0), (448, 0.5), (449, 0.0), (5000, 0.01), (5000, 0.99), (20_000, 0.5)):
        bits = rng.random(size) < share
        plain = np.zeros(size // 64 + 1, np.uint64)
        packed = np.packbits(bits, bitorder="little")
        plain.view(np.uint8)[: len(packed)] = packed
        data = np.concatenate((np.zeros(1, np.uint64), bit_kernels.lines_of(plain, size, int(bits.sum()), 1)))
        assert bit_kernels.sound(data, 1, size)
        assert not bit_kernels.sound(data[: 4 + 8 * int(data[2])], 1, size)  # a number of the last line is missing
        assert [bit_kernels.ones_before(data, 1, i) for i in range(size)] == (np.cumsum(bits) - bits).tolist()
        for flip, places in ((0, np.flatnonzero(bits)), (1, np.flatnonzero(~bits))):
            assert [bit_kernels.place_of(data, 1, i, flip) for i in range(len(places))] == places.tolist()
            assert bit_kernels.place_of(data, 1, size + 500, flip) == size
