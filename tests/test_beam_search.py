"""Beam search: greedy with a beam of 1, exhaustive with a wide one, the same scores as one hypothesis at a time."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from benchmarks.beam_search import beam_search, best_extensions
from tests.integrations.fake_recogniser import END, FakeDecoder
from tests.integrations.spoken import word_model

from modlm.errors import ConfigError
from modlm.integrations.fusion import ShallowFusion

MODEL = word_model()
SIZE = len(MODEL.vocabulary)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weight", [0.0, 0.4])
def test_a_beam_of_one_is_greedy(seed: int, weight: float) -> None:
    decoder, fusion = FakeDecoder(SIZE, seed=seed), ShallowFusion(MODEL, weight=weight)
    path, state, score = (), fusion.start(1), 0.0
    while len(path) < 30:
        row = decoder.after(path) + fusion.advance(state)[0][0]
        token = int(row.argmax())
        score += float(row[token])
        if token == END:
            break
        path, state = (*path, token), fusion.follow(state, np.array([token]))
    (found,) = beam_search(decoder, fusion, beam=1, end=END, most=30)
    assert found.tokens == path and found.score == pytest.approx(score, abs=1e-4)


def test_a_wide_beam_finds_the_best_of_all() -> None:
    decoder = FakeDecoder(4, seed=3)

    def score(path: tuple[int, ...]) -> float:
        tokens = [*path, END]
        return float(decoder.along(tokens)[np.arange(len(tokens)), tokens].sum()) + 0.1 * len(tokens)

    paths = [path for length in range(5) for path in product([0, 2, 3], repeat=length)]
    found = beam_search(FakeDecoder(4, seed=3), beam=400, end=END, most=5, bonus=0.1)
    expected = sorted(paths, key=score, reverse=True)[:20]
    assert [one.tokens for one in found[:20]] == expected
    assert [one.score for one in found[:20]] == pytest.approx([score(path) for path in expected], abs=1e-4)


def test_scores_are_those_of_the_decoder_and_the_weighted_model() -> None:
    decoder, weight = FakeDecoder(SIZE, seed=1), 0.3
    for one in beam_search(decoder, ShallowFusion(MODEL, weight=weight), beam=6, end=END, most=40, bonus=0.2):
        tokens = [*one.tokens, END]
        heard = decoder.along(tokens)[np.arange(len(tokens)), tokens].sum()
        words = [MODEL.vocabulary.word(token) for token in one.tokens]
        assert one.score == pytest.approx(heard + weight * MODEL.score(words) + 0.2 * len(tokens), abs=1e-3)


def test_what_does_not_end_is_cut_off() -> None:
    class Endless(FakeDecoder):
        def after(self, path: tuple[int, ...]) -> np.ndarray:
            row = super().after(path)
            row[END] = -np.inf
            return row

    found = beam_search(Endless(5), beam=3, end=END, most=6)
    assert [len(one.tokens) for one in found] == [6, 6, 6]


def test_the_best_extensions_are_those_of_a_full_sort() -> None:
    rng = np.random.default_rng(5)
    scores, added = rng.normal(size=3), rng.normal(size=(3, 500)).astype(np.float32)
    best, parents, tokens = best_extensions(scores, added, 7)
    whole = scores[:, None] + added
    order = np.argsort(-whole.ravel())[:7]
    assert parents.tolist() == (order // 500).tolist() and tokens.tolist() == (order % 500).tolist()
    assert best == pytest.approx(whole.ravel()[order])
    few = np.full((1, 4), -np.inf, np.float32)
    few[0, 2] = -1.0
    assert [found.tolist() for found in best_extensions(np.zeros(1), few, 7)] == [[-1.0], [0], [2]]


def test_a_beam_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        beam_search(FakeDecoder(4), beam=0, end=END, most=5)
