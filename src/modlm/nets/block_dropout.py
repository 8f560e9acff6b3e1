"""Block dropout (section 5.2 of the paper): some training examples have to do without the count-based columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from modlm.blocks.block import Span
from modlm.errors import ConfigError, nearest
from modlm.nets.batches import Batch
from modlm.nets.config import EXACT, BlockDropoutConfig
from modlm.nets.mixture_loss import ALL_ON, Cases

CONSTANT = ("uniform", "unknown")


class BlockDropout:
    """Says which dense columns are switched off where, or in which cases; the others are renormalised by the loss.

    `spans` are those of all dense blocks, constant ones included, as `ColumnLayout.spans` has them.
    """

    def __init__(self, config: BlockDropoutConfig, spans: Mapping[str, Span], *, delta: bool) -> None:
        self.config = config
        dense = max((span.columns.stop for span in spans.values()), default=0)
        groups = config.groups or (tuple(name for name in spans if name not in CONSTANT),)
        groups = tuple(group for group in groups if group)
        self.off_GD = torch.zeros(len(groups) + 1, dense, dtype=torch.bool)  # the last row: nothing is off
        for g, group in enumerate(groups):
            for name in group:
                self.off_GD[g, _span(name, spans).columns] = True
            if config.rate > 0 and not delta and bool(self.off_GD[g].all()):
                raise ConfigError(
                    f"block_dropout would switch off all columns: {', '.join(group)} is everything this model mixes. "
                    f'Leave a block out of the group, or keep a constant column (extra = ["uniform"]).'
                )

    def cases(self, batch: Batch, *, rate: float, generator: torch.Generator, shard: slice | None = None) -> Cases:
        """The cases of each position to be predicted: the one that was drawn, or all with the shares they are due."""
        groups = len(self.off_GD) - 1
        device = batch.words_P.device
        if rate > 0 and groups and self.config.per == EXACT:
            off_GD = self.off_GD.to(device)
            return [(1 - rate, None), *((rate / groups, off_GD[g : g + 1]) for g in range(groups))]
        off_TBD = self.off(*batch.whole, rate=rate, generator=generator, shard=shard)
        return ALL_ON if off_TBD is None else ((1.0, batch.predicted(off_TBD.to(device))),)

    def off(
        self,
        steps: int,
        sentences: int,
        *,
        rate: float,
        generator: torch.Generator,
        shard: slice | None = None,
    ) -> Tensor | None:
        """off_TBD for the sentences in `shard` out of all `sentences` of a batch, True where a column is off.

        None when nothing can be. With probability `rate` one group is off, each as often as the others. The generator
        moves on by the same draws whatever the shard.
        """
        groups = len(self.off_GD) - 1
        if rate <= 0 or groups == 0:
            return None
        draws_TB = torch.rand(steps, sentences if self.config.per == "example" else 1, generator=generator)
        group_TB = (draws_TB * (groups / rate)).long().clamp_(max=groups - 1)
        group_TB[draws_TB >= rate] = groups
        return self.off_GD[group_TB.expand(steps, sentences)[:, shard or slice(None)]]


def folded_spans(spans: Mapping[str, Span], names: Sequence[str]) -> dict[str, Span]:
    """Those of dense blocks, and behind them one column for each block over the words of a source."""
    dense = max((span.columns.stop for span in spans.values()), default=0)
    own = {name: Span(name, slice(at, at + 1), slice(0, 0)) for at, name in enumerate(names, start=dense)}
    return {**spans, **own}


def _span(name: str, spans: Mapping[str, Span]) -> Span:
    if name not in spans:
        raise ConfigError(
            f"block_dropout.groups names {name!r}, which is no block of this model.{nearest(name, spans)} "
            f"Blocks: {', '.join(spans) or 'none'}."
        )
    return spans[name]
