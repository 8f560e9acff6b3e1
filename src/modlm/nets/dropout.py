"""Dropout of inputs and outputs, with masks that do not depend on how a batch is shared out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

STEPS = 1 << 16


@dataclass(frozen=True, slots=True)
class Dropout:
    """Inverted dropout: values are dropped with probability `rate`, the others divided by 1 - rate.

    Every element of every step has its own draw. Masks are drawn for all `batch` sentences of a batch, of which this
    process holds those in `shard`, so that two processes see the masks that one would.
    """

    rate: float
    generator: torch.Generator
    batch: int | None = None
    """Sentences in the whole batch; none: those that come in."""
    shard: slice | None = None
    """Which of them this process holds; none: all."""

    def __call__(self, values_TBX: Tensor) -> Tensor:
        if self.rate == 0:
            return values_TBX
        return values_TBX * self.mask(values_TBX)

    def mask(self, values_TBX: Tensor) -> Tensor:
        """0 where values are dropped, else 1 / (1 - rate); 16 random bits decide, to which the rate is rounded."""
        steps, sentences, size = values_TBX.shape
        shape = (steps, sentences if self.batch is None else self.batch, size)
        draws = torch.empty(-(-math.prod(shape) // 4), dtype=torch.int64)
        draws.random_(torch.iinfo(torch.int64).min, None, generator=self.generator)
        dropped = min(round(self.rate * STEPS), STEPS - 1)
        kept_TBX = draws.view(torch.int16)[: math.prod(shape)].view(shape) >= dropped - STEPS // 2
        return kept_TBX[:, self.shard or slice(None)].to(values_TBX).mul_(STEPS / (STEPS - dropped))
