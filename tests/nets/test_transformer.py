"""The Transformer: attention written out, a memory that slides, and nothing seen beyond its span."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from modlm.nets.transformer import SPAN, Transformer

SIZE, HIDDEN = 3, 96  # three heads


def body_of(layers: int = 2) -> Transformer:
    return Transformer(SIZE, HIDDEN, layers, torch.Generator().manual_seed(3)).double()


def inputs_of(steps: int, sentences: int = 2) -> Tensor:
    return torch.randn(steps, sentences, SIZE, generator=torch.Generator().manual_seed(4), dtype=torch.float64)


def written_out(body: Transformer, inputs_TI: Tensor) -> Tensor:
    """One sentence, position by position, head by head."""
    values = inputs_TI @ body.enter.t()
    for layer in body.layers:
        assert isinstance(layer.before_attention, nn.LayerNorm)
        normal = layer.before_attention(values)
        queries, keys, held = (normal @ part.t() for part in layer.queries_keys_values.chunk(3))
        rows = []
        for t in range(len(values)):
            heads, units = [], HIDDEN // body.heads
            for n in range(body.heads):
                own = slice(n * units, (n + 1) * units)
                places = range(max(0, t - SPAN + 1), t + 1)
                scores = torch.stack([queries[t, own] @ keys[p, own] / math.sqrt(units) for p in places])
                scores = scores - 2 ** (-8 * (n + 1) / body.heads) * torch.tensor([float(t - p) for p in places])
                heads.append(torch.softmax(scores, 0) @ held[list(places)][:, own])
            rows.append(torch.cat(heads))
        values = values + torch.stack(rows) @ layer.attended.t()
        values = values + nn.functional.gelu(layer.before_wider(values) @ layer.widen.t()) @ layer.narrow.t()
    return body.leave(values)  # type: ignore[no-any-return]


@pytest.mark.parametrize("steps", [1, 5, SPAN + 9])
def test_it_is_attention_written_out(steps: int) -> None:
    body, inputs_TBI = body_of(), inputs_of(steps)
    hidden_TBH, _ = body(inputs_TBI, None, None)
    for b in range(2):
        torch.testing.assert_close(hidden_TBH[:, b], written_out(body, inputs_TBI[:, b]))


def test_word_by_word_is_the_whole_even_beyond_the_span() -> None:
    body, inputs_TBI = body_of(), inputs_of(SPAN + 30)
    whole_TBH, last_SBH = body(inputs_TBI, None, None)
    state, rows = None, []
    for inputs_1BI in inputs_TBI.split(1):
        hidden_1BH, state = body(inputs_1BI, state, None)
        rows.append(hidden_1BH)
    torch.testing.assert_close(torch.cat(rows), whole_TBH)
    torch.testing.assert_close(state, last_SBH)


def test_memories_of_different_lengths_stand_side_by_side() -> None:
    body, inputs_TBI = body_of(), inputs_of(9)
    states = [body(inputs_TBI[:length, :1], None, None)[1] for length in (2, 7)]
    together, _ = body(inputs_TBI[8:, :1].expand(1, 2, SIZE), torch.cat(states, dim=1), None)
    for place, state in enumerate(states):
        torch.testing.assert_close(together[:, place : place + 1], body(inputs_TBI[8:, :1], state, None)[0])


def test_the_memory_grows_from_nothing() -> None:
    body, state = body_of(), None
    for length in range(1, 4):
        _, state = body(inputs_of(1), state, None)
        assert state[-1].unique().tolist() == [length]
        used = state[:-1].view(2, 2, SPAN - 1, 2, HIDDEN).abs().sum(dim=(0, 1, 3, 4)) > 0
        assert used.tolist() == [False] * (SPAN - 1 - length) + [True] * length
