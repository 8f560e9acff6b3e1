"""A recogniser's distribution as a column: exact mixtures, learned weights, saved and loaded like any other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.beam_search import beam_search
from tests.integrations.fake_recogniser import END, FakeDecoder
from tests.integrations.spoken import TEXT, word_model

from modlm import load
from modlm.errors import ConfigError, ModlmError
from modlm.integrations.mixture_fusion import RECOGNISER, MixtureFusion, fit_mixture
from modlm.model.mixture import Mixture

MODEL = word_model()
SIZE = len(MODEL.vocabulary)
TOKENS = [MODEL.vocabulary.word(word) for word in [3, 1, 0, 2, *range(4, SIZE)]]  # the decoder numbers them otherwise


def heard(decoder: FakeDecoder) -> list[tuple[np.ndarray, np.ndarray]]:
    """Sentences of the model's text, and what the decoder expected."""
    found = []
    for sentence in TEXT:
        tokens = [*(TOKENS.index(word) for word in sentence.split()), TOKENS.index("</s>")]
        found.append((np.array(tokens), decoder.along(tokens)))
    return found


def mixture_of(mixer: str) -> Mixture:
    return fit_mixture(MODEL, heard(FakeDecoder(SIZE)), TOKENS, mixer=mixer)


@pytest.mark.parametrize("mixer", ["static", "gli", "net"])
def test_every_row_of_the_mixture_sums_to_one_and_is_the_weighted_sum(mixer: str) -> None:
    mixture = mixture_of(mixer)
    fusion, decoder = MixtureFusion(mixture, TOKENS), FakeDecoder(SIZE, seed=7)
    path, states = (), fusion.start(1)
    for token in (TOKENS.index("the"), TOKENS.index("cat"), TOKENS.index("rug")):
        row = fusion.fused(states, decoder.after(path)[None])[0]
        assert np.exp(row.astype(np.float64)).sum() == pytest.approx(1.0, abs=1e-5)
        window = np.array([MODEL.vocabulary.start, *(MODEL.vocabulary.id(TOKENS[t]) for t in path)], np.uint32)[None]
        columns_JN, features_F = (found[0] for found in mixture.blocks["ngram"].after(window))
        log_probs = decoder.after(path).astype(np.float64)
        own = [log_probs.max(), -(np.exp(log_probs) * log_probs).sum()]
        weights_K = mixture.mixer.weights(np.array([[*own, *features_F]]))[0]
        for place, name in enumerate(TOKENS):
            columns = [np.exp(log_probs[place]), *columns_JN[MODEL.vocabulary.id(name)]]
            assert np.exp(row[place]) == pytest.approx(float(weights_K @ columns), abs=1e-6)
        path, states = (*path, token), fusion.follow(states, np.array([token]))


def test_batched_is_one_by_one() -> None:
    fusion, decoder = MixtureFusion(mixture_of("gli"), TOKENS), FakeDecoder(SIZE, seed=2)
    tokens_B = np.array([TOKENS.index(word) for word in ("the", "a", "mat")])
    states = fusion.follow(fusion.start(3), tokens_B)
    log_probs_BJ = np.stack([decoder.after((token,)) for token in tokens_B.tolist()])
    together_BJ = fusion.fused(states, log_probs_BJ)
    for place in range(3):
        alone_1J = fusion.fused(states[place : place + 1], log_probs_BJ[place : place + 1])
        assert alone_1J[0] == pytest.approx(together_BJ[place], abs=1e-5)


def test_static_weights_are_those_of_em_and_gli_explains_the_sentences_no_worse() -> None:
    def likelihood(mixture: Mixture) -> float:
        fusion, total = MixtureFusion(mixture, TOKENS), 0.0
        for tokens, log_probs_TJ in heard(FakeDecoder(SIZE)):
            states = fusion.start(1)
            for token, row in zip(tokens, log_probs_TJ, strict=True):
                total += float(fusion.fused(states, row[None])[0, token])
                states = fusion.follow(states, np.array([token]))
        return total

    static = mixture_of("static")
    weights = static.mixer.weights(np.zeros((1, static.layout.features)))[0]
    assert weights.sum() == pytest.approx(1.0)
    for other in (np.roll(weights, 1), np.full(len(weights), 1 / len(weights))):
        worse = Mixture(MODEL.vocabulary, static.blocks, type(static.mixer)(other))
        assert likelihood(static) >= likelihood(worse)
    assert likelihood(mixture_of("gli")) > likelihood(static)


def test_impossible_tokens_are_mixed_too() -> None:
    fusion = MixtureFusion(mixture_of("gli"), TOKENS)
    row = FakeDecoder(SIZE).after(())[None].copy()
    row[0, 4] = -np.inf
    row -= np.log(np.exp(row).sum())
    assert np.exp(fusion.fused(fusion.start(1), row).astype(np.float64)).sum() == pytest.approx(1.0, abs=1e-5)


def test_it_is_saved_and_loaded_and_searches_the_same(tmp_path: Path) -> None:
    mixture = mixture_of("gli")
    mixture.save(tmp_path / "fused")
    again = load(tmp_path / "fused")
    assert isinstance(again, Mixture) and again.column_names[0] == mixture.column_names[0] == RECOGNISER
    end = TOKENS.index("</s>")
    assert end == END
    searched = [
        beam_search(FakeDecoder(SIZE, seed=4), MixtureFusion(one, TOKENS), beam=4, end=end, most=20)
        for one in (mixture, again)
    ]
    assert searched[0] == searched[1] and searched[0][0].tokens


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="each of the model's"):
        fit_mixture(MODEL, heard(FakeDecoder(SIZE)), [*TOKENS[:-1], "zebra"])
    with pytest.raises(ConfigError, match="nothing to learn"):
        fit_mixture(MODEL, [], TOKENS)
    with pytest.raises(ConfigError, match="No column of this Mixture is given"):
        MixtureFusion(MODEL.as_mixture())
    with pytest.raises(ModlmError, match="given from outside"):
        mixture_of("static").next_words("the cat")
