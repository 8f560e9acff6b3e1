"""What goes into the body at each position: scaled count features, then vectors of the words before."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from modlm.errors import ConfigError
from modlm.nets.config import NetConfig
from modlm.nets.dropout import Dropout
from modlm.nets.features import FeatureScaling, ScaledFeatures
from modlm.nets.initial import word_vectors


class Inputs(nn.Module):
    """contexts (T, B, W) and features (T, B, F) -> inputs (T, B, I), oldest word first.

    There are J + 1 word vectors: the last is that of `<s>`, which is only ever a context.
    """

    word_vectors: nn.Parameter

    def __init__(
        self,
        config: NetConfig,
        *,
        vocab_size: int,
        features: int,
        scaling: FeatureScaling | None,
        generator: torch.Generator,
        length: float = 1.0,
    ) -> None:
        """`length` is that of word vectors at first."""
        super().__init__()
        self.takes_counts, self.takes_words = "counts" in config.inputs, "word" in config.inputs
        self.words = config.words
        scaling = scaling or FeatureScaling.raw(features)
        if len(scaling.mean_F) != features:
            raise ConfigError(f"The rows have {features} features, but their scaling has {len(scaling.mean_F)}.")
        self.size = features * self.takes_counts + config.words * config.word_length * self.takes_words
        if self.size == 0:
            raise ConfigError(
                "The net would see nothing: net.inputs has only counts, and no block has features. Add word to inputs."
            )
        if self.takes_counts:
            self.scaled = ScaledFeatures(scaling)
        if self.takes_words or config.tied:
            self.word_vectors = nn.Parameter(word_vectors(vocab_size + 1, config.word_length, generator, length=length))

    def forward(self, contexts_TBW: Tensor, features_TBF: Tensor | None, dropout: Dropout | None = None) -> Tensor:
        """Inputs of all positions."""
        parts = []
        if self.takes_counts and features_TBF is not None:
            parts.append(self.scaled(features_TBF))
        if self.takes_words:
            read_TBW = contexts_TBW[..., -self.words :]
            vectors_TBWE = embedding(read_TBW, self.word_vectors)
            if dropout is not None:
                vectors_TBWE = dropout.words(vectors_TBWE, read_TBW, len(self.word_vectors))
            parts.append(vectors_TBWE.flatten(-2))
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)
