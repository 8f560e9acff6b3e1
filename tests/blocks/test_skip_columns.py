"""Skip n-grams as columns: any positions of the context, against the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from modlm.blocks import NgramBlock
from modlm.counts import count_text
from modlm.errors import ConfigError
from modlm.model.ngram.estimation import heuristic_mixture
from modlm.model.ngram_lm import NgramLM
from modlm.smoothing import SMOOTHERS, estimate
from oracle import Oracle
from small_texts import TEXTS, contexts_of, flat_ids, windows_of

TEXT = TEXTS["random sentences"]
TUNING = ["a b c", "", "z a", "b b b b b b", "c a b a z"]


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@pytest.mark.parametrize("positions", [(2,), (3, 2), (4, 2), (1, 2), (2, 1)])
def test_columns_weights_and_features_are_the_oracles(smoothing: str, positions: tuple[int, ...]) -> None:
    counts = count_text(TEXT, positions=positions)
    oracle = Oracle([sentence.split() for sentence in TEXT], positions=positions, smoothing=smoothing)
    mixture = heuristic_mixture(estimate(SMOOTHERS[smoothing](), counts))
    contexts = list(contexts_of(TEXT[:8]))[::2]
    windows_BC = windows_of(mixture.vocabulary, contexts, length=6)
    columns_BJK, features_BF = mixture.blocks["ngram"].after(windows_BC)
    rows_BJ = mixture.distributions(mixture.state_after(windows_BC))
    for i, (words, start) in enumerate(contexts):
        expected = oracle.columns(words, start=start)
        for k in range(counts.order):
            column = [float(expected[k][word]) for word in mixture.vocabulary.words]
            assert columns_BJK[i, :, k] == pytest.approx(column, rel=1e-12)
        assert features_BF[i] == pytest.approx(np.concatenate(oracle.features(words, start=start)), rel=1e-12)
        whole = oracle.distribution(words, start=start)
        assert rows_BJ[i] == pytest.approx([float(whole[word]) for word in mixture.vocabulary.words], rel=1e-12)


@pytest.mark.parametrize("positions", [(3, 2), (4, 2)])
def test_rows_along_a_text_are_the_oracles(positions: tuple[int, ...]) -> None:
    counts = count_text(TEXT, positions=positions)
    oracle = Oracle([sentence.split() for sentence in TEXT], positions=positions, smoothing="absolute")
    block = NgramBlock(estimate(SMOOTHERS["absolute"](), counts))
    ids = flat_ids(counts, TUNING)
    rows = block.rows(ids).probs_TK[ids != block.vocabulary.start]
    expected = np.array([row[:-1] for row in oracle.rows([sentence.split() for sentence in TUNING])], dtype=float)
    assert rows == pytest.approx(expected, rel=1e-12)


def test_skip_ngrams_have_no_compiled_form() -> None:
    with pytest.raises(ConfigError, match="mixture"):
        NgramLM.from_counts(count_text(TEXT, positions=(3, 2)))
