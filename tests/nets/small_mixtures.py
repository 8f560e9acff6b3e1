"""Small neural mixtures with drawn weights: every body, with and without count columns, delta columns and documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from modlm.blocks import CONSTANT_BLOCKS, ColumnLayout, DeltaBlock, NgramBlock
from modlm.blocks.block import Block
from modlm.blocks.model import ModelBlock
from modlm.model.mixture import Mixture
from modlm.nets.config import NetConfig
from modlm.nets.features import FeatureScaling
from modlm.nets.mixer_net import MixerNet
from modlm.nets.net_mixer import NetMixer
from modlm.smoothing import SMOOTHERS, estimate
from small_texts import TEXTS, counts_of, model_of

TEXT = TEXTS["random sentences"]
SENTENCES = ["a b c", "", "z a b", "a a a a a a a a", "h g f e d c b a", "a b c d z z c b a a b"]


def mixture_of(
    text: Sequence[str] = TEXT,
    *,
    order: int = 3,
    smoothing: str = "modified-kneser-ney",
    edge: str = "once",
    extra: Sequence[str] = ("uniform", "unknown"),
    other: bool = False,
    delta: bool = True,
    seed: int = 5,
    **settings: Any,
) -> Mixture:
    """A neural mixture over an n-gram block (order 0: none), another model as a column, and constants."""
    counts = counts_of(text, order=max(1, order), edge=edge)
    vocabulary = counts.vocabulary
    blocks: dict[str, Block] = {}
    if order:
        blocks["ngram"] = NgramBlock(estimate(SMOOTHERS[smoothing](), counts))
    if other:
        blocks["other"] = ModelBlock(model_of(["a b q", "q a"], order=4), vocabulary)
    blocks |= {name: CONSTANT_BLOCKS[name](vocabulary) for name in extra}
    if delta:
        blocks["delta"] = DeltaBlock(vocabulary)
    layout = ColumnLayout(blocks)
    config = NetConfig(**{"hidden": 6, **settings})
    rng = np.random.default_rng(seed)
    size = layout.features
    whitening = rng.normal(size=(size, size)).astype(np.float32) / 4 if config.features == "whitened" else None
    scaling = FeatureScaling(rng.normal(size=size).astype(np.float32), whitening)
    net = MixerNet(
        config, vocab_size=len(vocabulary), features=size, dense=layout.dense, delta=delta, scaling=scaling, seed=seed
    )
    with torch.no_grad():  # far from equal weights
        for parameter in net.parameters():
            parameter.mul_(3.0)
    return Mixture(vocabulary, blocks, NetMixer(net))


SETTINGS: dict[str, dict[str, Any]] = {
    "feedforward over counts": {"body": "feedforward", "inputs": ("counts",), "delta": False},
    "feedforward hybrid, 3 words": {"body": "feedforward", "words": 3, "layers": 2},
    "rnn over counts and words": {"body": "rnn", "delta": False, "smoothing": "witten-bell", "features": "raw"},
    "gru hybrid, 2 layers and words": {"body": "gru", "layers": 2, "words": 2, "edge": "repeat", "order": 4},
    "lstm without columns": {"order": 0, "extra": (), "inputs": ("word",)},
    "lstm hybrid": {"layers": 2, "features": "whitened"},
    "lstm tied, another model as a column": {"other": True, "tied": True, "order": 2},
    "lstm tied and projected": {"tied": True, "projected": True},
    "lstm over documents": {"context": "document"},
    "gru over documents, interpolated": {"body": "gru", "context": "document", "delta": False},
}


def ids_of(model: Mixture, sentences: Sequence[str]) -> np.ndarray:
    """Sentences as one text."""
    return np.concatenate([model.sentence_ids(sentence) for sentence in sentences])
