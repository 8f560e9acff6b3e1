"""Every block: columns that sum to one after any context, rows that are entries of them, features that are numbers.

The builders are made from the tables of families, so a new member is tested on arrival; a new kind of block that a
model folder can hold needs a builder here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modlm.blocks import CONSTANT_BLOCKS, NOTHING, NgramBlock
from modlm.blocks.block import ALONE, Beside, Block, one_each
from modlm.blocks.cache import CacheBlock
from modlm.blocks.function import FunctionBlock
from modlm.blocks.infinite import InfiniteBlock
from modlm.blocks.model import ModelBlock
from modlm.blocks.online import OnlineBlock
from modlm.counts.counts import Counts
from modlm.counts.indexing import index_corpus
from modlm.families import BLOCKS
from modlm.model.language_model import sliding_windows
from modlm.smoothing import SMOOTHERS, estimate
from modlm.text.corpus import Corpus
from modlm.text.vocabulary import Vocabulary
from small_texts import EDGES, TEXT_LISTS, TEXTS, contexts_of, counts_of, flat_ids, model_of, windows_of

Builder = Callable[[Counts], Block]


def smoothed(smoothing: str) -> Builder:
    return lambda counts: NgramBlock(estimate(SMOOTHERS[smoothing](), counts))


def constant(name: str) -> Builder:
    return lambda counts: CONSTANT_BLOCKS[name](counts.vocabulary)


def length(windows: list[list[str]], vocabulary: Vocabulary) -> np.ndarray:
    """The longer the window, the more of the mass on its last word."""
    probs_BJ = np.full((len(windows), len(vocabulary)), 1.0)
    for row, window in zip(probs_BJ, windows, strict=True):
        row[vocabulary.id(window[-1]) if window else 0] += len(window)
    return probs_BJ / probs_BJ.sum(axis=1, keepdims=True)


BUILDERS: dict[str, Builder] = {
    **{f"ngram {smoothing}": smoothed(smoothing) for smoothing in SMOOTHERS},
    **{name: constant(name) for name in CONSTANT_BLOCKS},
    "model": lambda counts: ModelBlock(model_of(["a b c", "a q"], order=3), counts.vocabulary),
    "infinite": lambda counts: InfiniteBlock(
        index_corpus(Corpus.from_text(["a b c", "a q"], counts.vocabulary)), least=(1, 2)
    ),
    "function": lambda counts: FunctionBlock(length, columns=("f",), context_length=2, vocabulary=counts.vocabulary),
    "cache": lambda counts: CacheBlock(counts.vocabulary, words=9),
    "online": lambda counts: OnlineBlock(counts.vocabulary, order=3, words=40, decay=0.9),
}


def check(block: Block, counts: Counts, text: list[str]) -> None:
    """What every block promises, along a text and after windows that were seen or not."""
    vocabulary = counts.vocabulary
    contexts = list(contexts_of(text))[:40]
    windows_BC = windows_of(vocabulary, contexts, length=7)
    columns_BJK, features_BF = block.after(windows_BC)
    assert columns_BJK.shape == (len(contexts), len(vocabulary), len(block.columns))
    assert features_BF.shape == (len(contexts), len(block.features))
    assert np.all(columns_BJK >= 0)
    assert np.allclose(columns_BJK.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert np.all(np.isfinite(features_BF))

    ids = flat_ids(counts, [*text[:6], "z a z", "b a"])
    rows = block.rows(ids)
    outside = ids == vocabulary.start
    assert np.all(rows.probs_TK[outside] == 1)
    assert np.all(rows.features_TF[outside] == 0)
    starts = np.maximum.accumulate(np.where(outside, np.arange(len(ids)), 0))
    windows_TC = sliding_windows(ids, 7)
    windows_TC[np.arange(7, 0, -1)[None, :] > (np.arange(len(ids)) - starts)[:, None]] = NOTHING
    beside = Beside(memory=memories(block, ids)[~outside]) if block.reads.learns else ALONE
    columns_TJK, features_TF = block.after(windows_TC[~outside], beside)
    assert np.allclose(columns_TJK[np.arange(len(columns_TJK)), ids[~outside]], rows.probs_TK[~outside], atol=1e-12)
    assert np.allclose(features_TF, rows.features_TF[~outside], atol=1e-12)


def memories(block: Block, ids: np.ndarray) -> np.ndarray:
    """What a block that learns remembers before each word of a text."""
    found_T, memory_1 = one_each(None, len(ids)), one_each(None, 1)
    for place in range(len(ids)):
        found_T[place] = memory_1[0]
        memory_1 = block.remember(memory_1, ids[place : place + 1])
    return found_T


def test_every_kind_of_block_that_a_folder_can_hold_is_tested() -> None:
    assert {name.split()[0] for name in BUILDERS} == set(BLOCKS) - {
        "causal-lm",
        "copy",
        "delta",
        "given",
        "hidden-cache",
        "lexicon",
    }  # where they are used


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("edge", EDGES)
def test_awkward_texts(builder: str, edge: str) -> None:
    for text in TEXTS.values():
        for order in (1, 2, 4):
            counts = counts_of(text, order=order, edge=edge)
            check(BUILDERS[builder](counts), counts, text)


@pytest.mark.parametrize("builder", BUILDERS)
@settings(max_examples=20)
@given(
    text=TEXT_LISTS,
    order=st.integers(1, 6),
    edge=st.sampled_from(EDGES),
    vocabulary=st.none() | st.lists(st.sampled_from("abcdxy"), unique=True),
)
def test_random_texts(builder: str, text: list[str], order: int, edge: str, vocabulary: list[str] | None) -> None:
    counts = counts_of(text, order=order, edge=edge, vocabulary=vocabulary)
    check(BUILDERS[builder](counts), counts, text)


@pytest.mark.parametrize("builder", BUILDERS)
def test_labels_parts_and_context_length(builder: str) -> None:
    block = BUILDERS[builder](counts_of(["a b c", "a b"], order=3))
    assert len(set(block.columns)) == len(block.columns) >= 1
    assert len(set(block.features)) == len(block.features)
    assert block.kind in BLOCKS
    assert all(array.ndim == 1 for array in block.parts().arrays.values())
    long = np.full((1, block.reads.words + 5), 2, dtype=np.uint32)
    short = long[:, : max(1, block.reads.words)].copy()
    assert np.array_equal(block.after(long)[0], block.after(short)[0])


@pytest.mark.parametrize("builder", BUILDERS)
def test_no_windows_and_no_text_give_empty_answers(builder: str) -> None:
    block = BUILDERS[builder](counts_of(["a b c"], order=2))
    nothing = np.zeros((0, 3), dtype=np.uint32)
    assert block.after(nothing)[0].shape == (0, 5, len(block.columns))
    assert block.rows(nothing.ravel()).probs_TK.shape == (0, len(block.columns))
