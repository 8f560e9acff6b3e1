"""Bodies for scoring alone, on a CPU: the same numbers as those that are trained, with less work and memory traffic.

For an LSTM, what the first layer makes of each word's vector is looked up in a table, sentences that have ended take no
part, and all gates are done in one pass. Hidden vectors come out packed: those of the first step of all sentences, then
those of the second, and so on. A step of a small net is a few products in numpy.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor, nn

from modlm.ground.arrays import Floats, Ints
from modlm.nets import scoring_kernels
from modlm.nets.bodies import FeedForward, Lstm
from modlm.nets.mixer_net import MixerNet

CELLS = 1 << 25  # numbers in a table at most


class FastLstm:
    """The body of a net in another form, as the parameters are now."""

    def __init__(self, net: MixerNet) -> None:
        body, inputs = net.body, net.inputs
        self.version = version_of(net)
        self.units, self.depth = net.config.hidden, net.config.layers
        first, self.bias = body.input_weights[0].detach(), [bias.detach() for bias in body.biases]
        self.scaled = inputs.scaled if inputs.takes_counts else None
        counted = first.shape[1] - (net.config.words * net.config.word_length if inputs.takes_words else 0)
        self.features_FG = first[:, :counted].t().contiguous()
        self.inputs_HG = [weight.detach().t().contiguous() for weight in body.input_weights[1:]]
        self.state_HG = [weight.detach().t().contiguous() for weight in body.state_weights]
        columns = torch.split(first[:, counted:], net.config.word_length, dim=1) if inputs.takes_words else ()
        self.tables = [inputs.word_vectors.detach() @ part.t() for part in columns]
        if self.tables:
            self.tables[0] += self.bias[0]

    @staticmethod
    def fits(net: MixerNet, positions: int) -> bool:
        """Whether the net is an LSTM here whose tables are not too large, and worth it for so many positions."""
        words = net.config.words if net.inputs.takes_words else 0
        rows = words * (net.vocab_size + 1)
        gates = 4 * net.config.hidden
        return isinstance(net.body, Lstm) and in_singles(net) and rows <= positions and rows * gates <= CELLS

    def hidden(self, contexts_PW: Tensor, features_PF: Tensor, steps: Ints) -> Tensor:
        """Hidden vectors (P, H) of packed positions; `steps` says how many sentences take part in each step."""
        features_PF = features_PF if self.scaled is None else self.scaled(features_PF)
        room_BG = torch.empty(int(steps[0]), 4 * self.units)
        below_PH: Tensor | None = None
        for layer in range(self.depth):
            below_PH = self._layer(layer, contexts_PW, features_PF, below_PH, steps, room_BG)
        assert below_PH is not None
        return below_PH

    def _layer(
        self,
        layer: int,
        contexts_PW: Tensor,
        features_PF: Tensor,
        below_PH: Tensor | None,
        steps: Ints,
        room_BG: Tensor,
    ) -> Tensor:
        hidden_PH = torch.empty(len(contexts_PW), self.units)
        cell_BH = np.zeros((int(steps[0]), self.units), dtype=np.float32)
        before, at = 0, 0
        for count in steps.tolist():
            now = slice(at, at + count)
            gates_BG = room_BG[:count]
            if below_PH is None:
                self._first_inputs(contexts_PW[now], features_PF[now], gates_BG)
            else:
                torch.addmm(self.bias[layer], below_PH[now], self.inputs_HG[layer - 1], out=gates_BG)
            if at:
                gates_BG.addmm_(hidden_PH[before : before + count], self.state_HG[layer])
            scoring_kernels.lstm_gates(gates_BG.numpy(), cell_BH, hidden_PH[now].numpy())
            before, at = at, at + count
        return hidden_PH

    def _first_inputs(self, contexts_BW: Tensor, features_BF: Tensor, gates_BG: Tensor) -> None:
        """Words by table, features by their few columns."""
        if self.tables:
            torch.index_select(self.tables[0], 0, contexts_BW[:, 0], out=gates_BG)
        else:
            gates_BG.copy_(self.bias[0])
        for place, table_JG in enumerate(self.tables[1:], start=1):
            gates_BG += table_JG[contexts_BW[:, place]]
        if self.scaled is not None:
            gates_BG.addmm_(features_BF, self.features_FG)


class FastStep:
    """A net without a memory that reads counts alone, as its parameters are now, in double precision by numpy."""

    def __init__(self, net: MixerNet) -> None:
        self.tensors = (*net.parameters(), *net.buffers())
        self.version = versions_of(self.tensors)
        scaled = net.inputs.scaled
        scaling_FF = np.diag(_doubles(scaled.live_F))
        if scaled.matrix_FF is not None:
            scaling_FF = scaling_FF @ _doubles(scaled.matrix_FF)
        body, output = net.body, net.output
        weights = [*body.input_weights, output.weight_KH]
        biases = [*body.biases, output.bias_K]
        self.layers = [(_doubles(one).T, _doubles(bias)) for one, bias in zip(weights, biases, strict=True)]
        first_FH = scaling_FF @ self.layers[0][0]
        self.layers[0] = first_FH, self.layers[0][1] - _doubles(scaled.mean_F) @ first_FH

    @classmethod
    def of(cls, net: MixerNet) -> FastStep | None:
        """None where the net is not such a net, or not here."""
        fits = type(net.body) is FeedForward and not net.delta and not net.inputs.takes_words and in_singles(net)
        return cls(net) if fits else None

    @property
    def current(self) -> bool:
        """Whether the parameters are still the same."""
        return self.version == versions_of(self.tensors)

    def log_weights(self, features_BF: Floats) -> Floats:
        """log lambda (B, K)."""
        values_BX = features_BF
        for weight_XH, bias_H in self.layers[:-1]:
            values_BX = np.tanh(np.einsum("bx,xh->bh", values_BX, weight_XH) + bias_H)
        weight_HK, bias_K = self.layers[-1]
        logits_BK = np.einsum("bh,hk->bk", values_BX, weight_HK) + bias_K
        logits_BK -= logits_BK.max(axis=1, keepdims=True)
        log_weights_BK: Floats = logits_BK - np.log(np.exp(logits_BK).sum(axis=1, keepdims=True))
        return log_weights_BK


def _doubles(tensor: Tensor) -> Floats:
    numbers: Floats = tensor.detach().double().numpy()
    return numbers


def fast_feedforward(net: MixerNet, contexts_PW: Tensor, features_PF: Tensor) -> Tensor:
    """Hidden vectors (P, H) of a feedforward net."""
    values_PX: Tensor = net.inputs(contexts_PW, features_PF)
    for weight, bias in zip(net.body.input_weights, net.body.biases, strict=True):
        values_PX = values_PX @ weight.t()
        scoring_kernels.tanh_of_sums(values_PX.numpy(), bias.detach().numpy())
    return values_PX


def in_singles(net: MixerNet) -> bool:
    """Whether kernels can take the net's numbers: single precision, on a CPU."""
    first = next(net.parameters())
    return first.device.type == "cpu" and first.dtype == torch.float32


def version_of(net: nn.Module) -> tuple[tuple[int, int], ...]:
    """Changes whenever a parameter does."""
    return versions_of(net.parameters())


def versions_of(tensors: Iterable[Tensor]) -> tuple[tuple[int, int], ...]:
    """Changes whenever a tensor does."""
    return tuple((tensor.data_ptr(), tensor._version) for tensor in tensors)
