"""An average of the parameters over the last stretch of training, which predicts better than where they stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

EVERY = 8  # updates between two looks at the parameters: taking all of them in costs a tenth of an update


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
