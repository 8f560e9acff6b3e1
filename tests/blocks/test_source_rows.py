"""Ragged rows of columns over sources: side by side they are the rows of the blocks, held out where they must be."""

from __future__ import annotations

import numpy as np
import pytest

from modlm.blocks import UniformBlock
from modlm.blocks.block import Beside, Block
from modlm.blocks.copy import CopyBlock
from modlm.blocks.lexicon import LexiconBlock
from modlm.blocks.log_rows import log_rows
from modlm.blocks.source_rows import source_rows
from modlm.counts.translation import align, estimate_without
from modlm.errors import ConfigError
from modlm.text.folds import fold_cuts
from modlm.text.parallel import Parallel

PAIRS = Parallel.read(
    ["le chat 7", "", "un chat dort", "le chien", "chien"], ["the cat 7", "well", "a cat sleeps", "the dog", ""]
)
TABLE = align(PAIRS).table
BLOCKS: dict[str, Block] = {
    "lexicon": LexiconBlock(TABLE),
    "uniform": UniformBlock(TABLE.target),
    "copy": CopyBlock(TABLE.source, TABLE.target),
}
IDS, STARTS = PAIRS.target.ids, PAIRS.target.starts


def test_a_batch_has_the_rows_and_features_of_its_sentences_and_nothing_beyond_them() -> None:
    rows = source_rows(BLOCKS, IDS, STARTS, PAIRS.sources)
    chosen = np.array([3, 0, 1, 4])
    log_probs_TBX, features_BSF, real_BS = rows.batch(chosen, 5)
    assert rows.blocks == ("lexicon", "copy")
    assert log_probs_TBX.shape == (5, 4, 6) and features_BSF.shape == (4, 3, 4)
    assert real_BS.sum(axis=1).tolist() == [2, 3, 0, 1]
    for b, n in enumerate(chosen.tolist()):
        ids, size = IDS[STARTS[n] : STARTS[n + 1]], len(PAIRS.sources[n])
        beside = Beside([PAIRS.sources[n]])
        for g, name in enumerate(rows.blocks):
            own_TS = log_probs_TBX[: len(ids) - 1, b, 3 * g : 3 * g + size]
            assert np.allclose(np.exp(own_TS), BLOCKS[name].rows(ids, beside).probs_TK[1:], atol=1e-6)
            assert np.all(np.isneginf(log_probs_TBX[:, b, 3 * g + size : 3 * g + 3]))
        assert np.all(np.isneginf(log_probs_TBX[len(ids) - 1 :, b]))
        both = [BLOCKS[name].source_features(PAIRS.sources[n]) for name in rows.blocks]
        assert np.allclose(features_BSF[b, :size], np.concatenate(both, axis=1))
        assert not features_BSF[b, size:].any()


def test_rows_of_a_fold_come_from_the_block_without_it() -> None:
    cuts = fold_cuts([len(PAIRS)], 2)
    without = [LexiconBlock(table) for table in estimate_without(PAIRS, cuts)]
    rows = source_rows(BLOCKS, IDS, STARTS, PAIRS.sources, held_out={"lexicon": without}, cuts=cuts)
    for fold, block in zip(cuts, without, strict=True):
        alone = source_rows({**BLOCKS, "lexicon": block}, IDS, STARTS, PAIRS.sources)
        for first, after in fold:
            cells, words = slice(*rows.cells[[first, after]]), slice(*rows.starts[[first, after]])
            for name in rows.blocks:
                assert np.array_equal(rows.log_probs[name][cells], alone.log_probs[name][cells])
            assert np.array_equal(rows.features_SF[words], alone.features_SF[words])


def test_log_rows_bring_them_along_and_keep_dense_columns_apart() -> None:
    rows = log_rows(BLOCKS, IDS, TABLE.target.start, Beside(PAIRS.sources))
    assert rows.log_probs_TD.shape == (len(IDS), 1) and list(rows.spans) == ["uniform"]
    assert rows.over_sources is not None
    alone = source_rows(BLOCKS, IDS, STARTS, PAIRS.sources)
    for name in ("lexicon", "copy"):
        assert np.array_equal(rows.over_sources.log_probs[name], alone.log_probs[name])
    bare = log_rows(BLOCKS, IDS, TABLE.target.start)
    assert bare.over_sources is not None and bare.over_sources.cells[-1] == 0


def test_there_is_a_source_for_each_sentence_or_an_error() -> None:
    with pytest.raises(ConfigError, match="2 sources for 5 sentences"):
        source_rows(BLOCKS, IDS, STARTS, PAIRS.sources[:2])
