"""Bodies against their recurrences written out, states that carry on, and dropout that does not depend on sharing."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from modlm.families import BODIES
from modlm.nets.bodies import Body
from modlm.nets.dropout import Dropout

WRITTEN_OUT = ("feedforward", "rnn", "gru", "lstm")
ALONE = tuple(name for name in BODIES if name != "attention")  # that one reads a source: test_attention.py
STEPS, SENTENCES, SIZE, HIDDEN = 7, 3, 5, 4


def body_of(name: str, *, layers: int = 1) -> Body:
    body = BODIES[name](SIZE, HIDDEN, layers, torch.Generator().manual_seed(3)).double()
    for bias in (parameter for parameter in body.parameters() if parameter.ndim == 1):
        bias.data += torch.linspace(-0.5, 0.5, len(bias)).double()
    return body


def inputs_of(*, sentences: int = SENTENCES, seed: int = 4) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(STEPS, sentences, SIZE, generator=generator, dtype=torch.float64)


def written_out(name: str, body: Body, inputs_TBI: Tensor) -> Tensor:
    """One layer, step by step, from zeros."""
    weight, bias = body.input_weights[0], body.biases[0]
    hidden = cell = torch.zeros(inputs_TBI.shape[1], HIDDEN, dtype=inputs_TBI.dtype)
    outputs = []
    for inputs in inputs_TBI:
        outer = inputs @ weight.t() + bias
        inner = hidden @ body.state_weights[0].t() if body.states else torch.zeros_like(outer)
        if name == "lstm":
            take, keep, new, show = (outer + inner).chunk(4, -1)
            cell = keep.sigmoid() * cell + take.sigmoid() * new.tanh()
            hidden = show.sigmoid() * cell.tanh()
        elif name == "gru":
            (reset, keep, new), (reset_h, keep_h, new_h) = outer.chunk(3, -1), inner.chunk(3, -1)
            keep = (keep + keep_h).sigmoid()
            hidden = keep * hidden + (1 - keep) * (new + (reset + reset_h).sigmoid() * new_h).tanh()
        else:
            hidden = (outer + inner).tanh()
        outputs.append(hidden)
    return torch.stack(outputs)


@pytest.mark.parametrize("name", WRITTEN_OUT)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])  # torch has kernels of its own for each
def test_a_layer_is_its_recurrence_and_so_are_its_gradients(name: str, dtype: torch.dtype) -> None:
    body, inputs_TBI = body_of(name).to(dtype), inputs_of().to(dtype).requires_grad_()
    hidden_TBH, state_SBH = body(inputs_TBI, None, None)
    expected_TBH = written_out(name, body, inputs_TBI)
    torch.testing.assert_close(hidden_TBH, expected_TBH)
    if body.states:
        torch.testing.assert_close(state_SBH[0], hidden_TBH[-1])
    leaves = [inputs_TBI, *body.parameters()]
    weights = torch.linspace(-1, 1, hidden_TBH.numel(), dtype=dtype).view_as(hidden_TBH)
    ours = torch.autograd.grad((hidden_TBH * weights).sum(), leaves)
    for gradient, expected in zip(ours, torch.autograd.grad((expected_TBH * weights).sum(), leaves), strict=True):
        torch.testing.assert_close(gradient, expected)


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_text_in_two_parts_is_the_text_in_one(name: str, layers: int) -> None:
    body, inputs_TBI = body_of(name, layers=layers), inputs_of().requires_grad_()
    whole_TBH, last_SBH = body(inputs_TBI, None, None)
    first_TBH, between_SBH = body(inputs_TBI[:4], None, None)
    second_TBH, after_SBH = body(inputs_TBI[4:], between_SBH, None)
    assert last_SBH.shape == (body.state_rows, SENTENCES, HIDDEN)
    torch.testing.assert_close(torch.cat([first_TBH, second_TBH]), whole_TBH)
    torch.testing.assert_close(after_SBH, last_SBH)
    (ours,) = torch.autograd.grad(second_TBH.sum(), inputs_TBI)
    (expected,) = torch.autograd.grad(whole_TBH[4:].sum(), inputs_TBI)
    torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("name", ALONE)
def test_sentences_do_not_see_one_another(name: str) -> None:
    body, inputs_TBI = body_of(name, layers=2), inputs_of()
    alone_T1H, _ = body(inputs_TBI[:, 1:2], None, None)
    torch.testing.assert_close(body(inputs_TBI, None, None)[0][:, 1:2], alone_T1H)


def test_forget_gates_begin_open() -> None:
    body = BODIES["lstm"](SIZE, HIDDEN, 1, torch.Generator().manual_seed(3))
    assert body.biases[0].view(4, HIDDEN).mean(1).tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_keeps_the_expected_value(rate: float) -> None:
    dropout = Dropout(rate, torch.Generator().manual_seed(1))
    values = dropout(torch.ones(50, 40, 30))
    assert values.unique().tolist() == pytest.approx([0, 1 / (1 - rate)], rel=1e-3)
    assert values.mean().item() == pytest.approx(1, abs=0.05)
    again = dropout(torch.ones(50, 40, 30))
    assert not torch.equal(values, again)
    assert (values * again).mean().item() == pytest.approx(1, abs=0.1)  # one draw tells nothing of the next


def test_locked_dropout_drops_the_same_at_every_step_and_not_in_every_sentence() -> None:
    dropout = Dropout(0.5, torch.Generator().manual_seed(1), locked=True)
    values_TBX = dropout(torch.ones(6, 40, 30))
    assert torch.equal(values_TBX, values_TBX[:1].expand(6, 40, 30))
    assert len(values_TBX[0].unique(dim=0)) == 40


def test_inputs_may_have_a_rate_of_their_own() -> None:
    dropout = Dropout(0.0, torch.Generator().manual_seed(1), input_rate=0.75)
    ones = torch.ones(50, 40, 30)
    assert torch.equal(dropout(ones), ones)
    assert dropout.inputs(ones).unique().tolist() == [0, 4]


def test_a_dropped_word_is_dropped_wherever_it_is_read() -> None:
    dropout = Dropout(0.0, torch.Generator().manual_seed(1), word_rate=0.5)
    contexts_TBW = torch.arange(60).remainder(20).view(5, 4, 3)
    factors = dropout.words(torch.ones(5, 4, 3, 2), contexts_TBW, 20)[..., 0]
    by_word = [set(factors[contexts_TBW == word].tolist()) for word in range(20)]
    assert all(len(seen) == 1 for seen in by_word)
    assert set.union(*by_word) == {0.0, 2.0}


@pytest.mark.parametrize("name", ["rnn", "gru", "lstm"])
def test_dropped_weights_are_weights_of_zero(name: str) -> None:
    body, inputs_TBI = body_of(name), inputs_of()
    hidden_TBH, _ = body(inputs_TBI, None, Dropout(0.0, torch.Generator().manual_seed(9), weight_rate=0.5))
    factors = Dropout(0.0, torch.Generator().manual_seed(9), weight_rate=0.5).weights(
        torch.ones(body.gates * HIDDEN, HIDDEN)
    )
    assert set(factors.unique().tolist()) == {0.0, 2.0}
    body.state_weights[0].data *= factors
    torch.testing.assert_close(hidden_TBH, body(inputs_TBI, None, None)[0])


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("world", [2, 3])
@pytest.mark.parametrize("locked", [False, True])
def test_processes_that_share_a_batch_drop_what_one_process_would(name: str, world: int, locked: bool) -> None:
    body, inputs_TBI = body_of(name, layers=2), inputs_of(sentences=5)
    rates = {"input_rate": 0.3, "weight_rate": 0.2, "locked": locked}
    whole_TBH, _ = body(inputs_TBI, None, Dropout(0.5, torch.Generator().manual_seed(9), **rates))
    for rank in range(world):
        shard = slice(rank, None, world)
        dropout = Dropout(0.5, torch.Generator().manual_seed(9), batch=5, shard=shard, **rates)
        part_TBH, _ = body(inputs_TBI[:, shard], None, dropout)
        torch.testing.assert_close(part_TBH, whole_TBH[:, shard])


def test_dropout_never_falls_on_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the input all dropped, what a sentence carries on is what the empty input gives."""
    monkeypatch.setattr(Dropout, "_factors", lambda self, shape, rate: torch.zeros(shape))
    body = body_of("lstm")
    hidden_TBH, dropped_SBH = body(inputs_of(), None, Dropout(0.5, torch.Generator()))
    _, empty_SBH = body(torch.zeros_like(inputs_of()), None, None)
    torch.testing.assert_close(dropped_SBH, empty_SBH)
    assert dropped_SBH.all() and not hidden_TBH.any()
