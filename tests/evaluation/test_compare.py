"""Models side by side: ratios, intervals, sign test, words that changed."""

from __future__ import annotations

import logging
import math
from itertools import product

import numpy as np
import pytest

from modlm import NgramLM
from modlm.errors import ConfigError
from modlm.evaluation import compare_models
from modlm.evaluation.compare import sign_test

RNG = np.random.default_rng(5)
SENTENCES = [" ".join(RNG.choice(list("abcdef"), 6, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05])) for _ in range(120)]
TRAIN, TEST = SENTENCES[:60], [*SENTENCES[60:], "zork a"]


@pytest.fixture(scope="module")
def models() -> list[NgramLM]:
    return [NgramLM.fit(TRAIN, order, smoothing="witten-bell") for order in (1, 3)]


def test_perplexities_and_ratio_are_those_of_the_models(models: list[NgramLM]) -> None:
    found = compare_models(models, TEST, rng=np.random.default_rng(1), draws=200)
    first, second = (model.perplexity(TEST).perplexity for model in models)
    assert [scores.perplexity for scores in found.scores] == pytest.approx([first, second])
    (difference,) = found.differences
    assert difference.ratio == pytest.approx(second / first)
    assert difference.low <= difference.ratio <= difference.high
    assert difference.better + difference.worse <= len(TEST)


def test_the_interval_is_the_same_for_the_same_generator(models: list[NgramLM]) -> None:
    runs = [compare_models(models, TEST, rng=np.random.default_rng(3), draws=50).differences for _ in range(2)]
    assert runs[0] == runs[1]


def test_a_model_does_not_differ_from_itself(models: list[NgramLM]) -> None:
    (same,) = compare_models([models[0], models[0]], TEST, rng=np.random.default_rng(1), draws=20).differences
    assert (same.ratio, same.low, same.high, same.better, same.worse, same.p_value) == (1, 1, 1, 0, 0, 1)


def test_word_changes_add_up_to_the_whole_difference(models: list[NgramLM]) -> None:
    found = compare_models(models, TEST, rng=np.random.default_rng(1), draws=0)
    gained, lost = found.changes(1, most=100)
    bits = sum(change.bits for change in (*gained, *lost))
    assert bits == pytest.approx((found.scores[0].bits - found.scores[1].bits) * len(found.word_of))
    assert all(change.bits > 0 for change in gained) and all(change.bits < 0 for change in lost)
    assert "zork" in {change.word for change in (*gained, *lost)}  # the text's own word, though no model knows it


def test_an_impossible_sentence_leaves_the_interval_open() -> None:
    proper = NgramLM.fit(["a b", "b a"], 2, smoothing="witten-bell")
    strict = NgramLM.fit(["a b", "a b"], 2, smoothing="maximum-likelihood")
    (found,) = compare_models([proper, strict], ["b a"], rng=np.random.default_rng(1), draws=10).differences
    assert math.isinf(found.ratio) and math.isnan(found.low)


@pytest.mark.parametrize(("better", "worse"), [(0, 0), (3, 0), (1, 4), (2, 2), (5, 1)])
def test_the_sign_test_counts_coins(better: int, worse: int) -> None:
    total, fewer = better + worse, min(better, worse)
    as_extreme = [min(sum(coins), total - sum(coins)) <= fewer for coins in product((0, 1), repeat=total)]
    assert sign_test(better, worse) == pytest.approx(sum(as_extreme) / len(as_extreme))


def test_one_model_is_not_compared(models: list[NgramLM]) -> None:
    with pytest.raises(ConfigError, match="two models"):
        compare_models(models[:1], TEST, rng=np.random.default_rng(1))


def test_models_with_other_words_are_told_apart_by_what_they_do_not_know(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "modlm"):
        large, small = (NgramLM.fit(TRAIN, 2, max_words=size, spelling=True) for size in (None, 2))
        caplog.clear()
        compare_models([large, large], TEST, rng=np.random.default_rng(1), draws=0)
        assert not caplog.records
        found = compare_models([large, small], TEST, rng=np.random.default_rng(1), draws=0)
    told = [f"{model.perplexity(TEST).unknown:,}" for model in (large, small)]
    assert ", ".join(told) + " are unknown" in caplog.text and "spelling=True" in caplog.text
    for scores, model in zip(found.scores, (large, small), strict=True):
        alone = model.perplexity(TEST)
        assert scores.log_likelihood == pytest.approx(alone.log_likelihood), "letters are counted here too"
        assert scores.bits_per_byte == pytest.approx(alone.bits_per_byte)
