"""Columns over the words of a source: translations of each, and copies."""

from __future__ import annotations

import numpy as np
import pytest

from modlm import testing
from modlm.blocks.block import Beside
from modlm.blocks.copy import CopyBlock
from modlm.blocks.lexicon import LexiconBlock
from modlm.counts.translation import AlignmentOptions, TranslationTable, align, estimate_without
from modlm.text.folds import fold_cuts
from modlm.text.parallel import Parallel
from modlm.text.vocabulary import UNKNOWN, Vocabulary

PAIRS = Parallel.read(["le chat 7", "le chien", "un chat", ""], ["the cat 7", "the dog", "a cat", "well"])
TABLE = align(PAIRS).table
BLOCKS = {"lexicon": LexiconBlock(TABLE), "copy": CopyBlock(TABLE.source, TABLE.target)}


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("seed", range(3))
def test_columns_are_distributions_over_sources_of_any_length(name: str, seed: int) -> None:
    testing.check_block(BLOCKS[name], seed=seed)


@pytest.mark.parametrize("name", BLOCKS)
def test_a_source_may_have_a_thousand_words_or_none(name: str) -> None:
    block = BLOCKS[name]
    long = np.tile(TABLE.source.encode("le chat nobody"), 334)
    beside = Beside([long, np.zeros(0, np.uint32)])
    start_21 = np.full((2, 1), block.vocabulary.start, np.uint32)
    rows = block.rows_after(start_21, TABLE.target.encode("cat cat"), beside)
    assert rows.probs_TK.shape == (2, 1002)
    assert np.array_equal(rows.probs_TK[0], np.tile(rows.probs_TK[0, :3], 334)) and not rows.probs_TK[1].any()
    assert block.rows_after(start_21, TABLE.target.encode("cat cat")).probs_TK.shape == (2, 0)


def test_a_column_has_the_translations_of_its_word_in_every_context() -> None:
    block, beside = BLOCKS["lexicon"], Beside([TABLE.source.encode("chien le")])
    for context in ("", "the the"):
        window = np.append(np.uint32(TABLE.target.start), TABLE.target.encode(context))[None]
        column_J = block.after(window, beside)[0][0, :, 0]
        found = {TABLE.target.word(int(e)): column_J[e] for e in np.flatnonzero(column_J)}
        assert found == pytest.approx(TABLE.row("chien"))


def test_a_source_word_never_seen_has_a_uniform_column_and_says_so() -> None:
    block, size = BLOCKS["lexicon"], len(TABLE.target)
    unseen = TABLE.source.encode("nobody")
    assert np.allclose(block.after(np.zeros((1, 1), np.uint32), Beside([unseen]))[0][0, :, 0], 1 / size)
    assert block.source_features(unseen)[0].tolist() == pytest.approx([0.0, np.log(size), 0.0])


def test_features_are_log_frequency_entropy_and_seen() -> None:
    frequency, entropy, seen = BLOCKS["lexicon"].source_features(TABLE.source.encode("chat"))[0]
    probs = np.array(list(TABLE.row("chat").values()))
    assert (frequency, seen) == (pytest.approx(np.log(3)), 1.0)  # twice
    assert entropy == pytest.approx(-(probs * np.log(probs)).sum())


def test_copies_are_the_word_itself_or_the_unknown_word() -> None:
    block = BLOCKS["copy"]
    columns_JS = block.after(np.zeros((1, 1), np.uint32), Beside([TABLE.source.encode("7 chat")]))[0][0]
    assert columns_JS.argmax(axis=0).tolist() == [TABLE.target.id("7"), UNKNOWN]
    assert columns_JS.max(axis=0).tolist() == [1, 1]
    assert block.source_features(TABLE.source.encode("7 chat nobody"))[:, 0].tolist() == [1, 0, 0]


def test_a_block_without_a_fold_has_not_seen_its_words() -> None:
    cuts = fold_cuts([len(PAIRS)], 4)
    tables = estimate_without(PAIRS, cuts, AlignmentOptions(hmm=0))
    chien = TABLE.source.encode("chien")
    assert [LexiconBlock(table).source_features(chien)[0, 2] for table in tables] == [1, 0, 1, 1]


def test_a_law_that_a_block_over_sources_breaks_is_told() -> None:
    words = Vocabulary.from_words(["a"])
    improper = TranslationTable(
        words, words, np.array([0, 1, 2, 3]), np.array([2, 2, 2], np.uint32), np.full(3, 0.5), np.ones(3, np.int64)
    )
    with pytest.raises(testing.BrokenLawError, match="every column sums to 1"):
        testing.check_block(LexiconBlock(improper))
