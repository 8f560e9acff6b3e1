"""Rescoring: totals, the exact line search beside brute force, and weights that were planted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.errors import ConfigError
from modlm.evaluation.rescoring import IMPOSSIBLE, Lists, Weights, line_search, lists_of, log_probs_of, scales, tune
from small_texts import TEXTS, model_of

UNIT = np.ones(3)
LM = np.array([1.0, 0.0, 0.0])


def lists(rows: list[list[tuple[float, float]]]) -> Lists:
    """Lists of (first-pass score, log-probability), without words and ranks."""
    lengths = [len(row) for row in rows]
    flat = np.array([pair for row in rows for pair in row], dtype=np.float64).reshape(-1, 2)
    features_HF = np.stack((flat[:, 1], np.zeros(len(flat)), np.zeros(len(flat))), axis=1)
    return Lists(np.concatenate(([0], np.cumsum(lengths))), flat[:, 0], features_HF)


# ---- totals --------------------------------------------------------------------------------------------------------


def test_totals_are_first_pass_and_weighted_features() -> None:
    own = lists_of(
        ["a b", "a", "b b b"], np.array([0, 2, 3]), np.array([-1.0, -2.0, -3.0]), np.array([-4.0, -5.0, -6.0])
    )
    expected = [
        -1 + 0.5 * -4 + 0.25 * 2 - 3 * np.log(1),
        -2 + 0.5 * -5 + 0.25 * 1 - 3 * np.log(2),
        -3 + 0.5 * -6 + 0.25 * 3 - 3 * np.log(1),
    ]
    assert own.totals(Weights(0.5, 0.25, -3.0).array()) == pytest.approx(expected)


def test_the_first_of_equal_hypotheses_is_best() -> None:
    own = lists([[(-1.0, -1.0), (-1.0, -1.0)], [(-2.0, 0.0), (-1.0, 0.0), (-1.0, 0.0)]])
    assert own.best(LM).tolist() == [0, 3]


def test_log_probs_are_scores_of_the_model() -> None:
    model = model_of(TEXTS["a few sentences"])
    hypotheses = ["a b", "a c", "a b", "", "z"]
    assert log_probs_of(model, hypotheses) == pytest.approx([model.score(text) for text in hypotheses])


def test_hypotheses_without_probability_stay_finite() -> None:
    model = model_of(TEXTS["a few sentences"], smoothing="maximum-likelihood")
    found = log_probs_of(model, ["a b", "b b b z"])
    assert np.isfinite(found).all() and found[1] >= IMPOSSIBLE


def test_a_part_keeps_whole_lists() -> None:
    own = lists([[(-1.0, -1.0), (-2.0, -2.0)], [(-3.0, -3.0)], [(-4.0, -4.0), (-5.0, -5.0)]])
    part, places = own.part(np.array([True, False, True]))
    assert places.tolist() == [0, 1, 3, 4]
    assert part.starts.tolist() == [0, 2, 4]
    assert part.first_H.tolist() == [-1, -2, -4, -5]


# ---- the line search -----------------------------------------------------------------------------------------------


def test_the_search_finds_the_only_good_interval() -> None:
    """The second hypothesis wins above 1 (-1 - w < -0.5 w - 1.5), the third above 4: errors 1, 0, 1."""
    own = lists([[(-1.0, -1.0), (-1.5, -0.5), (-3.5, 0.0)]])
    found = line_search(own, np.array([1, 0, 1]), np.zeros(3), LM, UNIT)
    assert found[0] == pytest.approx((1 + 2) / 2)  # stays near the edge of an interval wider than the unit
    assert own.best(found).tolist() == [1]


NUMBERS = st.integers(-6, 6).map(float)
ROWS = st.lists(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=5), min_size=1, max_size=6)


@given(rows=ROWS, data=st.data())
def test_no_weight_on_a_fine_grid_has_fewer_errors(rows: list[list[tuple[float, float]]], data: st.DataObject) -> None:
    own = lists(rows)
    size = len(own.first_H)
    errors_H = np.array(data.draw(st.lists(st.integers(0, 4), min_size=size, max_size=size)))
    found = line_search(own, errors_H, np.zeros(3), LM, UNIT)
    grid = np.arange(0.0057, 30.0, 0.0123)  # breakpoints are fractions with small denominators: points miss them
    best = min(int(errors_H[own.best(weight * LM)].sum()) for weight in grid)
    assert int(errors_H[own.best(found)].sum()) <= best
    assert found[0] >= 0


def test_scales_make_features_as_wide_as_scores() -> None:
    own = lists([[(0.0, 0.0), (10.0, 5.0)], [(3.0, 1.0), (-7.0, 6.0)]])
    assert scales(own)[0] == pytest.approx(2.0)
    assert scales(own)[1:].tolist() == [0.0, 0.0]


# ---- tuning --------------------------------------------------------------------------------------------------------


def planted(seed: int, weights: Weights, utterances: int = 300) -> tuple[Lists, np.ndarray]:
    """Lists in which the hypothesis with the highest total under the planted weights has no error, others have."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, utterances)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    features_HF = rng.normal(size=(starts[-1], 3)) * [20.0, 2.0, 1.0]
    own = Lists(starts, rng.normal(size=starts[-1]) * 30.0, features_HF)
    errors_H = rng.integers(1, 4, starts[-1])
    errors_H[own.best(weights.array())] = 0
    return own, errors_H


@pytest.mark.parametrize("seed", range(3))
def test_planted_weights_are_found(seed: int) -> None:
    own, errors_H = planted(seed, Weights(1.3, -4.0))
    found, errors = tune(own, errors_H, Weights(1.0), ["lm_weight", "word_penalty"], rng=np.random.default_rng(7))
    assert errors <= 3  # of about 400 at the start; the optimum is 0
    assert errors == errors_H[own.best(found.array())].sum()
    assert (found.lm_weight, found.word_penalty) == pytest.approx((1.3, -4.0), rel=0.15)
    assert found.rank_weight == 0.0


def test_the_same_seed_gives_the_same_weights() -> None:
    own, errors_H = planted(5, Weights(0.7, 2.0, -9.0))
    free = ["lm_weight", "word_penalty", "rank_weight"]
    one, other = (tune(own, errors_H, Weights(), free, rng=np.random.default_rng(2)) for _ in range(2))
    assert one == other


def test_weights_that_are_given_stay() -> None:
    own, errors_H = planted(6, Weights(1.3, -4.0))
    found, _ = tune(own, errors_H, Weights(1.3, 11.0), ["word_penalty"], rng=np.random.default_rng(2))
    assert found.lm_weight == 1.3
    assert found.word_penalty == pytest.approx(-4.0, rel=0.2)
    kept, errors = tune(own, errors_H, Weights(1.3, -4.0), [], rng=np.random.default_rng(2))
    assert (kept, errors) == (Weights(1.3, -4.0), 0)


def test_nothing_to_choose_from_is_no_problem() -> None:
    own = lists([[(-1.0, -1.0)], [(-2.0, -5.0)]])
    given = Weights(0.5, 0.5)
    assert tune(own, np.array([1, 2]), given, ["lm_weight"], rng=np.random.default_rng(1)) == (given, 3)


def test_tuning_never_ends_worse_than_it_began() -> None:
    own, errors_H = planted(8, Weights(2.0, 1.0))
    before = int(errors_H[own.best(Weights(2.0, 1.0).array())].sum())
    found, errors = tune(own, errors_H, Weights(2.0, 1.0), ["lm_weight"], rng=np.random.default_rng(1))
    assert errors <= before and found.lm_weight >= 0


def test_unknown_weights_are_refused() -> None:
    with pytest.raises(ConfigError, match="no weight 'lm'"):
        tune(lists([[(0.0, 0.0)]]), np.array([0]), Weights(), ["lm"], rng=np.random.default_rng(1))
