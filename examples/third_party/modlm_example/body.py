"""A body of a net: what came in, averaged over time."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Average(nn.Module):
    """h_t = (h_{t-1} + tanh(W x_t)) / 2 in each layer; the state is the last h of each."""

    def __init__(self, size: int, hidden: int, layers: int, generator: torch.Generator) -> None:
        super().__init__()
        sizes = [size] + [hidden] * (layers - 1)
        self.weights = nn.ParameterList([torch.randn(hidden, size, generator=generator) / size**0.5 for size in sizes])
        self.state_rows, self.units = layers, hidden

    def forward(self, inputs_TBI: Tensor, state_SBH: Tensor | None, dropout: object) -> tuple[Tensor, Tensor]:
        """Hidden vectors (T, B, H), and the state (S, B, H) after the last step; `dropout` is not used here."""
        values_TBX = inputs_TBI
        if state_SBH is None:
            state_SBH = inputs_TBI.new_zeros(self.state_rows, inputs_TBI.shape[1], self.units)
        after = []
        for weight, hidden_BH in zip(self.weights, state_SBH, strict=True):
            steps = []
            for new_BH in torch.tanh(values_TBX @ weight.t()):
                hidden_BH = (hidden_BH + new_BH) / 2
                steps.append(hidden_BH)
            values_TBX = torch.stack(steps)
            after.append(hidden_BH)
        return values_TBX, torch.stack(after)
