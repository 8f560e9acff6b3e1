"""A Transformer as a body: causal self-attention over the words before, in layers with a memory of keys and values.

A position looks at itself and at most SPAN - 1 positions before it, nearer ones preferred by a bias that falls with the
distance (Press et al. 2022), so there is no longest text. The state is the memory: the keys and values of the last
SPAN - 1 positions of each layer, newest last, and how many there are so far; it grows from nothing until it is full.
One word more costs one position, not the sentence again.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from modlm.nets.dropout import Dropout
from modlm.nets.initial import glorot

SPAN = 64  # positions that one looks at; longer than nearly all sentences
LEAST_UNITS = 32  # of a head
WIDER = 4  # the inner layer of what stands behind attention


class Transformer(nn.Module):
    """Layers of attention and a wider layer, each behind a normalisation and added to what came in (GPT-2's order)."""

    def __init__(self, size: int, hidden: int, layers: int, generator: torch.Generator) -> None:
        super().__init__()
        self.units, self.depth = hidden, layers
        self.heads = heads_of(hidden)
        self.enter = nn.Parameter(glorot(hidden, size, generator))
        self.layers = nn.ModuleList([Layer(hidden, self.heads, layers, generator) for _ in range(layers)])
        self.leave = nn.LayerNorm(hidden)

    @property
    def state_rows(self) -> int:
        """S: keys and values of every remembered position of each layer, and one row for how many there are."""
        return 2 * self.depth * (SPAN - 1) + 1

    def forward(self, inputs_TBI: Tensor, state_SBH: Tensor | None, dropout: Dropout | None) -> tuple[Tensor, Tensor]:
        """Hidden vectors at every position, and the memory after the last."""
        steps, batch = inputs_TBI.shape[:2]
        if state_SBH is None:
            state_SBH = inputs_TBI.new_zeros(self.state_rows, batch, self.units)
        memory_L2PBH = state_SBH[:-1].view(self.depth, 2, SPAN - 1, batch, self.units)
        filled_B = state_SBH[-1, :, 0]
        known = int(filled_B.max()) if batch else 0  # the oldest places of the memory may be empty in all sentences
        bias_BNTP = self._bias(steps, known, filled_B)
        values_TBH = functional.linear(inputs_TBI if dropout is None else dropout.inputs(inputs_TBI), self.enter)
        after = []
        for layer, memory_2PBH in zip(self.layers, memory_L2PBH, strict=True):
            values_TBH, memory = layer(values_TBH, memory_2PBH[:, SPAN - 1 - known :], bias_BNTP, dropout)
            after.append(functional.pad(memory, (0, 0, 0, 0, max(0, SPAN - 1 - memory.shape[1]), 0))[:, 1 - SPAN :])
        counted_1BH = (filled_B + steps).clamp(max=SPAN - 1)[None, :, None].expand(1, batch, self.units)
        last_SBH = torch.cat([*(memory.reshape(-1, batch, self.units) for memory in after), counted_1BH])
        hidden_TBH: Tensor = self.leave(values_TBH)
        return hidden_TBH if dropout is None else dropout(hidden_TBH), last_SBH

    def _bias(self, steps: int, known: int, filled_B: Tensor) -> Tensor:
        """What is added to the scores of each position (T) for each it may look at (P), -inf for those it may not."""
        here_T = torch.arange(known, known + steps, device=filled_B.device)
        there_P = torch.arange(known + steps, device=filled_B.device)
        distance_TP = here_T[:, None] - there_P
        slopes_N = 2.0 ** (-8.0 * torch.arange(1, self.heads + 1, device=filled_B.device) / self.heads)
        bias_NTP = -slopes_N[:, None, None] * distance_TP
        bias_NTP = bias_NTP.masked_fill((distance_TP < 0) | (distance_TP >= SPAN), -torch.inf)
        empty_BP = there_P < known - filled_B[:, None]
        return bias_NTP.masked_fill(empty_BP[:, None, None, :], -torch.inf).to(filled_B.dtype)


class Layer(nn.Module):
    """Attention, then a wider layer; how much both add at first falls with the number of layers."""

    def __init__(self, hidden: int, heads: int, layers: int, generator: torch.Generator) -> None:
        super().__init__()
        self.heads, scale = heads, (2 * layers) ** -0.5
        self.before_attention, self.before_wider = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.queries_keys_values = nn.Parameter(glorot(3 * hidden, hidden, generator))
        self.attended = nn.Parameter(glorot(hidden, hidden, generator) * scale)
        self.widen = nn.Parameter(glorot(WIDER * hidden, hidden, generator))
        self.narrow = nn.Parameter(glorot(hidden, WIDER * hidden, generator) * scale)

    def forward(
        self, values_TBH: Tensor, memory_2PBH: Tensor, bias_BNTP: Tensor, dropout: Dropout | None
    ) -> tuple[Tensor, Tensor]:
        """What comes in with what the layer adds, and the memory with its own keys and values behind it."""
        queries, *new = functional.linear(self.before_attention(values_TBH), self.queries_keys_values).chunk(3, dim=-1)
        memory_2PBH = torch.cat([memory_2PBH, torch.stack(new)], dim=1)
        queries_BNTU, keys_BNPU, values_BNPU = (self._by_head(one) for one in (queries, *memory_2PBH))
        attended_BNTU = functional.scaled_dot_product_attention(queries_BNTU, keys_BNPU, values_BNPU, bias_BNTP)
        attended_TBH = attended_BNTU.permute(2, 0, 1, 3).reshape(values_TBH.shape)
        values_TBH = values_TBH + self._dropped(functional.linear(attended_TBH, self.attended), dropout)
        wide = functional.gelu(functional.linear(self.before_wider(values_TBH), self.widen))
        return values_TBH + self._dropped(functional.linear(wide, self.narrow), dropout), memory_2PBH

    def _by_head(self, values_PBH: Tensor) -> Tensor:
        """(B, N, P, units of a head)."""
        return values_PBH.view(*values_PBH.shape[:2], self.heads, -1).permute(1, 2, 0, 3)

    def _dropped(self, values_TBH: Tensor, dropout: Dropout | None) -> Tensor:
        return values_TBH if dropout is None else dropout(values_TBH)


def heads_of(hidden: int) -> int:
    """As many heads as there can be with enough units each."""
    return max(n for n in range(1, max(1, hidden // LEAST_UNITS) + 1) if hidden % n == 0)
