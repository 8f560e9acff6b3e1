"""Heuristic weights: the product rule over fallbacks."""

from __future__ import annotations

import numpy as np
import pytest

from modlm.blocks import ColumnLayout, NgramBlock, UniformBlock, UnknownBlock
from modlm.blocks.block import Block
from modlm.errors import ConfigError
from modlm.mixers import HeuristicMixer
from modlm.smoothing import SMOOTHERS, estimate
from small_texts import EDGES, EXTRAS, TEXTS, contexts_of, counts_of, model_of, oracle_of, windows_of


def test_weights_multiply_what_falls_through() -> None:
    model = model_of(["a b", "a b", "a c"], order=2, smoothing="witten-bell").as_mixture()
    _, features_BF = model.blocks["ngram"].after(model.window("a"))
    # after a: b b c, so alpha = 2/5; the words are a b </s> a b </s> a c </s>, so alpha of order 1 is 4/13
    assert model.mixer.weights(features_BF)[0] == pytest.approx([2 / 5 * 9 / 13, 3 / 5, 2 / 5 * 4 / 13])


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("extra", EXTRAS, ids="+".join)
def test_weights_and_fallbacks_are_the_oracles(smoothing: str, edge: str, extra: tuple[str, ...]) -> None:
    for name in ("random sentences", "one sentence of each kind", "a constant"):
        text = TEXTS[name]
        mixture = model_of(text, order=3, edge=edge, smoothing=smoothing, extra=extra).as_mixture()
        oracle = oracle_of(text, order=3, edge=edge, smoothing=smoothing, extra=extra)
        mixer = mixture.mixer
        assert isinstance(mixer, HeuristicMixer)
        contexts = list(contexts_of(text))[::5]
        _, features_BF = mixture.blocks["ngram"].after(windows_of(mixture.vocabulary, contexts, length=4))
        rows = zip(contexts, mixer.weights(features_BF), mixer.fallback(features_BF), strict=True)
        for (words, start), weights_K, fallback_N in rows:
            assert weights_K == pytest.approx([float(w) for w in oracle.weights(words, start=start)], abs=1e-14)
            window = oracle.window(words, start=start)
            expected = [float(oracle.fallback(n, oracle.context(n, window))) for n in oracle.orders]
            assert fallback_N == pytest.approx(expected, rel=1e-12, abs=1e-15)


def blocks_of(*, order: int = 2) -> dict[str, Block]:
    counts = counts_of(["a b", "a c"], order=order)
    return {
        "ngram": NgramBlock(estimate(SMOOTHERS["witten-bell"](), counts)),
        "uniform": UniformBlock(counts.vocabulary),
        "unknown": UnknownBlock(counts.vocabulary),
    }


def test_the_block_may_have_another_name_and_stand_anywhere() -> None:
    blocks = blocks_of()
    layout = ColumnLayout({"uniform": blocks["uniform"], "news": blocks["ngram"]})
    mixer = HeuristicMixer(layout, SMOOTHERS["witten-bell"](), block="news")
    _, features_BF = blocks["ngram"].after(np.array([[blocks["ngram"].vocabulary.id("a")]], dtype=np.uint32))  # type: ignore[attr-defined]
    usual = HeuristicMixer(
        ColumnLayout({"ngram": blocks["ngram"], "uniform": blocks["uniform"]}), SMOOTHERS["witten-bell"]()
    )
    assert mixer.weights(features_BF)[0].tolist() == np.roll(usual.weights(features_BF)[0], 1).tolist()


def test_no_contexts_have_no_weights() -> None:
    mixture = model_of(["a b"], order=2).as_mixture()
    assert mixture.mixer.weights(np.zeros((0, mixture.layout.features))).shape == (0, 3)


def test_a_block_that_is_not_there_is_an_error_that_lists_those_that_are() -> None:
    with pytest.raises(ConfigError, match="block named 'news'; there are ngram, uniform, unknown"):
        HeuristicMixer(ColumnLayout(blocks_of()), SMOOTHERS["witten-bell"](), block="news")


def test_a_block_without_the_features_of_ngrams_is_refused() -> None:
    with pytest.raises(ConfigError, match="'uniform' has not the features of an n-gram block"):
        HeuristicMixer(ColumnLayout(blocks_of()), SMOOTHERS["witten-bell"](), block="uniform")


def test_what_falls_through_the_unigrams_needs_a_column() -> None:
    layout = ColumnLayout({"ngram": blocks_of()["ngram"]})
    with pytest.raises(ConfigError, match="needs a uniform column"):
        HeuristicMixer(layout, SMOOTHERS["witten-bell"]())
