"""Generalised linear interpolation: the softmax written out, a fit that gains on every simpler one, and damage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import modlm
from modlm.blocks import CONSTANT_BLOCKS, ColumnLayout, NgramBlock
from modlm.blocks.block import Block, Rows
from modlm.blocks.constant import DeltaBlock
from modlm.errors import ConfigError
from modlm.mixers import StaticMixer
from modlm.mixers.gli import GliMixer
from modlm.model.interpolation import rows_of
from modlm.model.mixture import Mixture
from modlm.smoothing import estimate
from modlm.smoothing.maximum_likelihood import MaximumLikelihood
from small_texts import TEXTS, counts_of

TEXT = TEXTS["random sentences"]
COUNTS = counts_of(TEXT[::2], order=2, vocabulary=["a", "b", "c", "d"])
BLOCKS: dict[str, Block] = {
    "ngram": NgramBlock(estimate(MaximumLikelihood(), COUNTS)),
    "uniform": CONSTANT_BLOCKS["uniform"](COUNTS.vocabulary),
}
LAYOUT = ColumnLayout(BLOCKS)


def held_out() -> Rows:
    return rows_of(Mixture(COUNTS.vocabulary, BLOCKS, StaticMixer(np.full(3, 1 / 3))), TEXT[1::2])


def test_weights_are_the_softmax_of_a_linear_function_of_each_columns_own_features() -> None:
    # 1-gram: 1, seen, log total, log followers; 2-gram: the same; uniform: 1.
    theta = np.array([0.5, 1, -1, 2, 0, 3, 0.1, -0.2, 0.7])
    features = np.array([[1.0, 2.0, 0.5, 0.0, 0.0, 0.0], [1.0, 2.0, 0.5, 1.0, 0.3, 0.2]])
    expected = []
    for f in features:
        logits = [0.5 + f[0] - f[1] + 2 * f[2], 3 * f[3] + 0.1 * f[4] - 0.2 * f[5], 0.7]
        expected.append(np.exp(logits) / np.exp(logits).sum())
    assert GliMixer(LAYOUT, theta).weights(features) == pytest.approx(np.array(expected))


def test_the_fit_is_better_than_any_static_weights_and_no_direction_improves_it() -> None:
    rows = held_out()

    def likelihood(mixer: GliMixer | StaticMixer) -> float:
        return float(np.log((mixer.weights(rows.features_TF) * rows.probs_TK).sum(axis=1)).mean())

    made = GliMixer.fitted(LAYOUT, BLOCKS, rows)
    best = likelihood(made)
    assert best > likelihood(StaticMixer.fitted(LAYOUT, BLOCKS, rows))
    rng = np.random.default_rng(1)
    for _ in range(30):
        assert likelihood(GliMixer(LAYOUT, made.theta_P + 0.05 * rng.normal(size=9))) < best + 1e-4


def test_it_is_trained_by_name(tmp_path: Path) -> None:
    for name, lines in (("train", TEXT[::2]), ("valid", TEXT[1::2])):
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    model = modlm.train(tmp_path / "train.txt", tmp_path / "valid.txt", mixer="gli", out=tmp_path / "model")
    static = modlm.train(tmp_path / "train.txt", tmp_path / "valid.txt", mixer="static")
    assert model.perplexity(TEXT[1::2]).perplexity < static.perplexity(TEXT[1::2]).perplexity
    assert (tmp_path / "model" / "result.json").exists()
    assert 'mixer = "gli"' in (tmp_path / "model" / "config.toml").read_text()
    assert model.described()["parameters"] == len(modlm.load(tmp_path / "model").mixer.theta_P)  # type: ignore[attr-defined]


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="9 parameters, each a number; 3 are given"):
        GliMixer(LAYOUT, np.zeros(3))
    with pytest.raises(ConfigError, match="leave the deltas out"):
        GliMixer(ColumnLayout({**BLOCKS, "delta": DeltaBlock(COUNTS.vocabulary)}), np.zeros(9))
