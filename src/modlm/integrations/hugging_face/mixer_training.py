"""A small net for lambda, trained on rows in memory: features of every column in, weights of the columns out."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from modlm.errors import ConfigError
from modlm.ground.arrays import Floats
from modlm.integrations.hugging_face.causal_lm import Singles
from modlm.nets.config import NetConfig
from modlm.nets.dropout import Dropout
from modlm.nets.features import FeatureScaling
from modlm.nets.mixer_net import MixerNet

TOGETHER = 1 << 14  # positions that the net takes at once when it is not trained


@dataclass(frozen=True, slots=True, kw_only=True)
class MixerConfig:
    """The net and how it is trained."""

    hidden: int = 64
    layers: int = 1
    dropout: float = 0.1
    learning_rate: float = 0.001
    weight_decay: float = 0.01
    batch: int = 256
    """Positions in a step."""
    epochs: int = 40
    patience: int = 4
    """Epochs without a better one on the stopping part before training ends."""
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("hidden", "layers", "batch", "epochs", "patience"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} of the mixer must be at least 1, but is {getattr(self, name)}.")

    @classmethod
    def usual(cls, *, hidden_state: bool = False, **values: Any) -> MixerConfig:
        """The defaults, with more dropout where hundreds of numbers of a hidden vector are read as well."""
        return cls(**{"dropout": 0.5 if hidden_state else 0.1, **values})

    def net(self) -> NetConfig:
        """A feedforward net over whitened features."""
        return NetConfig(
            body="feedforward", hidden=self.hidden, layers=self.layers, inputs=("counts",), features="whitened",
            dropout=self.dropout,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class MixerRows:
    """Predicted positions: the log row of D, and the features of all blocks."""

    log_probs_PK: Singles
    features_PF: Singles

    def __len__(self) -> int:
        return len(self.log_probs_PK)

    def part(self, begin: int, end: int) -> MixerRows:
        """Neighbouring positions."""
        return MixerRows(self.log_probs_PK[begin:end], self.features_PF[begin:end])

    def tensors(self) -> tuple[Tensor, Tensor]:
        """Both for torch."""
        return torch.from_numpy(self.log_probs_PK), torch.from_numpy(self.features_PF)


@dataclass(frozen=True, slots=True)
class Trained:
    """A net and how it got there."""

    net: MixerNet
    history: tuple[float, ...]
    """Nats a token on the stopping part: before training, and after each epoch."""


def train_mixer(fit: MixerRows, stop: MixerRows, first_K: Floats, *, vocab_size: int, config: MixerConfig) -> Trained:
    """A net that begins near the weights `first_K`, trained on `fit` and kept when `stop` was best."""
    net = MixerNet(
        config.net(), vocab_size=vocab_size, features=fit.features_PF.shape[1], dense=fit.log_probs_PK.shape[1],
        delta=False, scaling=FeatureScaling.fit(fit.features_PF, "whitened"), seed=config.seed,
    )  # fmt: skip
    with torch.no_grad():
        net.output.bias_K.copy_(torch.from_numpy(np.log(np.maximum(first_K, 1e-4))))
    optimiser = torch.optim.AdamW(net.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
    generator = torch.Generator().manual_seed(config.seed)
    dropout = Dropout(config.dropout, generator)
    log_probs_PK, features_PF = fit.tensors()
    history, best = [mean_nll(net, stop)], copy.deepcopy(net.state_dict())
    for _ in range(config.epochs):
        net.train()
        for picks in torch.split(torch.randperm(len(fit), generator=generator), config.batch):
            optimiser.zero_grad()
            torch.autograd.backward(_nll(net, log_probs_PK[picks], features_PF[picks], dropout).mean())
            optimiser.step()
        history.append(mean_nll(net, stop))
        if history[-1] <= min(history):
            best = copy.deepcopy(net.state_dict())
        if len(history) - 1 - int(np.argmin(history)) >= config.patience:
            break
    net.load_state_dict(best)
    return Trained(net.eval(), tuple(history))


def mean_nll(net: MixerNet, rows: MixerRows) -> float:
    """Nats a token."""
    return float(-log_probs(net, rows).mean()) if len(rows) else float("inf")


@torch.inference_mode()
def log_probs(net: MixerNet, rows: MixerRows) -> Floats:
    """log P of each position under the net's weights."""
    net.eval()
    log_probs_PK, features_PF = rows.tensors()
    parts = [
        -_nll(net, some_PK, features, None).double()
        for some_PK, features in zip(
            torch.split(log_probs_PK, TOGETHER), torch.split(features_PF, TOGETHER), strict=True
        )
    ]
    found: Floats = torch.cat(parts).numpy()
    return found


@torch.inference_mode()
def mean_weights(net: MixerNet, rows: MixerRows) -> Floats:
    """lambda, averaged over the positions."""
    net.eval()
    sums_K = torch.zeros(net.dense, dtype=torch.float64)
    for features in torch.split(torch.from_numpy(rows.features_PF), TOGETHER):
        hidden_1PH, _ = net.hidden(torch.zeros((1, len(features), 1), dtype=torch.int64), features[None])
        sums_K += net.log_weights(hidden_1PH[0]).double().exp().sum(dim=0)
    found: Floats = (sums_K / max(1, len(rows))).numpy()
    return found


def _nll(net: MixerNet, log_probs_PK: Tensor, features_PF: Tensor, dropout: Dropout | None) -> Tensor:
    contexts_1P1 = torch.zeros((1, len(features_PF), 1), dtype=torch.int64)
    hidden_1PH, _ = net.hidden(contexts_1P1, features_PF[None], dropout=dropout)
    nll_P, _ = net.nll(hidden_1PH[0], log_probs_PK, torch.zeros(len(features_PF), dtype=torch.int64))
    return nll_P
