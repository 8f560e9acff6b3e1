"""Adapted models: mixtures with a causal language model among their columns, whose distributions may be given."""

import os
from typing import Any

from modlm.errors import ConfigError
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
