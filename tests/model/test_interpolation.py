"""Static mixtures over models, orders and both."""

from __future__ import annotations

import numpy as np
import pytest

from modlm import Corpus, NgramLM, Vocabulary
from modlm.errors import ConfigError, InputError, ModlmError, VocabularyError
from modlm.model.interpolation import block_name, interpolate

RNG = np.random.default_rng(6)
SENTENCES = [" ".join(RNG.choice(list("abcdef"), RNG.integers(1, 9))) for _ in range(90)]
TRAIN, TUNE = SENTENCES[:60], SENTENCES[60:]


@pytest.fixture(scope="module")
def model() -> NgramLM:
    return NgramLM.fit(TRAIN, 3, smoothing="witten-bell")


@pytest.mark.parametrize("over", ["models", "orders", "both"])
def test_weights_are_the_most_likely_ones(model: NgramLM, over: str) -> None:
    result = interpolate({"one": model}, TUNE, over=over, extra=("uniform",))
    assert sum(result.weights.values()) == pytest.approx(1)
    assert result.mixture.perplexity(TUNE).perplexity == pytest.approx(result.history[-1], rel=1e-6)
    assert result.history[-1] == min(result.history)
    rows = result.mixture.next_distribution("a b")
    assert rows.sum() == pytest.approx(1)


def test_columns_alone_have_the_perplexity_of_their_models(model: NgramLM) -> None:
    other = NgramLM.fit(TRAIN, 1, vocabulary=model.vocabulary)
    result = interpolate({"one": model, "other": other}, Corpus.from_text(TUNE), over="models")
    assert result.alone["one"] == pytest.approx(model.perplexity(TUNE).perplexity)
    assert result.alone["other"] == pytest.approx(other.perplexity(TUNE).perplexity)


def test_what_cannot_be_mixed_says_why(model: NgramLM) -> None:
    with pytest.raises(ConfigError, match="nothing to mix"):
        interpolate({}, TUNE)
    with pytest.raises(ConfigError, match="over must be"):
        interpolate({"a": model}, TUNE, over="words")
    with pytest.raises(ConfigError, match="constant column"):
        interpolate({"a": model}, TUNE, extra=("zero",))
    with pytest.raises(InputError, match="no sentences"):
        interpolate({"a": model}, [])
    with pytest.raises(VocabularyError, match="the same vocabulary"):
        interpolate({"a": model}, TUNE, over="orders", vocabulary=Vocabulary.from_words(["a"]))
    with pytest.raises(ModlmError, match="compiled form"):
        interpolate({"a": NgramLM(model.vocabulary, model.compiled)}, TUNE, over="orders")


def test_names_are_safe_in_paths_and_different() -> None:
    assert block_name("../my model", {}) == "my-model"
    assert block_name("a", {"a": 0, "a-2": 0}) == "a-3"
    assert block_name("...", {}) == "model"
    assert block_name("uniform", {}) == "uniform-2"
