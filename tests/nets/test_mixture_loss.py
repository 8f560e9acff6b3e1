"""The fused loss against D times lambda written out, its gradients, and the corners of the definition."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from modlm.nets import mixture_loss
from modlm.nets.mixture_loss import mixture_nll


@dataclass
class Case:
    """Random inputs of the loss, with columns of D that are proper distributions over all J words."""

    hidden_PH: Tensor
    weight_KH: Tensor
    bias_K: Tensor
    distributions_PJD: Tensor
    words_P: Tensor
    off_PD: Tensor | None
    delta: bool

    @staticmethod
    def random(
        *, positions: int = 5, words: int = 6, dense: int = 3, delta: bool = True, off: bool = False, seed: int = 1,
        spread: float = 1.0, dtype: torch.dtype = torch.float64,
    ) -> Case:  # fmt: skip
        generator = torch.Generator().manual_seed(seed)

        def normal(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

        columns = dense + words * delta
        off_PD = torch.rand(positions, dense, generator=generator) < 0.5
        off_PD[:, -1:] &= delta  # something has to stay on
        return Case(
            normal(positions, 4), normal(columns, 4) * spread, normal(columns),
            torch.softmax(normal(positions, words, dense) * 3, 1),
            torch.randint(0, words, (positions,), generator=generator), off_PD if off else None, delta,
        )  # fmt: skip

    @property
    def log_probs_PD(self) -> Tensor:
        """The rows of D for the words."""
        return self.distributions_PJD[torch.arange(len(self.words_P)), self.words_P].log()

    def loss(self, *, words_P: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return mixture_nll(
            self.hidden_PH, self.weight_KH, self.bias_K, self.log_probs_PD,
            self.words_P if words_P is None else words_P, [(1.0, self.off_PD)], delta=self.delta,
        )  # fmt: skip

    def explicit(self) -> tuple[Tensor, Tensor]:
        """p of all words (P, J) as D times lambda, and the weights of the dense columns (P, D)."""
        logits_PK = self.hidden_PH @ self.weight_KH.t() + self.bias_K
        positions, words, dense = self.distributions_PJD.shape
        if self.off_PD is not None:
            padding = torch.zeros(positions, len(self.bias_K) - dense, dtype=torch.bool)
            logits_PK = logits_PK.masked_fill(torch.cat([self.off_PD, padding], 1), -math.inf)
        deltas = torch.eye(words, dtype=logits_PK.dtype).expand(positions, -1, -1)
        matrix_PJK = torch.cat([self.distributions_PJD, deltas], 2) if self.delta else self.distributions_PJD
        weights_PK = torch.softmax(logits_PK, -1)
        return (matrix_PJK @ weights_PK[:, :, None]).squeeze(2), weights_PK[:, :dense]


MIXED = [(0.3, None), (0.5, torch.tensor([[True, True, False]])), (0.2, torch.tensor([[False, True, False]]))]
CASES = st.builds(
    Case.random,
    positions=st.integers(1, 9),
    words=st.integers(2, 8),
    dense=st.integers(1, 5),
    delta=st.booleans(),
    off=st.booleans(),
    seed=st.integers(0, 10_000),
    spread=st.sampled_from([0.1, 1.0, 30.0]),
)


@given(CASES)
@settings(max_examples=100, deadline=None)
def test_the_loss_is_that_of_d_times_lambda_and_p_sums_to_one(case: Case) -> None:
    probs_PJ, dense_weights_PD = case.explicit()
    total_P = torch.zeros(len(probs_PJ), dtype=torch.float64)
    for word in range(probs_PJ.shape[1]):
        case.words_P = torch.full_like(case.words_P, word)
        nll_P, mass_P = case.loss()
        torch.testing.assert_close((-nll_P).exp(), probs_PJ[:, word], rtol=1e-9, atol=1e-14)
        torch.testing.assert_close(mass_P, dense_weights_PD.sum(1))
        total_P += (-nll_P).exp()
    torch.testing.assert_close(total_P, torch.ones_like(total_P))


@pytest.mark.parametrize("delta", [True, False])
@pytest.mark.parametrize("off", ["drawn", "exact", "nothing"])
@pytest.mark.parametrize("rows", [1, 2, 100])
def test_gradients_are_those_of_the_loss(monkeypatch: pytest.MonkeyPatch, delta: bool, off: str, rows: int) -> None:
    """gradcheck asks for gradients at single positions, so the path with one factor each is taken."""
    monkeypatch.setattr(mixture_loss, "LEAST_ROWS", rows)
    monkeypatch.setattr(mixture_loss, "CHUNK_BYTES", 1)
    case = Case.random(delta=delta, off=off == "drawn")
    cases = MIXED if off == "exact" else [(1.0, case.off_PD)]

    def nll(hidden_PH: Tensor, weight_KH: Tensor, bias_K: Tensor) -> Tensor:
        return mixture_nll(hidden_PH, weight_KH, bias_K, case.log_probs_PD, case.words_P, cases, delta=delta)[0]

    inputs = [tensor.requires_grad_() for tensor in (case.hidden_PH, case.weight_KH, case.bias_K)]
    assert torch.autograd.gradcheck(nll, inputs)
    assert torch.autograd.gradcheck(lambda *given: nll(*given).sum() * 3, inputs)
    assert torch.autograd.gradcheck(lambda *given: nll(*given).mean(), inputs)


@given(CASES)
@settings(max_examples=50, deadline=None)
def test_the_loss_of_several_cases_is_their_mean(case: Case) -> None:
    off_1D = torch.ones(1, case.log_probs_PD.shape[1], dtype=torch.bool)
    off_1D[:, -1] = case.delta  # something has to stay on
    given = (case.hidden_PH, case.weight_KH, case.bias_K, case.log_probs_PD, case.words_P)
    alone = [mixture_nll(*given, [(1.0, off)], delta=case.delta) for off in (None, off_1D)]
    together = mixture_nll(*given, [(0.25, None), (0.75, off_1D)], delta=case.delta)
    for mixed, with_all, without in zip(together, *alone, strict=True):
        torch.testing.assert_close(mixed, 0.25 * with_all + 0.75 * without)


@pytest.mark.parametrize("delta", [True, False])
def test_gradients_in_single_precision_are_those_of_the_explicit_product(delta: bool) -> None:
    case = Case.random(positions=300, words=50, delta=delta, off=True, dtype=torch.float32)
    leaves = [tensor.requires_grad_() for tensor in (case.hidden_PH, case.weight_KH, case.bias_K)]
    fused = torch.autograd.grad(case.loss()[0].sum(), leaves)
    probs_PJ, _ = case.explicit()
    explicit = torch.autograd.grad(-probs_PJ.gather(1, case.words_P[:, None]).log().sum(), leaves)
    for ours, expected in zip(fused, explicit, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("delta", [True, False])
def test_narrow_products_give_the_loss_and_gradients_up_to_their_rounding(delta: bool) -> None:
    """The vectors are numbers that bfloat16 has, so what is left are logits, weights and gradients in 8 bits each."""
    case = Case.random(positions=300, words=50, delta=delta, off=True, dtype=torch.bfloat16)
    leaves = [tensor.requires_grad_() for tensor in (case.hidden_PH, case.weight_KH, case.bias_K.float())]
    narrow = mixture_nll(*leaves, case.log_probs_PD.float(), case.words_P, [(1.0, case.off_PD)], delta=delta)
    gradients = torch.autograd.grad(narrow[0].sum(), leaves)
    wide = Case(
        *(leaf.detach().double().requires_grad_() for leaf in leaves), case.distributions_PJD.double(), case.words_P,
        case.off_PD, delta,
    )  # fmt: skip
    wide_leaves = [wide.hidden_PH, wide.weight_KH, wide.bias_K]
    exact = mixture_nll(*wide_leaves, case.log_probs_PD.double(), wide.words_P, [(1.0, wide.off_PD)], delta=delta)
    assert [part.dtype for part in (*narrow, *gradients)] == [torch.float32] * 2 + [leaf.dtype for leaf in leaves]
    logits_PK = wide.hidden_PH @ wide.weight_KH.t() + wide.bias_K
    rounding = 2**-8 * float(logits_PK.detach().abs().max())  # twice half a unit in the last place: product, and bias
    torch.testing.assert_close(narrow[0].double(), exact[0], rtol=0, atol=2 * rounding + 2**-8)
    for ours, expected in zip(gradients, torch.autograd.grad(exact[0].sum(), wide_leaves), strict=True):
        assert 0 < (ours.double() - expected).norm() < rounding * expected.norm()


def test_a_second_way_back_gives_the_same_gradients() -> None:
    case = Case.random()
    case.hidden_PH.requires_grad_()
    total = case.loss()[0].sum()
    (first,) = torch.autograd.grad(total, case.hidden_PH, retain_graph=True)
    (second,) = torch.autograd.grad(total, case.hidden_PH)
    torch.testing.assert_close(first, second)


def test_without_gradients_the_loss_is_the_same() -> None:
    case = Case.random(off=True)
    with torch.inference_mode():
        case.loss()
    case.weight_KH.requires_grad_()
    with_gradients = case.loss()
    assert with_gradients[0].requires_grad and not with_gradients[1].requires_grad
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            without = case.loss()
        assert not without[0].requires_grad
        assert all(torch.equal(a, b) for a, b in zip(with_gradients, without, strict=True))
    assert torch.equal(case.loss()[0], with_gradients[0])  # in any order


def test_a_word_that_only_its_delta_gives_a_probability() -> None:
    case = Case.random()
    log_probs_PD = torch.full_like(case.log_probs_PD, -math.inf)
    leaves = [tensor.requires_grad_() for tensor in (case.hidden_PH, case.weight_KH, case.bias_K)]
    nll_P, _ = mixture_nll(*leaves, log_probs_PD, case.words_P, delta=True)
    weights_PK = torch.log_softmax(leaves[0] @ leaves[1].t() + leaves[2], -1)
    torch.testing.assert_close(nll_P, -weights_PK.gather(1, case.words_P[:, None] + 3).squeeze(1))
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(nll_P.sum(), leaves))


def test_a_word_without_any_probability_has_infinite_loss_and_gradients_without_nan() -> None:
    case = Case.random(delta=False)
    leaves = [tensor.requires_grad_() for tensor in (case.hidden_PH, case.weight_KH, case.bias_K)]
    log_probs_PD = case.log_probs_PD.clone()
    log_probs_PD[2] = -math.inf
    nll_P, mass_P = mixture_nll(*leaves, log_probs_PD, case.words_P, delta=False)
    assert nll_P.isinf().tolist() == [False, False, True, False, False]
    assert nll_P[2] == math.inf and mass_P.tolist() == pytest.approx([1.0] * 5)
    assert not any(gradient.isnan().any() for gradient in torch.autograd.grad(nll_P.sum(), leaves))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_too_small_for_floating_point_still_give_exact_losses(dtype: torch.dtype) -> None:
    """The last word's delta has all the weight; the others' logits are 3,000 lower, and exp(-3000) is 0."""
    bias_K = torch.tensor([0.0, 0.0, 1.0, 2.0, 3000.0], dtype=dtype)
    hidden_PH, weight_KH = torch.zeros(4, 1, dtype=dtype), torch.zeros(5, 1, dtype=dtype)
    log_probs_PD = torch.full((4, 1), math.log(0.25), dtype=dtype)
    nll_P, mass_P = mixture_nll(hidden_PH, weight_KH, bias_K, log_probs_PD, torch.arange(4), delta=True)
    expected = [3000 - math.log(math.exp(logit) + 0.25) for logit in (0, 1, 2)]
    assert nll_P.tolist() == pytest.approx([*expected, 0.0], rel=1e-6) and mass_P.tolist() == [0.0] * 4


def test_no_positions_give_no_loss_and_gradients_of_zero() -> None:
    case = Case.random()
    leaves = [case.hidden_PH[:0].requires_grad_(), case.weight_KH.requires_grad_(), case.bias_K.requires_grad_()]
    nll_P, _ = mixture_nll(*leaves, case.log_probs_PD[:0], case.words_P[:0], delta=True)
    assert nll_P.shape == (0,)
    assert all(not gradient.any() for gradient in torch.autograd.grad(nll_P.sum(), leaves))
