"""Our updates are torch's, clipping included, and their memory can be saved and taken up."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from modlm.errors import ModelFolderError
from modlm.training.config import OptimiserConfig
from modlm.training.optimiser import Optimiser

TORCH = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}


def parameters() -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(1)
    return [nn.Parameter(torch.randn(size, generator=generator)) for size in ((4, 3), (5,))]


def give_gradients(params: list[nn.Parameter], step: int) -> None:
    generator = torch.Generator().manual_seed(100 + step)
    for parameter in params:
        parameter.grad = torch.randn(parameter.shape, generator=generator) * (0.1 if step % 2 else 10)


@pytest.mark.parametrize("kind", list(TORCH))
@pytest.mark.parametrize("clip", [0.0, 1.0])
def test_updates_are_those_of_torch_after_clipping(kind: str, clip: float) -> None:
    ours, theirs = parameters(), parameters()
    config = OptimiserConfig(kind=kind, learning_rate=0.05, weight_decay=0.01, clip=clip)
    optimiser, reference = Optimiser(config, ours), TORCH[kind](theirs, lr=0.05, weight_decay=0.01)
    for step in range(6):
        give_gradients(ours, step)
        give_gradients(theirs, step)
        norm = optimiser.norm()
        assert norm == pytest.approx(float(torch.nn.utils.clip_grad_norm_(theirs, clip or 1e9)), rel=1e-5)
        optimiser.step(learning_rate=0.05, norm=norm)
        reference.step()
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_an_optimiser_that_was_taken_up_goes_on_to_the_bit() -> None:
    config = OptimiserConfig()
    first, second = parameters(), parameters()
    one, other = Optimiser(config, first), Optimiser(config, second)
    for step in range(4):
        if step == 2:
            saved = {name: value.clone() for name, value in one.tensors().items()}
            other.load(saved)
            for target, source in zip(second, first, strict=True):
                target.data.copy_(source.data)
        give_gradients(first, step)
        one.step(learning_rate=0.01, norm=one.norm())
        if step >= 2:
            give_gradients(second, step)
            other.step(learning_rate=0.01, norm=other.norm())
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_a_parameter_without_gradient_counts_as_zero() -> None:
    params = parameters()
    params[0].grad = torch.ones(4, 3)
    assert Optimiser(OptimiserConfig(), params).norm() == pytest.approx(12**0.5)


def test_memory_of_other_parameters_is_refused() -> None:
    saved = Optimiser(OptimiserConfig(), parameters()[:1]).tensors()
    with pytest.raises(ModelFolderError, match="another run"):
        Optimiser(OptimiserConfig(), parameters()).load(saved)


def test_lazy_rows_move_as_in_torchs_sparse_adam_and_the_others_as_ever() -> None:
    ours, theirs = parameters(), parameters()
    optimiser = Optimiser(OptimiserConfig(lazy=True, clip=1.0), ours, lazy=ours[:1])
    sparse, dense = torch.optim.SparseAdam(theirs[:1], lr=0.05), torch.optim.Adam(theirs[1:], lr=0.05)
    for step in range(6):
        give_gradients(ours, step)
        give_gradients(theirs, step)
        for matrix in (ours[0], theirs[0]):
            assert matrix.grad is not None
            matrix.grad[step % 4 :] = 0  # at the first step no row has a gradient
        torch.nn.utils.clip_grad_norm_(theirs, 1.0)
        theirs[0].grad = theirs[0].grad.to_sparse(1)  # type: ignore[union-attr]
        before = ours[0].detach().clone()
        optimiser.step(learning_rate=0.05, norm=optimiser.norm())
        sparse.step()
        dense.step()
        assert torch.equal(ours[0][step % 4 :], before[step % 4 :])
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
