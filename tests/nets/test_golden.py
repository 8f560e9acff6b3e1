"""The first steps of a tiny hybrid have the losses that numpy found with the model written out."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest
import torch

from modlm.nets.config import NetConfig
from modlm.nets.mixer_net import MixerNet

GOLDEN = Path(__file__).parents[1] / "golden"


def written_out() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_tiny_hybrid", GOLDEN / "make_tiny_hybrid.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def losses_of(net: MixerNet, made: ModuleType) -> list[float]:
    """The loss before each update."""
    data = {name: torch.tensor(array) for name, array in made.batch().items()}
    words_P = data["words"].flatten()
    log_probs_PD = data["columns"].flatten(0, 1)[torch.arange(len(words_P)), words_P].log()
    optimiser = torch.optim.Adam(net.parameters(), lr=made.RATE)
    losses = []
    for _ in range(made.UPDATES):
        hidden_TBH, _ = net.hidden(data["contexts"][..., None], data["features"])
        total = net.nll(hidden_TBH.flatten(0, 1), log_probs_PD, words_P)[0].sum()
        optimiser.zero_grad()
        total.backward()
        optimiser.step()
        losses.append(total.item())
    return losses


def test_first_steps_of_a_tiny_hybrid() -> None:
    made = written_out()
    net = MixerNet(
        NetConfig(hidden=made.HIDDEN), vocab_size=made.WORDS, features=made.FEATURES, dense=made.DENSE, delta=True
    ).double()
    own = {name.removesuffix(".0").rpartition(".")[2]: parameter for name, parameter in net.named_parameters()}
    assert {name: tuple(parameter.shape) for name, parameter in own.items()} == made.SHAPES
    for i, (name, shape) in enumerate(made.SHAPES.items()):
        own[name].data = torch.tensor(made.wave(*shape, start=10 * i))
    golden = json.loads((GOLDEN / "tiny_hybrid.json").read_text(encoding="utf-8"))
    assert losses_of(net, made) == pytest.approx(golden, rel=1e-6)
