"""Adapted models: mixtures with a causal language model among their columns, whose distributions may be given."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from modlm.errors import ConfigError
from modlm.ground.arrays import Floats, Ids
from modlm.integrations.hugging_face.causal_lm import CausalLm
from modlm.integrations.hugging_face.lm_block import CausalLmBlock
from modlm.model.folder import load
from modlm.model.language_model import LanguageModel
from modlm.model.mixture import Mixture
from modlm.text.tokens import TokenVocabulary


def load_adapted(folder: str | os.PathLike[str], model: Any = None) -> Mixture:
    """An adapted model from its folder; with a live `transformers` model it scores texts with that one.

    Without one, the model is loaded from where it lay when something asks for it.
    """
    adapted = as_adapted(load(folder))
    if model is not None:
        block = lm_block(adapted)
        assert isinstance(block.vocabulary, TokenVocabulary)
        block.attach(CausalLm(model, block.vocabulary, start=block.source["start"]))
    return adapted


def as_adapted(model: LanguageModel) -> Mixture:
    """The model, if it is a mixture with a causal language model whose lambda depends on features alone."""
    if not isinstance(model, Mixture):
        raise ConfigError(f"A {type(model).__name__} is no adapted model. Make one with `modlm adapt`.")
    lm_block(model)
    if model.mixer.state_size or model.mixer.reads.words or model.layout.deltas:
        raise ConfigError("The net of an adapted model reads features alone. Make one with `modlm adapt`.")
    return model


def lm_block(adapted: Mixture) -> CausalLmBlock:
    """The causal language model among the columns."""
    for block in adapted.blocks.values():
        if isinstance(block, CausalLmBlock):
            return block
    raise ConfigError("The mixture has no causal language model among its columns. Make one with `modlm adapt`.")


def mixed(adapted: Mixture, windows_BC: Ids, probs_BJ: Floats, features_BF: Floats) -> Floats:
    """P of every token (B, J) by our ids: distributions of the model, given, with the count columns after windows."""
    given = (features_BF, lambda weights_B1: weights_B1 * probs_BJ)
    blocks = adapted.blocks.values()
    found = [given if isinstance(block, CausalLmBlock) else block.to_mix(windows_BC) for block in blocks]
    weights_BK = adapted.mixer.weights(np.concatenate([features for features, _ in found], axis=1))
    out_BJ = np.zeros_like(probs_BJ)
    for (_, part_of), span in zip(found, adapted.layout.spans.values(), strict=True):
        out_BJ += part_of(weights_BK[:, span.columns])
    return out_BJ
