"""Dropout of inputs, outputs, words and weights, with masks that do not depend on how a batch is shared out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from modlm.nets.config import NetConfig

STEPS = 1 << 16


@dataclass(frozen=True, slots=True)
class Dropout:
    """Inverted dropout: values are dropped with probability `rate`, the others divided by 1 - rate.

    Masks are drawn for all `batch` sentences of a batch, of which this process holds those in `shard`, so that two
    processes see the masks that one would.
    """

    rate: float
    """Of what a layer gives to the next, and the last to the output."""
    generator: torch.Generator
    batch: int | None = None
    """Sentences in the whole batch; none: those that come in."""
    shard: slice | None = None
    """Which of them this process holds; none: all."""
    input_rate: float | None = None
    """Of what goes into the first layer; none: `rate`."""
    word_rate: float = 0.0
    """Of words: in the whole batch, the vector of a dropped word is zero wherever it is read."""
    weight_rate: float = 0.0
    """Of the weights by which a recurrent layer reads its own state, one draw for the whole batch."""
    locked: bool = False
    """Whether a sentence keeps its mask from step to step; if not, every element of every step has its own draw."""

    @classmethod
    def of(cls, config: NetConfig, generator: torch.Generator, batch: int, shard: slice) -> Dropout:
        """What a net's configuration asks for."""
        return cls(
            config.dropout, generator, batch, shard,
            input_rate=config.input_dropout if config.input_dropout >= 0 else None,
            word_rate=config.word_dropout, weight_rate=config.weight_dropout, locked=config.locked,
        )  # fmt: skip

    def __call__(self, values_TBX: Tensor) -> Tensor:
        """What is left of a layer's output."""
        return self._dropped(values_TBX, self.rate)

    def inputs(self, values_TBX: Tensor) -> Tensor:
        """What is left of the input of the first layer."""
        return self._dropped(values_TBX, self.rate if self.input_rate is None else self.input_rate)

    def words(self, vectors_TBWE: Tensor, contexts_TBW: Tensor, words: int) -> Tensor:
        """Vectors of contexts without those of the words that this batch drops."""
        if self.word_rate == 0:
            return vectors_TBWE
        factors_J = self._factors((words,), self.word_rate).to(vectors_TBWE)
        return vectors_TBWE * factors_J[contexts_TBW][..., None]

    def weights(self, weights_XY: Tensor) -> Tensor:
        """What is left of recurrent weights."""
        if self.weight_rate == 0:
            return weights_XY
        return weights_XY * self._factors(tuple(weights_XY.shape), self.weight_rate).to(weights_XY)

    def _dropped(self, values_TBX: Tensor, rate: float) -> Tensor:
        if rate == 0:
            return values_TBX
        steps, sentences, size = values_TBX.shape
        shape = (1 if self.locked else steps, sentences if self.batch is None else self.batch, size)
        return values_TBX * self._factors(shape, rate)[:, self.shard or slice(None)].to(values_TBX)

    def _factors(self, shape: tuple[int, ...], rate: float) -> Tensor:
        """0 where values are dropped, else 1 / (1 - rate); 16 random bits decide, to which the rate is rounded."""
        draws = torch.empty(-(-math.prod(shape) // 4), dtype=torch.int64)
        draws.random_(torch.iinfo(torch.int64).min, None, generator=self.generator)
        dropped = min(round(rate * STEPS), STEPS - 1)
        kept = draws.view(torch.int16)[: math.prod(shape)].view(shape) >= dropped - STEPS // 2
        return kept.to(torch.float32).mul_(STEPS / (STEPS - dropped))
