"""The uniform and the unknown column."""

from __future__ import annotations

import numpy as np
import pytest

from modlm.blocks import CONSTANT_BLOCKS, NOTHING, UniformBlock, UnknownBlock
from modlm.text import Vocabulary

PETS = Vocabulary.from_words(["cat", "dog"])  # J = 4: <unk> </s> cat dog; <s> is 4


def test_the_uniform_column_gives_every_word_the_same() -> None:
    columns_BJK, features_BF = UniformBlock(PETS).after(np.array([[4], [2]], dtype=np.uint32))
    assert columns_BJK.shape == (2, 4, 1)
    assert features_BF.shape == (2, 0)
    assert set(columns_BJK.ravel()) == {1 / 4}


def test_the_unknown_column_gives_all_to_the_unknown_word() -> None:
    columns_BJK, _ = UnknownBlock(PETS).after(np.array([[4]], dtype=np.uint32))
    assert columns_BJK[0, :, 0].tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("name", CONSTANT_BLOCKS)
def test_rows_are_entries_of_the_column_and_one_where_nothing_is_predicted(name: str) -> None:
    block = CONSTANT_BLOCKS[name](PETS)
    rows = block.rows(np.array([4, 0, 1, 2, 3, NOTHING], dtype=np.uint32))
    assert rows.probs_TK[:, 0].tolist() == [1.0, *block.column, 1.0]
    assert rows.features_TF.shape == (6, 0)


@pytest.mark.parametrize("name", CONSTANT_BLOCKS)
def test_constant_blocks_are_called_by_their_name_in_the_table(name: str) -> None:
    block = CONSTANT_BLOCKS[name](PETS)
    assert block.kind == name
    assert block.columns == (name,)
    assert block.features == ()
    assert block.reads.words == 0
