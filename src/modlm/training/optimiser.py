"""How parameters move: optimisers with clipping in the same pass, and an average over the last stretch of training.

The norm is that of the loss summed over the batch, as in the paper. The average predicts better than where they stand.
torch's own fused updates are called as functions; its optimiser classes do the same, but load its compiler, which takes
longer than preparing a small run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adam import adam
from torch.optim.adamw import adamw
from torch.optim.sgd import sgd

from modlm.errors import ModelFolderError
from modlm.training.config import OptimiserConfig

BETAS: dict[str, Any] = {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "amsgrad": False, "maximize": False}
PLAIN = {"momentum": 0.0, "dampening": 0.0, "nesterov": False, "maximize": False}
SCALES_ITSELF = ("cpu", "cuda")  # devices whose fused updates divide gradients by `grad_scale` on the way
STEPS = "step"
EVERY = 8  # updates between two looks of the average: taking all parameters in costs a tenth of an update
MOMENTS = ("mean", "square", STEPS)
Memory = dict[str, list[Tensor]]


def _adam(
    rule: Callable[..., None], parameters: list[Tensor], gradients: list[Tensor], memory: Memory, **settings: object
) -> None:
    rule(parameters, gradients, memory["mean"], memory["square"], [], memory[STEPS], fused=True, **settings, **BETAS)


def _sgd(parameters: list[Tensor], gradients: list[Tensor], memory: Memory, **settings: object) -> None:
    sgd(parameters, gradients, [None] * len(parameters), fused=True, **settings, **PLAIN)  # type: ignore[arg-type]


RULES: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
    "adam": (partial(_adam, adam), MOMENTS),
    "adamw": (partial(_adam, adamw), MOMENTS),
    "sgd": (_sgd, ()),
}


class Optimiser:
    """Moves parameters along their gradients. `memory` is what it keeps: the moments of Adam and their steps.

    `lazy` are matrices of which most rows have no gradient at a step, word vectors say. Adam otherwise goes on moving
    such a row along its last gradients, by about thirty learning rates in all each time it has one; lazily, it moves
    only while it has one, by a few.
    """

    def __init__(
        self, config: OptimiserConfig, parameters: Iterable[nn.Parameter], *, lazy: Iterable[nn.Parameter] = ()
    ) -> None:
        self.clip, self.weight_decay = config.clip, config.weight_decay
        self.parameters = [parameter for parameter in parameters if parameter.requires_grad]
        self.update, names = RULES[config.kind]
        every = [parameter.detach() for parameter in self.parameters]
        self.memory = {name: [own.new_zeros(() if name == STEPS else own.shape) for own in every] for name in names}
        wanted = {id(parameter) for parameter in lazy} if config.lazy and names else set()
        self.lazy = [number for number, parameter in enumerate(self.parameters) if id(parameter) in wanted]
        self.eager = [number for number in range(len(self.parameters)) if number not in self.lazy]

    def gradients(self) -> list[Tensor]:
        """The gradient of every parameter; zeros for those that had no part in the loss."""
        for parameter in self.parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        return [parameter.grad for parameter in self.parameters if parameter.grad is not None]

    def clear(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    def norm(self) -> float:
        """The length of all gradients as one vector; infinite or NaN when one of them is."""
        flat = [gradient.reshape(-1) for gradient in self.gradients()]
        return float(torch.stack([torch.dot(gradient, gradient) for gradient in flat]).sum().sqrt())

    @torch.no_grad()
    def step(self, *, learning_rate: float, norm: float) -> None:
        """One update with gradients cut down to the norm allowed."""
        gradients = self.gradients()
        divisor = norm / self.clip if 0 < self.clip < norm else 1.0
        scale = None
        if divisor != 1 and gradients[0].device.type in SCALES_ITSELF:
            scale = torch.tensor(divisor, device=gradients[0].device)
        elif divisor != 1:
            torch._foreach_mul_(gradients, 1 / divisor)
        self.update(
            [self.parameters[number] for number in self.eager],
            [gradients[number] for number in self.eager],
            {name: [values[number] for number in self.eager] for name, values in self.memory.items()},
            lr=learning_rate,
            weight_decay=self.weight_decay,
            grad_scale=scale,
        )
        for number in self.lazy:
            divisor = 1.0 if scale is None else divisor
            self._move_rows(number, gradients[number], learning_rate=learning_rate, divisor=divisor)

    def _move_rows(self, number: int, gradient_XH: Tensor, *, learning_rate: float, divisor: float) -> None:
        """Adam with decoupled weight decay for the rows that have a gradient; steps count as for all others."""
        parameter_XH, steps = self.parameters[number], self.memory[STEPS][number]
        mean_XH, square_XH = self.memory["mean"][number], self.memory["square"][number]
        beta1, beta2 = BETAS["beta1"], BETAS["beta2"]
        steps += 1
        rows_R = gradient_XH.abs().amax(1).nonzero().squeeze(1)
        gradient_RH = gradient_XH[rows_R] / divisor
        mean_RH = mean_XH[rows_R].lerp_(gradient_RH, 1 - beta1)
        square_RH = square_XH[rows_R].mul_(beta2).addcmul_(gradient_RH, gradient_RH, value=1 - beta2)
        done = float(steps)
        root_RH = (square_RH / (1 - beta2**done)).sqrt_().add_(BETAS["eps"])
        kept = 1 - learning_rate * self.weight_decay
        moved_RH = parameter_XH[rows_R].mul_(kept).addcdiv_(mean_RH, root_RH, value=-learning_rate / (1 - beta1**done))
        for whole_XH, part_RH in ((mean_XH, mean_RH), (square_XH, square_RH), (parameter_XH, moved_RH)):
            whole_XH.index_copy_(0, rows_R, part_RH)

    def tensors(self) -> dict[str, Tensor]:
        """The memory by name: what it is and the number of the parameter."""
        return {
            f"{name}.{number}": value for name, values in self.memory.items() for number, value in enumerate(values)
        }

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        own = self.tensors()
        if {name: value.shape for name, value in own.items()} != {name: value.shape for name, value in tensors.items()}:
            raise ModelFolderError(
                "The checkpoint's optimiser has other parameters than this run. It belongs to another run; begin anew "
                "in another folder."
            )
        for name, value in tensors.items():
            own[name].copy_(value)


class Average:
    """A mean in which parameters of `half_life` words ago count half; at first a plain one of all there have been."""

    def __init__(self, half_life: int, parameters: Iterable[nn.Parameter]) -> None:
        self.half_life = half_life
        self.parameters = list(parameters)
        self.means = [parameter.detach().clone() for parameter in self.parameters] if half_life else []

    @torch.no_grad()
    def take_in(self, step: int, words: int) -> None:
        """Look at the parameters after an update on a batch of so many words."""
        if not self.half_life or step % EVERY:
            return
        fading = 1 - 0.5 ** (EVERY * words / self.half_life)
        torch._foreach_lerp_(self.means, [*self.parameters], max(fading, EVERY / step))

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The net with the averages as its parameters, for a while."""
        before = [parameter.data for parameter in self.parameters] if self.half_life else []
        for parameter, mean in zip(self.parameters, self.means, strict=False):
            parameter.data = mean
        try:
            yield
        finally:
            for parameter, data in zip(self.parameters, before, strict=False):
                parameter.data = data

    def tensors(self) -> dict[str, Tensor]:
        """The averages by number of the parameter."""
        return {str(number): mean for number, mean in enumerate(self.means)}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        for name, mean in self.tensors().items():
            mean.copy_(tensors[name])
