"""Bodies for scoring say what those for training say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from modlm.nets.config import NetConfig
from modlm.nets.fast_bodies import FastLstm, FastStep, fast_feedforward
from modlm.nets.features import FeatureScaling
from modlm.nets.mixer_net import MixerNet
from modlm.nets.net_mixer import NetMixer
from modlm.nets.scoring_kernels import lstm_gates, mixed_log_probs
from nets.small_mixtures import SENTENCES, ids_of, mixture_of

SETTINGS: dict[str, dict[str, Any]] = {
    "counts and a word": {},
    "two layers": {"layers": 2},
    "three words": {"words": 3, "word_size": 4},
    "counts alone": {"inputs": ("counts",)},
    "a word alone": {"inputs": ("word",), "layers": 3},
}


@pytest.mark.parametrize("settings", SETTINGS)
def test_sentences_that_end_do_not_disturb_the_others(settings: str) -> None:
    rng = np.random.default_rng(1)
    config = NetConfig(hidden=9, **SETTINGS[settings])
    scaling = FeatureScaling(rng.normal(size=5).astype(np.float32), rng.normal(size=(5, 5)).astype(np.float32))
    net = MixerNet(config, vocab_size=7, features=5, dense=2, delta=False, scaling=scaling, seed=2)
    lengths = np.array([6, 4, 4, 1])
    real_TB = torch.from_numpy(np.arange(6)[:, None] < lengths)
    contexts_TBW = torch.from_numpy(rng.integers(0, 8, (6, 4, config.words)))
    features_TBF = torch.from_numpy(rng.normal(size=(6, 4, 5)).astype(np.float32))
    with torch.inference_mode():
        expected_TBH, _ = net.hidden(contexts_TBW, features_TBF)
        found_PH = FastLstm(net).hidden(contexts_TBW[real_TB], features_TBF[real_TB], real_TB.numpy().sum(axis=1))
    assert np.allclose(found_PH.numpy(), expected_TBH[real_TB].numpy(), atol=1e-6)


@pytest.mark.parametrize("settings", SETTINGS)
def test_feedforward_nets_are_the_same(settings: str) -> None:
    rng = np.random.default_rng(1)
    config = NetConfig(hidden=9, body="feedforward", **SETTINGS[settings])
    net = MixerNet(config, vocab_size=7, features=5, dense=2, delta=False, seed=2)
    contexts_PW = torch.from_numpy(rng.integers(0, 8, (30, config.words)))
    features_PF = torch.from_numpy(rng.normal(size=(30, 5)).astype(np.float32))
    with torch.inference_mode():
        expected_1PH, _ = net.hidden(contexts_PW[None], features_PF[None])
        found_PH = fast_feedforward(net, contexts_PW, features_PF)
    assert np.allclose(found_PH.numpy(), expected_1PH[0].numpy(), atol=1e-6)


@pytest.mark.parametrize("layers", [1, 3])
def test_a_step_in_numpy_is_that_of_torch_as_the_parameters_are_now(layers: int) -> None:
    rng = np.random.default_rng(1)
    config = NetConfig(hidden=9, body="feedforward", inputs=("counts",), layers=layers)
    steady_F = np.array([False, True, False, False, False])
    scaling = FeatureScaling(
        rng.normal(size=5).astype(np.float32), rng.normal(size=(5, 5)).astype(np.float32), steady_F=steady_F
    )
    net = MixerNet(config, vocab_size=7, features=5, dense=4, delta=False, scaling=scaling, seed=2)
    mixer, features_BF = NetMixer(net), rng.normal(size=(6, 5))
    nothing_B0, state_B0 = np.zeros((6, config.words), np.uint32), np.zeros((6, 0), np.float32)
    for _ in range(2):
        with torch.no_grad():
            expected_BK = net.log_weights(
                net.hidden(torch.zeros(1, 6, 1), torch.tensor(features_BF).float()[None])[0][0]
            )
        assert np.allclose(mixer.log_weights(nothing_B0, features_BF, state_B0)[0], expected_BK.numpy(), atol=2e-6)
        with torch.no_grad():
            net.output.weight_KH.add_(torch.tensor(rng.normal(size=(4, 9))))
    assert FastStep.of(net.double()) is None  # numbers that kernels do not take


def test_gates_are_those_of_an_lstm_for_numbers_of_any_size() -> None:
    rng = np.random.default_rng(0)
    gates_BG = (rng.normal(size=(50, 40)) * 10.0 ** rng.integers(-6, 4, (50, 40))).astype(np.float32)
    cell_BH, hidden_BH = rng.normal(size=(50, 10)).astype(np.float32), np.zeros((50, 10), dtype=np.float32)
    i, f, a, o = np.split(gates_BG.astype(np.float64), 4, axis=1)
    with np.errstate(over="ignore"):
        cell = cell_BH / (1 + np.exp(-f)) + np.tanh(a) / (1 + np.exp(-i))
        hidden = np.tanh(cell) / (1 + np.exp(-o))
    lstm_gates(gates_BG, cell_BH, hidden_BH)
    assert np.allclose(cell_BH, cell, atol=5e-7)
    assert np.allclose(hidden_BH, hidden, atol=5e-7)


def test_few_columns_are_mixed_in_log_space() -> None:
    logits_PD = np.array([[1.0, 3.0], [200.0, -200.0], [0.0, 0.0]], dtype=np.float32)
    probs_PD = np.array([[0.5, 0.25], [0.125, 1.0], [0, 0]], dtype=np.float32)
    out_P = np.empty(3)
    with np.errstate(divide="ignore"):
        mixed_log_probs(logits_PD, np.log(probs_PD), out_P)
    weight = 1 / (1 + np.exp(2.0))
    assert out_P == pytest.approx([np.log(0.5 * weight + 0.25 * (1 - weight)), np.log(0.125), -np.inf])


def test_it_is_made_anew_when_parameters_change() -> None:
    model = mixture_of()
    ids = ids_of(model, SENTENCES)
    before = model.log_probs(ids)
    assert model.mixer._fast is not None
    assert np.array_equal(model.log_probs(ids), before)
    with torch.no_grad():
        model.mixer.net.inputs.word_vectors.add_(0.5)
    after = model.log_probs(ids)
    assert not np.allclose(after, before, atol=1e-3)
    model.mixer._fast = None
    assert np.array_equal(model.log_probs(ids), after)


def test_short_texts_do_not_wait_for_it() -> None:
    model = mixture_of()
    model.score("a b")
    assert model.mixer._fast is None
