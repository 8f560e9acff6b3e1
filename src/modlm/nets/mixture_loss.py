"""The mixture loss straight from logits, without a J-by-K matrix and without keeping logits for the way back.

    log p = logaddexp(z_y, lse(z_dense + log D_y)) - logaddexp(lse(z_delta), lse(z_dense))

Positions are taken in chunks whose logits stay in cache. One buffer holds a chunk's logits, then the weights of the
deltas among themselves, then the gradient of -log p with respect to the logits, lambda - r, where r is each column's
share of p; from there both gradients are matrix products. All of this happens on the way forward; the way back only
scales. Each row of the buffer lacks a factor, the weight of all deltas together, which goes to narrow matrices instead.

Block dropout makes several cases of one position, some of its dense columns off in each; the loss is their mean. The
deltas take part in all cases, in the same proportions, so a further case costs no further look at the wide buffer.

Columns may come folded: several that were mixed by weights of their own into one, whose probability and a part of whose
logit have gradients then. They are the last dense ones.

Hidden and output vectors may be narrower than the rest, bfloat16 say: then products, logits and their gradients are as
narrow, while the few numbers of each position that make up its loss have the type of the biases.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from modlm.ground.arrays import even_ranges

CHUNK_BYTES = 256 * 10_000 * 4  # of logits
LEAST_ROWS = 32  # fewer make matrix products slow
SMALLEST = 1e-30  # a row's factor, so that one can divide by it
_ROOM = threading.local()
Cases = Sequence[tuple[float, Tensor | None]]
"""Shares that add up to 1, each with the dense columns that are off then: (P, D), (1, D) for all positions, or none."""
ALL_ON: Cases = ((1.0, None),)


def mixture_nll(
    hidden_PH: Tensor,
    weight_KH: Tensor,
    bias_K: Tensor,
    log_probs_PD: Tensor,
    words_P: Tensor,
    cases: Cases = ALL_ON,
    *,
    delta: bool,
    folded: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """-log p of the word at each position, and the weight on dense columns there (which has no gradient).

    Both are means over the `cases`. Columns that are off get no weight and the others are renormalised. A word that no
    column with any weight gives a probability has the loss inf. `folded` are G dense columns more: what is added to
    their logits and the log of the word's probability in them, (P, G) each.
    """
    added_PG, own_PG = folded or (log_probs_PD[:, :0], log_probs_PD[:, :0])
    inputs = (hidden_PH, weight_KH, bias_K, added_PG, own_PG)
    given = _Given(torch.cat([log_probs_PD, own_PG.detach()], 1) if folded else log_probs_PD, words_P, cases, delta)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in inputs):
        nll_P, mass_P = _MixtureLoss.apply(*inputs, given)  # type: ignore[no-untyped-call]
        return nll_P, mass_P
    with torch.no_grad():
        return _losses(_Layer(*inputs), given)


@dataclass(frozen=True, slots=True)
class _Given:
    """What the loss takes as it is: log rows of D, words, columns switched off, whether there are delta columns."""

    log_probs_PD: Tensor
    words_P: Tensor
    cases: Cases
    delta: bool

    def part(self, start: int, end: int) -> _Given:
        cases = [(share, off if off is None or len(off) == 1 else off[start:end]) for share, off in self.cases]
        return _Given(self.log_probs_PD[start:end], self.words_P[start:end], cases, self.delta)


@dataclass(frozen=True, slots=True)
class _Layer:
    """The output layer over some positions, or the gradients with respect to its parts."""

    hidden_PH: Tensor
    weight_KH: Tensor
    bias_K: Tensor
    added_PG: Tensor
    """Added to the logits of folded columns."""
    own_PG: Tensor
    """Log probabilities in these."""

    def empty_like(self) -> _Layer:
        """Room for gradients; those of biases begin at 0."""
        hidden, weight, _, *folded = (torch.empty_like(tensor) for tensor in self.tensors())
        return _Layer(hidden, weight, torch.zeros_like(self.bias_K), *folded)

    def tensors(self) -> tuple[Tensor, ...]:
        """All parts."""
        return self.hidden_PH, self.weight_KH, self.bias_K, self.added_PG, self.own_PG

    def part(self, start: int, end: int) -> _Layer:
        """Some positions."""
        folded = (self.added_PG[start:end], self.own_PG[start:end])
        return _Layer(self.hidden_PH[start:end], self.weight_KH, self.bias_K, *folded)

    def logits(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Single logits: one column for each row."""
        products_RH = self.hidden_PH[rows].to(self.bias_K.dtype) * self.weight_KH[columns]
        return products_RH.sum(1) + self.bias_K[columns]


class _MixtureLoss(torch.autograd.Function):
    """Loss and gradients at once. Where the incoming gradient differs from position to position, it is done again."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> tuple[Tensor, Tensor]:
        *tensors, given = inputs
        layer = _Layer(*tensors)
        ctx.gradients = layer.empty_like()
        nll_P, mass_P = _losses(layer, given, ctx.gradients)
        ctx.save_for_backward(*tensors)
        ctx.given = given
        ctx.mark_non_differentiable(mass_P)
        return nll_P, mass_P

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_P: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        gradients, ctx.gradients = ctx.gradients, None
        factor = _common_value(grad_P)
        if gradients is None or factor is None:
            layer = _Layer(*ctx.saved_tensors)
            gradients = layer.empty_like()
            _losses(layer, ctx.given, gradients, grad_P if factor is None else None)
        if factor not in (None, 1.0):
            for tensor in gradients.tensors():
                tensor.mul_(factor)
        return *gradients.tensors(), None


def _common_value(grad_P: Tensor) -> float | None:
    """The one value of all elements, if they have one: that of a sum or mean over positions."""
    if grad_P.numel() == 0:
        return 1.0
    first = float(grad_P[0])
    return first if grad_P.stride(0) == 0 or bool((grad_P == first).all()) else None


def _losses(
    layer: _Layer, given: _Given, gradients: _Layer | None = None, scale_P: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """-log p and dense mass of all positions; fills the gradients of the sum of -log p, each times its scale."""
    hidden_PH, weight_KH, bias_K = layer.hidden_PH, layer.weight_KH, layer.bias_K
    positions, columns = len(hidden_PH), len(bias_K)
    nll_P, mass_P = bias_K.new_empty(positions), bias_K.new_empty(positions)
    narrow_K = bias_K.to(hidden_PH.dtype)
    if gradients is not None and positions == 0:
        gradients.weight_KH.zero_()
    rows = max(LEAST_ROWS, CHUNK_BYTES // (columns * hidden_PH.element_size()))
    ranges = even_ranges(positions, max(1, round(positions / rows)))
    for start, end in ranges:
        logits_PK = torch.mm(hidden_PH[start:end], weight_KH.t(), out=_scratch(end - start, columns, hidden_PH))
        logits_PK.add_(narrow_K)  # addmm would first write the biases to every row, which takes longer
        found = _to_gradients(logits_PK, given.part(start, end), layer.part(start, end))
        nll_P[start:end], mass_P[start:end], factor_P, *folded = found
        if gradients is None:
            continue
        if scale_P is not None:
            factor_P *= scale_P[start:end]
        for room, own_PG in zip((gradients.added_PG, gradients.own_PG), folded, strict=True):
            room[start:end] = own_PG if scale_P is None else own_PG * scale_P[start:end, None]
        torch.mm(logits_PK, weight_KH, out=gradients.hidden_PH[start:end]).mul_(factor_P[:, None])
        factored_PH = (hidden_PH[start:end] * factor_P[:, None]).to(hidden_PH.dtype)
        gradients.weight_KH.addmm_(logits_PK.t(), factored_PH, beta=float(start > 0))
        gradients.bias_K.add_((factor_P[None, :].to(logits_PK.dtype) @ logits_PK)[0])
    return nll_P, mass_P


def _scratch(rows: int, columns: int, like: Tensor) -> Tensor:
    """Room for a chunk's logits, kept from call to call: fresh memory costs as much as a pass over it."""
    room: Tensor | None = getattr(_ROOM, "cells", None)
    if room is None or room.numel() < rows * columns or room.dtype != like.dtype or room.device != like.device:
        with torch.inference_mode(False):  # memory made in that mode could not be written to outside it
            room = _ROOM.cells = torch.empty(rows * columns, dtype=like.dtype, device=like.device)
    return room[: rows * columns].view(rows, columns)


def _to_gradients(logits_PK: Tensor, given: _Given, layer: _Layer) -> tuple[Tensor, ...]:
    """-log p, dense mass and factor of each row; the logits become the gradient of -log p without that factor.

    Behind these come the gradients of what is added to the logits of folded columns, and of their log probabilities.
    """
    dense = given.log_probs_PD.shape[1]
    folded = slice(dense - layer.added_PG.shape[1], dense)
    logits_PK[:, folded] += layer.added_PG.to(logits_PK.dtype)
    scores_PC = _candidates(logits_PK, given).to(layer.bias_K.dtype)
    deltas_P1 = _to_deltas(logits_PK, scores_PC, given, layer) if given.delta else scores_PC[:, :0]
    nll_P, mass_P, factor_P = (scores_PC.new_zeros(len(scores_PC)) for _ in range(3))
    gradient_PC, own_PG = torch.zeros_like(scores_PC), torch.zeros_like(layer.own_PG)
    for share, off in given.cases:
        on_PC = scores_PC.clone()
        if off is not None:
            on_PC[:, :dense].masked_fill_(off, -torch.inf)
        log_normaliser_P = torch.cat([on_PC[:, :dense], deltas_P1], 1).logsumexp(1)
        weights_PC = (on_PC - log_normaliser_P[:, None]).exp_()
        on_PC[:, :dense] += given.log_probs_PD
        log_joint_P = on_PC.logsumexp(1)
        shares_PC = on_PC.sub_(log_joint_P[:, None]).exp_().nan_to_num_(0.0)  # no share of a p of 0
        nll_P += share * (log_normaliser_P - log_joint_P)
        mass_P += share * weights_PC[:, :dense].sum(1)
        factor_P += share * (deltas_P1 - log_normaliser_P[:, None]).exp_().sum(1)
        own_PG -= share * shares_PC[:, folded]
        gradient_PC += weights_PC.sub_(shares_PC).mul_(share)
    added_PG = gradient_PC[:, folded].clone()
    if given.delta:
        gradient_PC /= factor_P.clamp_(min=SMALLEST)[:, None]
        rows_P = torch.arange(len(logits_PK), device=logits_PK.device)
        logits_PK[rows_P, given.words_P + dense] = gradient_PC[:, dense].to(logits_PK.dtype)
    else:
        factor_P.fill_(1.0)
    logits_PK[:, :dense] = gradient_PC[:, :dense]
    return nll_P, mass_P, factor_P, added_PG, own_PG


def _candidates(values_PK: Tensor, given: _Given) -> Tensor:
    """A copy of the columns that can give a row's word a probability (C): all dense ones, and the delta of the word."""
    dense = given.log_probs_PD.shape[1]
    if not given.delta:
        return values_PK.clone()
    return torch.cat([values_PK[:, :dense], values_PK.gather(1, (given.words_P + dense)[:, None])], 1)


def _to_deltas(logits_PK: Tensor, scores_PC: Tensor, given: _Given, layer: _Layer) -> Tensor:
    """The log of the sum over exp(logits) of the deltas (P, 1); the logits become the deltas' weights among themselves.

    The sum follows from any delta whose logit and weight are both known: that of the word; where its weight is too
    small to be exact, the heaviest.
    """
    dense = given.log_probs_PD.shape[1]
    logits_PK[:, :dense] = -torch.inf
    weights_PK = torch.softmax(logits_PK, -1, out=logits_PK)
    score_P = scores_PC[:, dense].clone()
    weight_P = weights_PK.gather(1, (given.words_P + dense)[:, None])[:, 0].to(score_P.dtype)
    doubtful = (~(weight_P >= torch.finfo(weight_P.dtype).tiny * 1e8)).nonzero().squeeze(1)
    if len(doubtful):
        some_PK = weights_PK[doubtful].nan_to_num_(0.0)  # deltas whose logits all are -inf have no weight at all
        weights_PK[doubtful] = some_PK
        heaviest = some_PK.max(1)
        weight_P[doubtful] = heaviest.values.to(weight_P.dtype)
        score_P[doubtful] = layer.logits(doubtful, heaviest.indices)
    return torch.where(weight_P > 0, score_P - weight_P.log(), -torch.inf)[:, None]
