"""The affine map from the body's output to one logit for each column."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from modlm.nets.initial import glorot


class Output(nn.Module):
    """One vector and one bias for each column; when tied, the delta columns' vectors are the word vectors.

    Biases begin at zero, so that every column has about the same weight; the paper's program drew them at random.
    Word vectors that are read and predicted with are pulled both ways; the projection of hidden vectors gives them room
    (Press and Wolf, 2017). It begins as the identity, so that the net begins as it would without.
    """

    def __init__(
        self, hidden: int, dense: int, deltas: int, *, tied: bool, projected: bool, generator: torch.Generator
    ) -> None:
        super().__init__()
        own = dense if tied else dense + deltas
        self.weight_KH = nn.Parameter(glorot(own, hidden, generator))
        self.bias_K = nn.Parameter(torch.zeros(dense + deltas))
        self.projection_HH = nn.Parameter(torch.eye(hidden)) if projected else None

    def project(self, hidden_PH: Tensor) -> Tensor:
        """Hidden vectors as the columns' vectors meet them."""
        return hidden_PH if self.projection_HH is None else hidden_PH @ self.projection_HH

    def forward(self, word_vectors_JH: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Vectors and biases of all columns."""
        if word_vectors_JH is None:
            return self.weight_KH, self.bias_K
        return torch.cat([self.weight_KH, word_vectors_JH]), self.bias_K
