"""Scaling of count features, fitted over the positions of a text."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from modlm.errors import ConfigError
from modlm.nets import features
from modlm.nets.features import FeatureScaling, ScaledFeatures, of_this_version

RANDOM = np.random.default_rng(5)
MIXED_TF = (RANDOM.normal(size=(500, 3)) @ RANDOM.normal(size=(3, 3)) * 4 + [1, -2, 30]).astype(np.float32)


def scaled(scaling: FeatureScaling, features_TF: np.ndarray) -> np.ndarray:
    return ScaledFeatures(scaling)(torch.tensor(features_TF)).numpy()


def test_centred_features_have_mean_zero_over_the_text() -> None:
    values_TF = scaled(FeatureScaling.fit(MIXED_TF, "centred"), MIXED_TF)
    assert values_TF.mean(0) == pytest.approx([0, 0, 0], abs=1e-4)
    assert values_TF - values_TF[0] == pytest.approx(MIXED_TF - MIXED_TF[0], abs=1e-4)


def test_whitened_features_are_uncorrelated_with_variances_just_under_one() -> None:
    scaling = FeatureScaling.fit(MIXED_TF, "whitened")
    covariance_FF = np.cov(scaled(scaling, MIXED_TF).T, bias=True)
    assert covariance_FF == pytest.approx(np.eye(3), abs=0.03)  # the ridge takes a little off
    assert scaling.matrix_FF == pytest.approx(scaling.matrix_FF.T)  # type: ignore[union-attr]


def test_raw_features_stay_as_they_are() -> None:
    assert (scaled(FeatureScaling.fit(MIXED_TF, "raw"), MIXED_TF) == MIXED_TF).all()


@pytest.mark.parametrize("kind", ["centred", "whitened"])
def test_a_constant_feature_becomes_zero_and_nothing_becomes_nan(kind: str) -> None:
    constant_TF = np.full((9, 2), 7.0, dtype=np.float32)
    assert scaled(FeatureScaling.fit(constant_TF, kind), constant_TF) == pytest.approx(np.zeros((9, 2)))
    assert np.isfinite(FeatureScaling.fit(constant_TF[:0], kind).mean_F).all()


@pytest.mark.parametrize("kind", ["centred", "whitened"])
def test_positions_can_be_left_out_and_pieces_make_no_difference(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    counted_T = RANDOM.random(len(MIXED_TF)) < 0.7
    expected = FeatureScaling.fit(MIXED_TF[counted_T], kind)
    monkeypatch.setattr(features, "PIECE", 17)
    ours = FeatureScaling.fit(MIXED_TF, kind, counted_T=counted_T)
    assert ours.mean_F == pytest.approx(expected.mean_F, rel=1e-5)
    if kind == "whitened":
        assert ours.matrix_FF == pytest.approx(expected.matrix_FF, rel=1e-3, abs=1e-4)


def test_unknown_kinds_and_unequal_sizes_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"'whitend'.*Did you mean 'whitened'"):
        FeatureScaling.fit(MIXED_TF, "whitend")
    with pytest.raises(ConfigError, match="3 means"):
        FeatureScaling(np.zeros(3, dtype=np.float32), np.zeros((2, 2), dtype=np.float32))


@pytest.mark.parametrize("kind", ["centred", "whitened", "raw"])
def test_steady_features_come_in_as_their_mean_whatever_they_are(kind: str) -> None:
    steady_F = np.array([True] + [False] * (MIXED_TF.shape[1] - 1))
    scaling = FeatureScaling.fit(MIXED_TF, kind, steady_F=steady_F)
    other_TF = MIXED_TF.copy()
    other_TF[:, 0] += 5
    assert (scaled(scaling, other_TF) == scaled(scaling, MIXED_TF)).all()
    plain = FeatureScaling.fit(MIXED_TF, kind)
    assert not np.allclose(scaled(plain, other_TF), scaled(plain, MIXED_TF))


def test_tensors_of_earlier_versions_have_all_features_live() -> None:
    old = {"inputs.scaled.mean_F": torch.zeros(3), "output.bias": torch.zeros(1)}
    assert of_this_version(old)["inputs.scaled.live_F"].tolist() == [1, 1, 1]
    new = old | {"inputs.scaled.live_F": torch.tensor([0.0, 1, 1])}
    assert of_this_version(new)["inputs.scaled.live_F"].tolist() == [0, 1, 1]
