"""The laws of `modlm.testing`: every member of every family keeps them, and what breaks one is shown."""

from __future__ import annotations

import numpy as np
import pytest
from torch import Tensor

from modlm.blocks import CONSTANT_BLOCKS, ColumnLayout, DeltaBlock, NgramBlock, Rows
from modlm.blocks.block import ALONE, Beside
from modlm.blocks.cache import CacheBlock
from modlm.blocks.function import FunctionBlock
from modlm.blocks.model import ModelBlock
from modlm.blocks.online import OnlineBlock
from modlm.families import BODIES, SMOOTHERS
from modlm.mixers import StaticMixer
from modlm.nets.bodies import FeedForward
from modlm.smoothing import estimate
from modlm.smoothing.witten_bell import WittenBell
from modlm.testing import BrokenLawError, check_block, check_body, check_mixer, check_smoother
from nets.small_mixtures import SETTINGS, mixture_of
from small_texts import TEXTS, counts_of, model_of

COUNTS = counts_of(TEXTS["random sentences"], order=3)
VOCABULARY = COUNTS.vocabulary


def flat(windows: list[list[str]], vocabulary: object) -> np.ndarray:
    return np.full((len(windows), len(VOCABULARY)), 1 / len(VOCABULARY))


@pytest.mark.parametrize("smoothing", SMOOTHERS)
def test_every_smoothing_family_keeps_its_laws(smoothing: str) -> None:
    check_smoother(SMOOTHERS[smoothing]())


def test_every_kind_of_column_keeps_its_laws() -> None:
    for block in (
        NgramBlock(estimate(WittenBell(), COUNTS)),
        *(constant(VOCABULARY) for constant in CONSTANT_BLOCKS.values()),
        DeltaBlock(VOCABULARY),
        ModelBlock(model_of(TEXTS["random sentences"], order=2), VOCABULARY),
        FunctionBlock(flat, columns=("flat",), context_length=1, vocabulary=VOCABULARY),
        CacheBlock(VOCABULARY, words=7, decay=0.8),
        OnlineBlock(VOCABULARY),
        OnlineBlock(VOCABULARY, order=2, words=20, decay=0.9, across=True),
    ):
        check_block(block)


@pytest.mark.parametrize("settings", SETTINGS)
def test_every_net_keeps_the_laws_of_a_mixer(settings: str) -> None:
    mixture = mixture_of(**SETTINGS[settings])
    check_mixer(mixture.mixer, mixture.layout)


@pytest.mark.parametrize("body", [name for name in BODIES if name != "attention"])  # which reads a source
def test_every_body_keeps_its_laws(body: str) -> None:
    check_body(BODIES[body])


class Improper(CONSTANT_BLOCKS["uniform"]):  # type: ignore[misc]
    """Sums to 2 after any context."""

    def after(self, windows_BC: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        columns, features = super().after(windows_BC)
        return columns * 2, features


class OtherRows(CONSTANT_BLOCKS["uniform"]):  # type: ignore[misc]
    """Says other things along a text than after a window."""

    def rows(self, ids: np.ndarray) -> Rows:
        rows = super().rows(ids)
        return Rows(np.where(ids[:, None] == VOCABULARY.start, 1.0, rows.probs_TK / 2), rows.features_TF)


class Hasty(OnlineBlock):
    """Counts a word before it scores it."""

    def rows(self, ids: np.ndarray, beside: Beside = ALONE) -> Rows:
        after = super().rows(ids, beside)
        return Rows(super().rows(ids, Beside(memory=after.memory)).probs_TK, after.features_TF, after.memory)


class Greedy(WittenBell):
    """Passes on more than there is."""

    def discounts(self, counts_of_counts: np.ndarray) -> tuple[np.ndarray, str]:
        return np.array([0.0, 1.5]), ""


class Prophet(FeedForward):
    """Looks at the whole text."""

    def forward(self, inputs_TBI: Tensor, state: Tensor | None, dropout: object) -> tuple[Tensor, Tensor]:
        return super().forward(inputs_TBI + inputs_TBI.mean(dim=0), state, dropout)


class Unfair(StaticMixer):
    """Weights that sum to 2."""

    def log_weights(
        self, contexts: np.ndarray, features: np.ndarray, state: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        found, after = super().log_weights(contexts, features, state)
        return found + np.log(2), after


def test_what_breaks_a_law_is_told_with_the_smallest_case() -> None:
    with pytest.raises(BrokenLawError, match=r"every column sums to 1. Found: after '<s>' the sums are \[2"):
        check_block(Improper(VOCABULARY))
    with pytest.raises(BrokenLawError, match=r"a row is an entry of each column"):
        check_block(OtherRows(VOCABULARY))
    with pytest.raises(BrokenLawError, match=r"scored by what was read before it"):
        check_block(Hasty(VOCABULARY))
    with pytest.raises(BrokenLawError, match=r"less than r. Found: order 1"):
        check_smoother(Greedy())
    with pytest.raises(BrokenLawError, match="nothing later changes"):
        check_body(Prophet)
    layout = ColumnLayout({"uniform": CONSTANT_BLOCKS["uniform"](VOCABULARY)})
    with pytest.raises(BrokenLawError, match="weights sum to 1"):
        check_mixer(Unfair(np.ones(1)), layout)
