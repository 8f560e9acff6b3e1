"""How counts become an n-gram model: the settings of that, checked before anything is counted, and the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from modlm.blocks import CONSTANT_BLOCKS, NgramBlock
from modlm.blocks.block import Block, ColumnLayout
from modlm.counts import MAX_ORDER, Counts
from modlm.errors import ConfigError
from modlm.ground.arrays import Floats
from modlm.mixers import HeuristicMixer
from modlm.model.mixture import Mixture
from modlm.model.ngram.pruning import check_thresholds
from modlm.smoothing import SMOOTHERS, Estimates, Smoother, estimate, smoother_of
from modlm.smoothing.estimates import given_discounts
from modlm.text.corpus import Corpus
from modlm.text.sources import Text

DEFAULT_SMOOTHING = "modified-kneser-ney"


@dataclass(frozen=True, slots=True, kw_only=True)
class NgramSettings:
    """How counts became a model."""

    smoothing: str = DEFAULT_SMOOTHING
    parameters: dict[str, Any] = field(default_factory=dict)  # those of the smoothing family, learned ones too
    discounts: tuple[tuple[float, ...], ...] = ()
    """For each order, what counts of 1, 2, … lose; the last holds for all larger ones."""
    extra: tuple[str, ...] = ("uniform",)  # the columns that share what falls through the unigrams
    prune: tuple[int, ...] = ()  # for each order, the raw count up to which n-grams were dropped
    prune_entropy: float = 0.0  # the relative rise in perplexity for which an n-gram was dropped

    @property
    def smoother(self) -> Smoother:
        made: Smoother = SMOOTHERS[self.smoothing](**self.parameters)
        return made

    @property
    def tables(self) -> tuple[Floats, ...]:
        """For each order, what counts of 0, 1, 2, … lose."""
        return tuple(np.array([0.0, *row]) for row in self.discounts)


def settings_of(
    estimates: Estimates, extra: Sequence[str], *, prune: Sequence[int] = (), prune_entropy: float = 0.0
) -> NgramSettings:  # fmt: skip
    return NgramSettings(
        smoothing=estimates.smoother.name,
        parameters=estimates.smoother.parameters(),
        discounts=tuple(tuple(table[1:].tolist()) for table in estimates.discounts),
        extra=tuple(extra),
        prune=tuple(prune),
        prune_entropy=prune_entropy,
    )


def estimated(
    counts: Counts, smoothing: str | Smoother, held_out: Text | None, discounts: Sequence[Sequence[float]] | None,
    extra: Sequence[str],
) -> Estimates:  # fmt: skip
    """Counts smoothed for a model, with extra columns that there are."""
    if not set(extra) <= set(CONSTANT_BLOCKS) or "uniform" not in extra:
        raise ConfigError(f"extra columns must be 'uniform', or 'uniform' and 'unknown', but are {', '.join(extra)}.")
    own = None if held_out is None else np.asarray(Corpus.from_text(held_out, counts.vocabulary).ids)
    return estimate(smoother_of(smoothing), counts, discounts=discounts, held_out=own)


def check_estimation(
    order: int | None, *, smoothing: str | Smoother, discounts: Sequence[Sequence[float]] | None, prune: Sequence[int]
) -> None:
    """Refuse before counting what would be refused after it; without an order, as far as that can be known."""
    smoother_of(smoothing)
    if prune:
        check_thresholds(prune, order or MAX_ORDER)
    if discounts:
        given_discounts(discounts, order or len(discounts))


def mixture_from_counts(
    counts: Counts,
    *,
    smoothing: str | Smoother = DEFAULT_SMOOTHING,
    held_out: Text | None = None,
    discounts: Sequence[Sequence[float]] | None = None,
    extra: Sequence[str] = ("uniform",),
) -> Mixture:
    """The orders of counts as columns under heuristic weights: the form of skip n-grams, which cannot be compiled."""
    return heuristic_mixture(estimated(counts, smoothing, held_out, discounts, extra), extra=extra)


def lowest_of(extra: Sequence[str], vocab_size: int) -> Floats:
    """What unigrams fall back to: the mean of the constant columns."""
    lowest: Floats = np.mean([CONSTANT_BLOCKS[name].distribution(vocab_size) for name in extra], axis=0)
    return lowest


def heuristic_mixture(estimates: Estimates, *, extra: Sequence[str] = ("uniform",)) -> Mixture:
    """The orders as columns, the family's own fallbacks as weights."""
    vocabulary = estimates.counts.vocabulary
    blocks: dict[str, Block] = {"ngram": NgramBlock(estimates)}
    blocks |= {name: CONSTANT_BLOCKS[name](vocabulary) for name in extra}
    return Mixture(vocabulary, blocks, HeuristicMixer(ColumnLayout(blocks), estimates.smoother))
