"""Perplexity by how often words were seen in training."""

from __future__ import annotations

import math

import numpy as np
import pytest

from modlm import Corpus, NgramLM
from modlm.errors import ConfigError, InputError
from modlm.evaluation import perplexity_by_frequency, word_frequencies

TRAIN = ["a a a b", "a a b c", "a"]  # a 6 times, b 2, c 1, and 3 sentence ends
TEST = ["a b c", "b zork"]


@pytest.fixture(scope="module")
def model() -> NgramLM:
    return NgramLM.fit(TRAIN, 2, smoothing="witten-bell")


def test_frequencies_come_from_the_counts_or_from_a_text(model: NgramLM) -> None:
    own = word_frequencies(model)
    words = model.vocabulary.words
    assert dict(zip(words, own.tolist(), strict=True)) == {"<unk>": 0, "</s>": 3, "a": 6, "b": 2, "c": 1}
    assert np.array_equal(own, word_frequencies(model, TRAIN))
    assert np.array_equal(own, word_frequencies(model, Corpus.from_text(TRAIN)))


def test_bands_hold_the_predictions_up_to_their_limit(model: NgramLM) -> None:
    bands = perplexity_by_frequency(model, TEST, word_frequencies(model), limits=(0, 1, 2, math.inf))
    assert [band.predictions for band in bands] == [1, 2, 4, 7]  # zork; c; b b; a and two ends
    probs = {explained.word: explained.probability for explained in model.explain("a b c")}
    unknown = model.explain("b zork")[1].probability
    assert bands[1].perplexity == pytest.approx((probs["c"] * unknown) ** -0.5)
    assert bands[-1].perplexity == pytest.approx(model.perplexity(TEST).perplexity)


def test_a_band_without_words_has_no_perplexity(model: NgramLM) -> None:
    (band, _) = perplexity_by_frequency(model, ["a"], word_frequencies(model), limits=(1, math.inf))
    assert band.predictions == 0 and math.isnan(band.perplexity)


def test_a_corpus_over_other_words_is_translated(model: NgramLM) -> None:
    frequencies = word_frequencies(model)
    other = Corpus.from_text(TEST)
    assert perplexity_by_frequency(model, other, frequencies) == perplexity_by_frequency(model, TEST, frequencies)


def test_models_without_counts_need_a_text(model: NgramLM) -> None:
    bare = NgramLM(model.vocabulary, model.compiled)
    with pytest.raises(ConfigError, match="training text"):
        word_frequencies(bare)
    with pytest.raises(ConfigError, match="frequencies for"):
        perplexity_by_frequency(model, TEST, np.zeros(2, np.int64))
    with pytest.raises(InputError, match="no sentences"):
        perplexity_by_frequency(model, [], word_frequencies(model))
