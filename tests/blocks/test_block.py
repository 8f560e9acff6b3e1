"""The layout of columns, and windows as text."""

from __future__ import annotations

import numpy as np
import pytest

from modlm.blocks import NOTHING, ColumnLayout, NgramBlock, Rows, UniformBlock, UnknownBlock
from modlm.blocks.block import Block, Reads, flattened
from modlm.blocks.model import ModelBlock
from modlm.errors import ModlmError
from modlm.smoothing import SMOOTHERS, estimate
from small_texts import counts_of, model_of


def ngram_block(order: int = 2) -> NgramBlock:
    return NgramBlock(estimate(SMOOTHERS["witten-bell"](), counts_of(["a b"], order=order)))


def test_columns_are_called_by_their_labels_and_counted_in_order() -> None:
    block = ngram_block()
    layout = ColumnLayout({"ngram": block, "uniform": UniformBlock(block.vocabulary)})
    assert layout.names == ("1-gram", "2-gram", "uniform")
    assert len(layout) == 3
    assert layout.spans["ngram"].columns == slice(0, 2)
    assert layout.spans["uniform"].columns == slice(2, 3)
    assert layout.spans["ngram"].features == slice(0, 6)  # seen, log total, log followers for two orders
    assert layout.features == 6


def test_labels_that_would_be_ambiguous_get_the_name_of_their_block() -> None:
    blocks: dict[str, Block] = {"news": ngram_block(1), "talk": ngram_block(1)}
    assert ColumnLayout(blocks).names == ("news/1-gram", "talk/1-gram")


def test_a_column_without_a_label_is_called_by_its_block() -> None:
    model = model_of(["a b"])
    blocks: dict[str, Block] = {
        "news": ModelBlock(model, model.vocabulary),
        "uniform": UniformBlock(model.vocabulary),
    }
    assert ColumnLayout(blocks).names == ("news", "uniform")


def test_rows_of_blocks_stand_side_by_side() -> None:
    block = ngram_block()
    ids = np.array([4, 2, 3, 1], dtype=np.uint32)
    constant = UnknownBlock(block.vocabulary)
    joined = Rows.joined([block.rows(ids), constant.rows(ids)])
    assert joined.probs_TK.shape == (4, 3)
    assert joined.features_TF.shape == (4, 6)
    assert joined.probs_TK[:, 2].tolist() == [1.0, 0.0, 0.0, 0.0]  # `<s>` is never predicted, the rest are known


def test_windows_become_a_text_in_which_every_row_begins_with_nothing() -> None:
    windows_BC = np.array([[NOTHING, 5], [2, 3]], dtype=np.uint32)
    flat = flattened(windows_BC, np.array([7, 8], dtype=np.uint32))
    assert flat.tolist() == [NOTHING, NOTHING, 5, 7, NOTHING, 2, 3, 8]


def test_rows_from_windows_are_not_for_blocks_that_read_documents() -> None:
    class Reader(UniformBlock):
        reads = Reads(document=True)
        rows = Block.rows

    with pytest.raises(ModlmError, match="reads documents"):
        Reader(counts_of(["a"]).vocabulary).rows(np.zeros(0, np.uint32))


def test_a_block_that_learns_must_say_what_it_remembers() -> None:
    class Learner(UniformBlock):
        reads = Reads(learns=True)
        rows = Block.rows

    with pytest.raises(ModlmError, match="says what it remembers"):
        Learner(counts_of(["a"]).vocabulary).rows(np.zeros(1, np.uint32))
