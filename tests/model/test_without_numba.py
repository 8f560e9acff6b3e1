"""Questions answered by plain numpy have the answers of the kernels, to the last bit."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from modlm import NgramLM
from modlm.counts import count_text
from modlm.ground.arrays import Ids, Ints
from modlm.model.ngram import without_numba
from modlm.model.ngram.compiled import Compiled

RNG = np.random.default_rng(4)
SENTENCES = [" ".join(RNG.choice(list("abcdefgh"), RNG.integers(0, 9))) for _ in range(80)]


@pytest.fixture(autouse=True)
def kernels_are_loaded() -> None:
    """So that a compiled model does not itself answer by plain numpy."""
    import numba  # noqa: F401


@pytest.fixture(params=["plain", "pruned", "repeat", "wide", "unigram"])
def compiled(request: pytest.FixtureRequest) -> Compiled:
    order = 1 if request.param == "unigram" else 4
    counts = count_text(SENTENCES, order=order, edge="repeat" if request.param == "repeat" else "once")
    options = {"prune_entropy": 1e-3} if request.param == "pruned" else {}
    dtype = np.float64 if request.param == "wide" else np.float32
    return NgramLM.from_counts(counts, dtype=dtype, **options).compiled


def questions(compiled: Compiled) -> tuple[Ints, Ids]:
    states = np.arange(-2, compiled.contexts + 2, dtype=np.int64).repeat(3)
    words = RNG.integers(0, compiled.vocab_size + 2, len(states)).astype(np.uint32)
    return states, words


def test_advance_is_the_kernel(compiled: Compiled) -> None:
    states, words = questions(compiled)
    for here, there in zip(
        without_numba.advance(compiled, states, words), compiled.advance(states, words), strict=True
    ):
        assert np.array_equal(here, there)


def test_distributions_are_the_kernel(compiled: Compiled) -> None:
    states = np.unique(questions(compiled)[0])
    out_BJ = np.empty((len(states), compiled.vocab_size), dtype=compiled.dtype)
    without_numba.distributions(compiled, states, out_BJ)
    assert np.array_equal(out_BJ, compiled.distributions(states))


def test_only_the_first_few_questions_are_answered_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setattr(without_numba, "_asked", iter(range(10**6)))
    answers = [without_numba.is_faster(1) for _ in range(without_numba.QUESTIONS + 1)]
    assert all(answers[:-1]) and not answers[-1]
    assert not without_numba.is_faster(without_numba.FEW + 1)
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setattr(without_numba, "_asked", iter(range(10**6)))
    assert not without_numba.is_faster(1)
