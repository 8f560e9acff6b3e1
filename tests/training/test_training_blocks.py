"""The columns that a run's settings name, as blocks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from modlm.blocks import NgramBlock
from modlm.blocks.model import ModelBlock
from modlm.counts import export_counts
from modlm.counts.counting import count_text
from modlm.errors import InputError, ModelFolderError, VocabularyError
from modlm.model.folder import save
from modlm.smoothing import SMOOTHERS, estimate
from modlm.text import Corpus
from modlm.training.blocks import all_blocks, columns_of, dense_blocks
from modlm.training.config import ColumnsConfig, RunConfig
from small_texts import TEXTS, model_of

CONFIG = RunConfig(text="train", valid="valid")


@pytest.fixture
def train() -> Corpus:
    return Corpus.from_text(TEXTS["random sentences"])


def test_a_run_without_columns_gets_an_ngram_block() -> None:
    assert columns_of(CONFIG) == {"ngram": ColumnsConfig()}
    named = {"mine": ColumnsConfig(order=2)}
    assert columns_of(replace(CONFIG, columns=named)) == named


def test_columns_are_count_blocks_then_the_constant_ones_then_deltas(train: Corpus) -> None:
    expected = {("unknown", "uniform"): ["ngram", "uniform", "unknown", "delta"], (): ["ngram", "delta"]}
    for extra, names in expected.items():
        config = replace(CONFIG, extra=extra)
        assert list(all_blocks(config, train.vocabulary, dense_blocks(config, train))) == names


def test_blocks_of_one_order_and_edge_share_their_counts(train: Corpus) -> None:
    both = {"mkn": ColumnsConfig(order=3), "wb": ColumnsConfig(order=3, smoothing="witten-bell")}
    columns = dense_blocks(replace(CONFIG, columns=both), train)
    assert columns["mkn"].counts is columns["wb"].counts
    assert columns["wb"].counts is not None


def test_a_text_of_its_own_is_counted_over_the_runs_words(train: Corpus, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("a b z\nz z\n")
    config = replace(CONFIG, columns={"other": ColumnsConfig(order=2, text=(str(tmp_path / "other.txt"),))})
    column = dense_blocks(config, train)["other"]
    assert column.counts is None
    counts = count_text(["a b z", "z z"], vocabulary=train.vocabulary, order=2)
    expected = NgramBlock(estimate(SMOOTHERS["modified-kneser-ney"](), counts))
    assert np.array_equal(column.block.rows(train.ids).probs_TK, expected.rows(train.ids).probs_TK)


def test_counts_from_folders_and_files_serve_as_columns(train: Corpus, tmp_path: Path) -> None:
    counts = count_text(["a b c", "b c d"], vocabulary=train.vocabulary, order=3)
    counts.save(tmp_path / "folder")
    export_counts(counts, tmp_path / "counts.txt")
    for name, order in (("folder", 2), ("counts.txt", 2), ("folder", 5)):
        config = replace(CONFIG, columns={"x": ColumnsConfig(order=order, counts=(str(tmp_path / name),))})
        block = dense_blocks(config, train)["x"].block
        assert len(block.columns) == min(order, 3)
        expected = NgramBlock(estimate(SMOOTHERS["modified-kneser-ney"](), counts.up_to(order)))
        np.testing.assert_allclose(block.rows(train.ids).probs_TK, expected.rows(train.ids).probs_TK)


@pytest.mark.parametrize("edge", ["once", "repeat"])
def test_counts_up_to_an_order_are_those_counted_so(train: Corpus, edge: str) -> None:
    cut, expected = count_text(train, order=4, edge=edge).up_to(2), count_text(train, order=2, edge=edge)
    assert cut.order == 2
    smoother = SMOOTHERS["modified-kneser-ney"]()
    found, counted = (NgramBlock(estimate(smoother, counts)).rows(train.ids) for counts in (cut, expected))
    np.testing.assert_allclose(found.probs_TK, counted.probs_TK)
    np.testing.assert_allclose(found.features_TF, counted.features_TF)


def test_a_model_of_any_words_serves_as_one_column(train: Corpus, tmp_path: Path) -> None:
    save(model_of(["a b q", "q b a"], order=2), tmp_path / "model")
    block = dense_blocks(replace(CONFIG, columns={"m": ColumnsConfig(model=str(tmp_path / "model"))}), train)["m"].block
    assert isinstance(block, ModelBlock)
    assert block.columns == ("",)


def test_counts_with_another_vocabulary_are_refused(train: Corpus, tmp_path: Path) -> None:
    count_text(["x y"], order=2).save(tmp_path / "counts")
    config = replace(CONFIG, columns={"x": ColumnsConfig(counts=(str(tmp_path / "counts"),))})
    with pytest.raises(VocabularyError, match=r"vocabulary\.file"):
        dense_blocks(config, train)


def test_sources_that_are_not_there_are_named(train: Corpus) -> None:
    for column, error in (
        (ColumnsConfig(counts=("nowhere",)), InputError),
        (ColumnsConfig(model="nowhere"), ModelFolderError),
    ):
        with pytest.raises(error, match="nowhere"):
            dense_blocks(replace(CONFIG, columns={"x": column}), train)
