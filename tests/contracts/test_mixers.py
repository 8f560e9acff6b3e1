"""Every mixer over every family of columns: weights that sum to one, and D times lambda that does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import modlm
from modlm.blocks import CONSTANT_BLOCKS, ColumnLayout, NgramBlock
from modlm.blocks.block import Block, Rows, rows_of
from modlm.blocks.model import ModelBlock
from modlm.counts.counts import Counts
from modlm.mixers import MIXERS, Mixer, StaticMixer
from modlm.model.mixture import Mixture
from modlm.smoothing import SMOOTHERS, estimate
from modlm.text.corpus import Corpus
from small_texts import EDGES, TEXT_LISTS, TEXTS, contexts_of, counts_of, model_of, windows_of

Builder = Callable[[Mapping[str, Block]], Mixer]


def fitted(name: str, blocks: Mapping[str, Block]) -> Mixer:
    """Each mixer of the table as it comes out of a few words."""
    layout, vocabulary = ColumnLayout(blocks), next(iter(blocks.values())).vocabulary
    ids = Corpus.from_text(["a b a", "c", "b b c a"], vocabulary).ids
    rows = rows_of(blocks, ids)
    kept = ids != vocabulary.start
    made: Mixer = MIXERS[name].fitted(layout, blocks, Rows(rows.probs_TK[kept], rows.features_TF[kept]))
    return made


def one_column_off(blocks: Mapping[str, Block]) -> Mixer:
    raw = np.arange(len(ColumnLayout(blocks)), dtype=np.float64)
    return StaticMixer(raw / raw.sum())


BUILDERS: dict[str, Builder] = {name: partial(fitted, name) for name in MIXERS if name != "net"}  # tested in tests/nets
BUILDERS["static, one column off"] = one_column_off


def mixture_of(counts: Counts, mixer: str, smoothing: str, constants: tuple[str, ...], *, model: bool) -> Mixture:
    """All kinds of columns in one mixture."""
    blocks: dict[str, Block] = {"ngram": NgramBlock(estimate(SMOOTHERS[smoothing](), counts))}
    blocks |= {name: CONSTANT_BLOCKS[name](counts.vocabulary) for name in constants}
    if model:
        blocks["other"] = ModelBlock(model_of(["a b c", "a q"], order=3), counts.vocabulary)
    return Mixture(counts.vocabulary, blocks, BUILDERS[mixer](blocks))


def check(mixture: Mixture, text: list[str]) -> None:
    """Weights and distributions after contexts that were seen or not."""
    contexts = list(contexts_of(text))[:30]
    windows_BC = windows_of(mixture.vocabulary, contexts, length=5)
    states = mixture.state_after(windows_BC)
    _, _, weights_BK = mixture.shares(windows_BC, np.zeros(len(states), dtype=np.uint32))
    assert weights_BK.shape == (len(contexts), len(mixture.layout))
    assert np.all(weights_BK >= 0)
    assert np.allclose(weights_BK.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    rows_BJ = mixture.distributions(states)
    assert np.all(rows_BJ >= 0)
    assert np.allclose(rows_BJ.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("mixer", BUILDERS)
def test_mixers_are_what_the_table_says_and_come_back_from_a_folder(mixer: str, tmp_path: Path) -> None:
    mixture = mixture_of(counts_of(["a b", "c a"]), mixer, "absolute", ("uniform",), model=True)
    assert mixture.mixer.kind == mixer.partition(",")[0]
    mixture.save(tmp_path / "model")
    again = modlm.load(tmp_path / "model")
    assert np.array_equal(again.next_distribution("a"), mixture.next_distribution("a"))


@pytest.mark.parametrize("mixer", BUILDERS)
@pytest.mark.parametrize("smoothing", SMOOTHERS)
def test_awkward_texts(mixer: str, smoothing: str) -> None:
    for text in TEXTS.values():
        for edge in EDGES:
            counts = counts_of(text, order=3, edge=edge)
            check(mixture_of(counts, mixer, smoothing, tuple(CONSTANT_BLOCKS), model=False), text)


@pytest.mark.parametrize("mixer", BUILDERS)
@settings(max_examples=40)
@given(
    text=TEXT_LISTS,
    smoothing=st.sampled_from(list(SMOOTHERS)),
    order=st.integers(1, 6),
    edge=st.sampled_from(EDGES),
    constants=st.permutations(tuple(CONSTANT_BLOCKS)).flatmap(
        lambda names: st.integers(1, len(names)).map(lambda n: tuple(names[:n]))
    ),
    model=st.booleans(),
)
def test_random_texts(
    mixer: str, text: list[str], smoothing: str, order: int, edge: str, constants: tuple[str, ...], model: bool
) -> None:
    counts = counts_of(text, order=order, edge=edge)
    check(mixture_of(counts, mixer, smoothing, constants, model=model), text)


@pytest.mark.parametrize("mixer", BUILDERS)
def test_no_contexts_have_no_weights(mixer: str) -> None:
    mixture = mixture_of(counts_of(["a b"]), mixer, "absolute", ("uniform",), model=False)
    weights_BK = mixture.mixer.weights(np.zeros((0, mixture.layout.features)))
    assert weights_BK.shape == (0, len(mixture.layout))
