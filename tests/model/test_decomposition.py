"""Columns and weights read out of the compiled form are those of the mixture."""

from __future__ import annotations

import numpy as np
import pytest

from modlm import NgramLM
from modlm.counts import count_text
from modlm.smoothing import SMOOTHERS

RNG = np.random.default_rng(2)
SENTENCES = [" ".join(RNG.choice(list("abcde"), RNG.integers(0, 8), p=[0.5, 0.2, 0.1, 0.1, 0.1])) for _ in range(50)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("smoothing", SMOOTHERS)
@pytest.mark.parametrize("edge", ["once", "repeat"])
def test_explanations_equal_those_of_the_mixture(smoothing: str, edge: str) -> None:
    counts = count_text(SENTENCES, order=3, edge=edge)
    for extra in (("uniform",), ("uniform", "unknown")):
        model = NgramLM.from_counts(counts, smoothing=smoothing, extra=extra, dtype=np.float64)
        mixture = model.as_mixture()
        for sentence in (*SENTENCES[:5], "e e e d a", "zork a b"):
            for here, there in zip(model.explain(sentence), mixture.explain(sentence), strict=True):
                assert here.probability == pytest.approx(there.probability)
                assert here.columns == pytest.approx(there.columns, abs=1e-9)
                assert here.weights == pytest.approx(there.weights, abs=1e-9)
                assert here.shares == pytest.approx(there.shares, abs=1e-9)


def test_weights_sum_to_one_after_pruning_by_count() -> None:
    model = NgramLM.from_counts(count_text(SENTENCES, order=3), prune=(0, 0, 1), dtype=np.float64)
    for explained in model.explain(SENTENCES[1]):
        assert sum(explained.weights.values()) == pytest.approx(1)
        parts = [explained.columns[name] * explained.weights[name] for name in explained.columns]
        assert sum(parts) == pytest.approx(explained.probability)
