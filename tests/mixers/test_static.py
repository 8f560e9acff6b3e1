"""Static weights by EM: over orders, over models, and over both."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from modlm.blocks import NgramBlock, UniformBlock
from modlm.blocks.block import Block, ColumnLayout
from modlm.blocks.model import ModelBlock
from modlm.errors import ConfigError, EstimationError
from modlm.ground.arrays import Floats
from modlm.mixers import StaticMixer, expectation_maximisation
from modlm.model.mixture import Mixture
from modlm.smoothing import SMOOTHERS, estimate
from modlm.text import Vocabulary
from oracle import static_weights
from small_texts import TEXTS, counts_of, flat_ids, model_of, oracle_of

TEXT = TEXTS["random sentences"]
TUNING = ["a b c", "a a", "d a b", "z", "b b a c", ""]


STEPS = 60


def tuned(vocabulary: Vocabulary, blocks: Mapping[str, Block], ids: np.ndarray) -> tuple[Mixture, list[float]]:
    """The mixture with weights tuned on a text, and the mean log-likelihoods before each step and after the last."""
    equal = np.full(len(ColumnLayout(blocks)), 1 / len(ColumnLayout(blocks)))
    probs_TK = Mixture(vocabulary, blocks, StaticMixer(equal)).rows(ids).probs_TK[ids != vocabulary.start]
    weights, history = expectation_maximisation(probs_TK, steps=STEPS, tolerance=-math.inf)
    mixture = Mixture(vocabulary, blocks, StaticMixer(weights))
    return mixture, [*history, float(mixture.log_probs(ids)[ids != vocabulary.start].mean())]


def test_one_step_gives_each_column_the_share_that_it_explains() -> None:
    weights, _ = expectation_maximisation(np.array([[1.0, 0], [1, 0], [0, 1], [1, 0]]), steps=1)
    assert weights == pytest.approx([3 / 4, 1 / 4])


def test_the_history_is_the_mean_log_likelihood_before_each_step() -> None:
    _, history = expectation_maximisation(np.array([[0.5, 0.25]]), steps=2)
    assert history == pytest.approx([math.log(3 / 8), math.log(2 / 3 * 0.5 + 1 / 3 * 0.25)])


PROBABILITIES = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 12), st.integers(1, 5)), elements=st.floats(0, 1) | st.just(0.0)
)


@given(PROBABILITIES.filter(lambda table: (table > 1e-6).any(axis=1).any()))
def test_every_step_raises_the_likelihood_and_weights_stay_weights(probs_TK: Floats) -> None:
    probs_TK = np.where(probs_TK > 1e-6, probs_TK, 0.0)
    weights, history = expectation_maximisation(probs_TK, steps=30)
    assert weights.sum() == pytest.approx(1)
    assert weights.min() >= 0
    assert all(later >= earlier - 1e-12 for earlier, later in pairwise(history))


@given(PROBABILITIES.filter(lambda table: (table > 1e-6).any(axis=1).any()), st.integers(1, 8))
def test_the_weights_are_the_oracles(probs_TK: Floats, steps: int) -> None:
    probs_TK = np.where(probs_TK > 1e-6, probs_TK, 0.0)
    weights, _ = expectation_maximisation(probs_TK, steps=steps, tolerance=-math.inf)
    assert weights == pytest.approx(static_weights(probs_TK.tolist(), steps=steps), rel=1e-9, abs=1e-12)


def test_known_weights_are_recovered_from_what_they_generate() -> None:
    # Words drawn from two known distributions, 7 to 3, and a third that generates nothing.
    columns_JK = np.array([[0.7, 0.1, 0.25], [0.1, 0.1, 0.25], [0.1, 0.1, 0.25], [0.1, 0.7, 0.25]])
    truth = np.array([0.7, 0.3, 0.0])
    words = np.random.default_rng(5).choice(4, size=40_000, p=columns_JK @ truth)
    weights, history = expectation_maximisation(columns_JK[words], steps=200)
    mixed = columns_JK @ weights
    assert mixed == pytest.approx(columns_JK @ truth, abs=0.01)
    assert history == sorted(history)
    two, _ = expectation_maximisation(columns_JK[words][:, :2], steps=200)
    assert two == pytest.approx(truth[:2], abs=0.01)


def test_words_that_no_column_explains_do_not_count() -> None:
    with_impossible = np.array([[0.5, 0.1], [0.0, 0.0], [0.2, 0.3]])
    expected, history = expectation_maximisation(with_impossible[[0, 2]], steps=5)
    found, found_history = expectation_maximisation(with_impossible, steps=5)
    assert found.tolist() == expected.tolist()
    assert found_history == history


def test_a_text_without_any_possible_word_is_an_error() -> None:
    with pytest.raises(EstimationError, match="right text"):
        expectation_maximisation(np.zeros((3, 2)))


def test_it_ends_when_nothing_is_gained() -> None:
    _, history = expectation_maximisation(np.array([[0.5, 0.5], [0.1, 0.1]]))
    assert len(history) == 2


@pytest.mark.parametrize("smoothing", SMOOTHERS)
def test_over_orders_the_weights_are_the_oracles(smoothing: str) -> None:
    counts = counts_of(TEXT, order=3, vocabulary=list("abcd"))
    oracle = oracle_of(TEXT, order=3, smoothing=smoothing, vocabulary=list("abcd"))
    blocks: dict[str, Block] = {
        "ngram": NgramBlock(estimate(SMOOTHERS[smoothing](), counts)),
        "uniform": UniformBlock(counts.vocabulary),
    }
    ids = flat_ids(counts, TUNING)
    mixture, history = tuned(counts.vocabulary, blocks, ids)
    rows = oracle.rows([sentence.split() for sentence in TUNING])
    weights_K = mixture.mixer.weights(np.zeros((1, mixture.layout.features)))[0]
    assert weights_K == pytest.approx(static_weights(rows, steps=STEPS), rel=1e-9, abs=1e-12)
    assert history == sorted(history)


def test_over_models_and_over_models_and_orders_more_columns_never_do_worse() -> None:
    counts = counts_of(TEXT, order=2)
    vocabulary = counts.vocabulary
    ids = flat_ids(counts, TUNING)
    other = model_of(TUNING[:3], order=3, smoothing="witten-bell")  # another vocabulary
    models: dict[str, Block] = {
        "large": ModelBlock(model_of(TEXT, order=3), vocabulary),
        "near": ModelBlock(other, vocabulary),
    }
    both = models | {
        "ngram": NgramBlock(estimate(SMOOTHERS["absolute"](), counts)),
        "uniform": UniformBlock(vocabulary),
    }
    over_models, history_models = tuned(vocabulary, models, ids)
    over_both, history_both = tuned(vocabulary, both, ids)
    alone = [np.log(block.rows(ids).probs_TK[ids != vocabulary.start, 0]).mean() for block in models.values()]
    assert history_models[-1] >= max(alone) - 1e-3
    assert history_both[-1] >= history_models[-1] - 1e-3
    for mixture in (over_models, over_both):
        for context in ("", "a", "a b", "z"):
            assert mixture.next_distribution(context).sum() == pytest.approx(1)


@pytest.mark.parametrize("weights", [[0.5, 0.6], [1.5, -0.5], [math.nan, 1.0], [[0.5, 0.5]], [], [math.inf, 0.0]])
def test_weights_that_are_none_are_refused(weights: list[float]) -> None:
    with pytest.raises(ConfigError, match="must sum to 1"):
        StaticMixer(np.array(weights))


def test_weights_with_rounding_errors_are_made_exact() -> None:
    mixer = StaticMixer(np.array([0.3333333, 0.6666666]))
    assert mixer.weights_K.sum() == pytest.approx(1, abs=1e-15)
    assert mixer.weights(np.zeros((4, 0))).shape == (4, 2)
