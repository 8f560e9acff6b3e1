"""Bodies: inputs (T, B, I) -> hidden (T, B, H), one layer after the other, with or without a state over time.

The state is one tensor (S, B, H): the last hidden vectors of each layer, and for an LSTM the cells after them; a
feedforward net has S = 0. Dropout falls on the input of each layer and on the output of the last, never on the state.
"""

from __future__ import annotations

import abc
from typing import ClassVar

import torch
from torch import Tensor, nn

from modlm.nets.dropout import Dropout
from modlm.nets.initial import glorot


class Body(nn.Module, abc.ABC):
    """A stack of layers; subclasses say what one layer does."""

    states: ClassVar[int] = 0
    """State vectors of one layer."""
    gates: ClassVar[int] = 1
    """Affine maps in one layer."""
    reads_source: ClassVar[bool] = False
    """Whether `forward` takes `sources`, the source sentence of each of the B sentences."""

    def __init__(self, size: int, hidden: int, layers: int, generator: torch.Generator) -> None:
        super().__init__()
        self.units, self.depth, rows = hidden, layers, self.gates * hidden
        sizes = [size] + [hidden] * (layers - 1)
        self.input_weights = nn.ParameterList([glorot(rows, size, generator) for size in sizes])
        self.biases = nn.ParameterList([self.first_bias(hidden) for _ in sizes])
        self.state_weights = nn.ParameterList([glorot(rows, hidden, generator) for _ in sizes if self.states])

    @property
    def state_rows(self) -> int:
        """S: state vectors of all layers."""
        return self.states * self.depth

    def first_bias(self, hidden: int) -> Tensor:
        """Where the biases of a layer begin."""
        return torch.zeros(self.gates * hidden)

    def forward(self, inputs_TBI: Tensor, state_SBH: Tensor | None, dropout: Dropout | None) -> tuple[Tensor, Tensor]:
        """Hidden vectors of the last layer at every position, and the state after the last position."""
        values_TBX, last_SBH = self.run(inputs_TBI, state_SBH, dropout)
        return values_TBX if dropout is None else dropout(values_TBX), last_SBH

    def run(self, inputs_TBI: Tensor, state_SBH: Tensor | None, dropout: Dropout | None) -> tuple[Tensor, Tensor]:
        """The same without dropout of what the last layer gives."""
        if state_SBH is None:
            state_SBH = inputs_TBI.new_zeros(self.state_rows, inputs_TBI.shape[1], self.units)
        values_TBX, after = inputs_TBI, []
        for layer in range(self.depth):
            if dropout is not None:
                values_TBX = dropout(values_TBX) if layer else dropout.inputs(values_TBX)
            weights = self.weights(layer, dropout)
            values_TBX, state = self.layer(weights, values_TBX, state_SBH[layer :: self.depth])
            after.append(state)
        ordered = [state[part : part + 1] for part in range(self.states) for state in after]
        return values_TBX, torch.cat(ordered) if ordered else state_SBH

    @abc.abstractmethod
    def layer(self, weights: list[Tensor], values_TBX: Tensor, state_SBH: Tensor) -> tuple[Tensor, Tensor]:
        """One layer over all steps from its own state vectors."""

    def weights(self, layer: int, dropout: Dropout | None) -> list[Tensor]:
        """As torch's recurrent kernels take them; they have a second bias, which adds nothing to the first."""
        bias = self.biases[layer]
        state_weights = self.state_weights[layer]
        state_weights = state_weights if dropout is None else dropout.weights(state_weights)
        return [self.input_weights[layer], state_weights, bias, torch.zeros_like(bias)]


class FeedForward(Body):
    """tanh layers; each position on its own."""

    def weights(self, layer: int, dropout: Dropout | None) -> list[Tensor]:
        """Those of an affine map; there is no state to read."""
        return [self.input_weights[layer], self.biases[layer]]

    def layer(self, weights: list[Tensor], values_TBX: Tensor, state_SBH: Tensor) -> tuple[Tensor, Tensor]:
        """tanh of an affine map."""
        return torch.tanh(nn.functional.linear(values_TBX, *weights)), state_SBH


class Rnn(Body):
    """Elman's: h = tanh(W x + U h' + b)."""

    states = 1

    def layer(self, weights: list[Tensor], values_TBX: Tensor, state_SBH: Tensor) -> tuple[Tensor, Tensor]:
        """torch's kernel for one layer."""
        hidden_TBH, state = torch.rnn_tanh(values_TBX, state_SBH, weights, True, 1, 0.0, False, False, False)
        return hidden_TBH, state


class Gru(Body):
    """Gated recurrent units; the reset gate falls on U h', as in cuDNN."""

    states, gates = 1, 3

    def layer(self, weights: list[Tensor], values_TBX: Tensor, state_SBH: Tensor) -> tuple[Tensor, Tensor]:
        """torch's kernel for one layer."""
        hidden_TBH, state = torch.gru(values_TBX, state_SBH, weights, True, 1, 0.0, False, False, False)
        return hidden_TBH, state


class Lstm(Body):
    """Long short-term memory without peepholes; forget gates begin open, with a bias of 1."""

    states, gates = 2, 4

    def first_bias(self, hidden: int) -> Tensor:
        """Gates stand in the order input, forget, candidate, output."""
        bias = torch.zeros(4, hidden)
        bias[1] = 1.0
        return bias.flatten()

    def layer(self, weights: list[Tensor], values_TBX: Tensor, state_SBH: Tensor) -> tuple[Tensor, Tensor]:
        """torch's kernel for one layer."""
        hidden_TBH, last, cell = torch.lstm(
            values_TBX, (state_SBH[:1], state_SBH[1:]), weights, True, 1, 0.0, False, False, False
        )
        return hidden_TBH, torch.cat([last, cell])
