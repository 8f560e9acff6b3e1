"""The fallback recursion, D times lambda, and the compiled form are one and the same model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from modlm.ground.arrays import Floats
from modlm.mixers import HeuristicMixer
from modlm.model.mixture import Mixture
from modlm.model.ngram_lm import NgramLM
from modlm.smoothing import SMOOTHERS
from small_texts import EDGES, counts_of, flat_ids

SMALL = (Path(__file__).parent / "golden" / "small.txt").read_text().splitlines()
TRAINING, HELD_OUT = SMALL[:-30], [*SMALL[-30:], "", "never seen words", SMALL[0][: len(SMALL[0]) // 2]]


def recursion(mixture: Mixture, ids: np.ndarray) -> Floats:
    """P_n = (1 - alpha_n) column_n + alpha_n P_{n-1}, from the mean of the constant columns up."""
    rows = mixture.rows(ids)
    orders = mixture.layout.spans["ngram"].columns.stop
    assert isinstance(mixture.mixer, HeuristicMixer)
    alpha_TN = mixture.mixer.fallback(rows.features_TF)
    p = rows.probs_TK[:, orders:].mean(axis=1)
    for n in range(orders):
        p = (1 - alpha_TN[:, n]) * rows.probs_TK[:, n] + alpha_TN[:, n] * p
    return np.where(ids == mixture.vocabulary.start, 1.0, p)


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("order", [1, 2, 5])
def test_recursion_mixture_and_compiled_form_agree(smoothing: str, edge: str, order: int) -> None:
    counts = counts_of(TRAINING, order=order, edge=edge)
    ids = flat_ids(counts, HELD_OUT)
    for extra in (("uniform",), ("unknown", "uniform")):
        model = NgramLM.from_counts(counts, smoothing=smoothing, extra=extra, dtype=np.float64)
        mixture = model.as_mixture()
        expected = recursion(mixture, ids)
        assert expected.max() <= 1
        assert mixture.word_probs(ids) == pytest.approx(expected, rel=1e-10, abs=1e-300)
        assert model.word_probs(ids) == pytest.approx(expected, rel=1e-10, abs=1e-15)


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@pytest.mark.parametrize("edge", EDGES)
def test_single_precision_keeps_six_digits(smoothing: str, edge: str) -> None:
    counts = counts_of(TRAINING, order=5, edge=edge)
    ids = flat_ids(counts, HELD_OUT)
    wide = NgramLM.from_counts(counts, smoothing=smoothing, dtype=np.float64)
    narrow = NgramLM.from_counts(counts, smoothing=smoothing)
    assert narrow.compiled.dtype == np.float32
    assert narrow.word_probs(ids) == pytest.approx(wide.word_probs(ids), rel=1e-6)
    for context in ("", SMALL[0], "never seen"):
        row = narrow.next_distribution(context)
        assert row.dtype == np.float32
        assert row == pytest.approx(wide.next_distribution(context), rel=1e-6)
        assert float(row.sum(dtype=np.float64)) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("smoothing", SMOOTHERS)
def test_whole_distributions_agree_too(smoothing: str) -> None:
    counts = counts_of(TRAINING, order=4)
    model = NgramLM.from_counts(counts, smoothing=smoothing, dtype=np.float64)
    mixture = model.as_mixture()
    for context in ("", *HELD_OUT):
        for start in (True, False):
            row = model.next_distribution(context, start=start)
            assert row == pytest.approx(mixture.next_distribution(context, start=start), rel=1e-10, abs=1e-15)


def test_several_threads_and_pieces_compile_the_same_model(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = counts_of(TRAINING, order=4)
    monkeypatch.setenv("MODLM_THREADS", "1")
    one = NgramLM.from_counts(counts).compiled
    monkeypatch.setattr("modlm.model.ngram.compiled.CHUNK", 7)
    monkeypatch.setenv("MODLM_THREADS", "3")
    three = NgramLM.from_counts(counts).compiled
    assert np.array_equal(one.leaves, three.leaves) and np.array_equal(one.nodes, three.nodes)
