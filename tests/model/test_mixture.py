"""Mixtures: D times lambda along texts, step by step, and for whole distributions."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

from modlm.blocks import NOTHING, NgramBlock, UniformBlock
from modlm.blocks.block import Block
from modlm.blocks.model import ModelBlock
from modlm.errors import ConfigError
from modlm.mixers import StaticMixer
from modlm.model.mixture import Mixture
from modlm.smoothing import SMOOTHERS, estimate
from small_texts import EDGES, TEXTS, contexts_of, counts_of, model_of, windows_of

TEXT = TEXTS["random sentences"]
SENTENCES = ["a b c", "", "z a b", "a a a a a a a a", "h g f e d c b a", "a b c d z z c b a a b"]


def of_models() -> Mixture:
    """Two models with other words than ours, two orders, and the uniform column, under static weights."""
    counts = counts_of(TEXT, order=2)
    blocks: dict[str, Block] = {
        "far": ModelBlock(model_of(["a b q", "q a"], order=4), counts.vocabulary),
        "near": ModelBlock(model_of(TEXT, order=3).as_mixture(), counts.vocabulary),
        "ngram": NgramBlock(estimate(SMOOTHERS["absolute"](), counts)),
        "uniform": UniformBlock(counts.vocabulary),
    }
    return Mixture(counts.vocabulary, blocks, StaticMixer(np.array([0.2, 0.3, 0.1, 0.3, 0.1])))


MIXTURES: dict[str, Callable[[], Mixture]] = {
    "heuristic, edge once": lambda: model_of(TEXT, order=4).as_mixture(),
    "heuristic, edge repeat": lambda: model_of(TEXT, order=4, edge="repeat", smoothing="witten-bell").as_mixture(),
    "heuristic, order 1": lambda: model_of(TEXT, order=1, extra=("uniform", "unknown")).as_mixture(),
    "static over models and orders": of_models,
}


@pytest.fixture(params=MIXTURES)
def mixture(request: pytest.FixtureRequest) -> Mixture:
    return MIXTURES[request.param]()


def ids_of(mixture: Mixture, sentences: list[str]) -> np.ndarray:
    return np.concatenate([mixture.sentence_ids(sentence) for sentence in sentences])


def test_scoring_a_text_is_advancing_through_it(mixture: Mixture) -> None:
    ids = ids_of(mixture, SENTENCES)
    probs = mixture.word_probs(ids)
    states = mixture.start()
    for t, word in enumerate(ids):
        expected = 1.0 if word == mixture.vocabulary.start else mixture.distributions(states)[0, word]
        states, log_probs = mixture.advance(states, ids[t : t + 1])
        assert probs[t] == pytest.approx(expected, rel=1e-12)
        assert np.exp(log_probs[0]) == pytest.approx(expected, rel=1e-12)


def test_equal_states_have_equal_futures_and_see_no_further_than_the_columns(mixture: Mixture) -> None:
    long = mixture.state_after(mixture.window("h g a b a b"))
    short = mixture.state_after(mixture.window(["a", "b", "a", "b"][-mixture.window_length :], start=False))
    assert np.array_equal(long, short)
    assert np.array_equal(mixture.distributions(long), mixture.distributions(short))


def test_a_new_sentence_forgets_what_was_before(mixture: Mixture) -> None:
    states = mixture.state_after(mixture.window("a b c"))
    states, log_probs = mixture.advance(states, np.array([mixture.vocabulary.start], dtype=np.uint32))
    assert np.array_equal(states, mixture.start())
    assert log_probs == 0


def test_nothing_empties_the_context(mixture: Mixture) -> None:
    states = mixture.state_after(mixture.window("a b c"))
    states, log_probs = mixture.advance(states, np.array([NOTHING], dtype=np.uint32))
    assert log_probs == pytest.approx(0)
    assert np.allclose(mixture.distributions(states)[0], mixture.next_distribution("", start=False), rtol=1e-12)


def test_windows_of_any_length_are_cut_or_filled_up(mixture: Mixture) -> None:
    contexts = list(contexts_of(TEXT[:5]))
    rows = [
        mixture.distributions(mixture.state_after(windows_of(mixture.vocabulary, contexts, length=n))) for n in (5, 9)
    ]
    assert np.allclose(rows[0], rows[1], rtol=1e-12)


def test_many_windows_are_answered_in_pieces(mixture: Mixture, monkeypatch: pytest.MonkeyPatch) -> None:
    states = mixture.state_after(windows_of(mixture.vocabulary, list(contexts_of(TEXT[:5])), length=5))
    expected = mixture.distributions(states)
    monkeypatch.setattr("modlm.model.mixture.WINDOWS", 3)
    assert np.allclose(mixture.distributions(states), expected, rtol=1e-14)


@pytest.mark.parametrize("chunk", [1, 7, 30])
def test_a_long_text_is_read_in_stretches_of_whole_sentences(
    mixture: Mixture, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = ids_of(mixture, SENTENCES)
    expected = mixture.word_probs(ids)
    monkeypatch.setattr("modlm.model.mixture.CHUNK", chunk)
    stretches = [place for place, _ in mixture.row_chunks(ids)]
    assert len(stretches) > 1
    assert [place.start for place in stretches[1:]] == [place.stop for place in stretches[:-1]]
    assert all(ids[place.start] == mixture.vocabulary.start for place in stretches)
    assert np.array_equal(mixture.word_probs(ids), expected)


def test_no_states_and_no_text_give_empty_answers(mixture: Mixture) -> None:
    none = np.zeros(0, dtype=np.uint32)
    states, log_probs = mixture.advance(mixture.start(0), none)
    assert len(states) == 0
    assert len(log_probs) == len(mixture.word_probs(none)) == 0
    assert mixture.distributions(states).shape == (0, len(mixture.vocabulary))


def test_it_survives_pickling(mixture: Mixture) -> None:
    again = pickle.loads(pickle.dumps(mixture))
    ids = ids_of(mixture, SENTENCES)
    assert np.array_equal(again.word_probs(ids), mixture.word_probs(ids))


@pytest.mark.parametrize("edge", EDGES)
def test_words_that_cannot_be_have_probability_zero(edge: str) -> None:
    mixture = model_of(["a b"], order=2, edge=edge, smoothing="maximum-likelihood").as_mixture()
    assert mixture.score("b") == -np.inf
    assert mixture.score("a b") == 0


def test_a_mixture_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least one block"):
        Mixture(counts_of(["a"]).vocabulary, {}, StaticMixer(np.ones(1)))


def test_weights_must_fit_the_columns() -> None:
    counts = counts_of(["a"])
    with pytest.raises(ConfigError, match="2 weights for 1 column"):
        Mixture(counts.vocabulary, {"uniform": UniformBlock(counts.vocabulary)}, StaticMixer(np.array([0.5, 0.5])))


def test_it_says_what_it_is() -> None:
    vocabulary = counts_of(["a b", "a c"]).vocabulary
    mixture = Mixture(vocabulary, {"flat": UniformBlock(vocabulary)}, StaticMixer(np.ones(1)))
    assert repr(mixture) == "Mixture(columns: flat (1); words: 5; weights: static)"
