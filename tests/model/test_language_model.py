"""What every language model answers: sentences, next words, explanations; the same from every kind of model."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modlm.blocks.model import ModelBlock
from modlm.errors import ConfigError, ModlmError
from modlm.mixers import StaticMixer
from modlm.model.language_model import LanguageModel, sliding_windows
from modlm.model.mixture import Mixture
from modlm.model.ngram_lm import NgramLM
from modlm.smoothing import SMOOTHERS
from small_texts import EDGES, EXTRAS, TEXT_LISTS, TEXTS, counts_of, model_of, oracle_of

TEXT = TEXTS["random sentences"]
SENTENCES = ["a b c", "", "z a b", "a  b\tc", "a a a a a a a a a a a", "h g f e d c b a"]


def without_counts() -> NgramLM:
    """A model with its compiled form alone, as read from an ARPA file."""
    model = model_of(TEXT, order=3)
    return NgramLM(model.vocabulary, model.compiled)


def with_another(model: NgramLM) -> Mixture:
    """Its orders, and as one more column a model that knows other words."""
    blocks = {**model.as_mixture().blocks, "other": ModelBlock(model_of(["a b q", "q a"], order=2), model.vocabulary)}
    return Mixture(model.vocabulary, blocks, StaticMixer(np.array([0.1, 0.2, 0.3, 0.1, 0.3])))


MODELS: dict[str, Callable[[], LanguageModel]] = {
    "n-gram": lambda: model_of(TEXT, order=3),
    "n-gram in single precision": lambda: model_of(TEXT, order=3, dtype=np.float32),
    "n-gram, edge repeat": lambda: model_of(TEXT, order=3, edge="repeat", extra=("uniform", "unknown")),
    "n-gram without counts": without_counts,
    "mixture": lambda: model_of(TEXT, order=3).as_mixture(),
    "mixture with a model of other words": lambda: with_another(model_of(TEXT, order=3)),
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> LanguageModel:
    return MODELS[request.param]()


@pytest.fixture
def exact() -> LanguageModel:
    return model_of(TEXT, order=3)


# Sentences


def test_the_score_of_a_sentence_is_the_sum_over_its_words_and_its_end(model: LanguageModel) -> None:
    for sentence in SENTENCES:
        ids = model.sentence_ids(sentence)
        log_probs = model.log_probs(ids)
        assert log_probs[0] == 0
        assert model.score(sentence) == pytest.approx(log_probs.sum(), rel=1e-12)
        assert model.score(sentence.split()) == pytest.approx(log_probs.sum(), rel=1e-12)


def test_the_score_is_the_logarithm_of_the_oracles_probability(exact: LanguageModel) -> None:
    oracle = oracle_of(TEXT, order=3)
    for sentence in SENTENCES:
        assert exact.score(sentence) == pytest.approx(oracle.log_probability([sentence.split()]), rel=1e-12)


def test_a_batch_of_sentences_is_scored_like_each(model: LanguageModel) -> None:
    expected = [model.score(sentence) for sentence in SENTENCES]
    assert model.score_batch(SENTENCES) == pytest.approx(expected, rel=1e-12)
    assert model.score_batch(["a b"] * 3) == pytest.approx([model.score("a b")] * 3)
    assert len(model.score_batch([])) == 0


@settings(max_examples=20)
@given(text=TEXT_LISTS, sentences=TEXT_LISTS, order=st.integers(1, 5), edge=st.sampled_from(EDGES))
def test_random_sentences_score_the_same_in_every_way(
    text: list[str], sentences: list[str], order: int, edge: str
) -> None:
    model = model_of(text, order=order, edge=edge)
    expected = [model.log_probs(model.sentence_ids(sentence)).sum() for sentence in sentences]
    assert [model.score(sentence) for sentence in sentences] == pytest.approx(expected, rel=1e-12)
    assert model.score_batch(sentences) == pytest.approx(expected, rel=1e-12)


def test_a_sentence_too_improbable_for_a_float_still_has_a_score(exact: LanguageModel) -> None:
    sentence = " ".join(["h"] * 2000)
    assert math.isfinite(exact.score(sentence))
    assert exact.score(sentence) == pytest.approx(exact.log_probs(exact.sentence_ids(sentence)).sum(), rel=1e-12)


def test_an_impossible_sentence_has_no_probability() -> None:
    model = model_of(["a b"], order=2, smoothing="maximum-likelihood")
    assert model.score("a b") == 0
    assert model.score("b a") == -math.inf
    assert model.score_batch(["a b", "b", "z"]).tolist() == [0, -math.inf, -math.inf]


def test_words_split_at_ascii_white_space_alone(model: LanguageModel) -> None:
    joined = "a\u00a0b c"  # one unknown word, and c
    assert model.score(joined) == pytest.approx(model.score("zzz c"), rel=1e-12)
    assert model.score_batch([joined]) == pytest.approx([model.score("zzz c")], rel=1e-12)
    assert [part.word for part in model.explain(joined)] == ["a\u00a0b", "c", "</s>"]


@pytest.mark.parametrize("sentence", ["a <s> b", "a </s>", "<s>"])
def test_boundaries_within_a_sentence_are_an_error(model: LanguageModel, sentence: str) -> None:
    asked: list[Callable[[], object]] = [
        lambda: model.score(sentence),
        lambda: model.score(sentence.split()),
        lambda: model.score_batch([sentence]),
        lambda: model.explain(sentence),
    ]
    for ask in asked:
        with pytest.raises(ModlmError, match=r"</?s>"):
            ask()


def test_the_name_of_the_unknown_word_is_the_unknown_word(model: LanguageModel) -> None:
    assert model.score("a <unk> b") == model.score("a never b")


def test_halves_of_characters_are_unknown_words(exact: LanguageModel) -> None:
    assert exact.score("a \ud83d") == pytest.approx(exact.score("a zzz"))
    assert exact.explain("a \ud83d")[1].known is False


# Next words


def test_next_words_are_the_most_probable_ones_in_order(model: LanguageModel) -> None:
    for context in ("", "a", "a b", "z z", "a b c d e f g"):
        row = model.next_distribution(context)
        words = model.next_words(context, k=4)
        probabilities = [prediction.probability for prediction in words]
        assert probabilities == sorted(probabilities, reverse=True)
        assert probabilities == sorted(row.tolist(), reverse=True)[:4]
        for prediction in words:
            assert prediction.probability == row[model.vocabulary.id(prediction.word)]
            assert sum(prediction.shares.values()) == pytest.approx(1)


def test_equal_probabilities_are_ordered_by_id() -> None:
    model = model_of(["a b c d e"], order=1)  # all words once
    words = [prediction.word for prediction in model.next_words("", k=7)]
    assert words == [*model.vocabulary.words[1:], "<unk>"]
    assert [prediction.word for prediction in model.next_words("", k=3)] == words[:3]


def test_more_words_than_there_are_give_all(model: LanguageModel) -> None:
    predictions = model.next_words("a", k=1000)
    assert {prediction.word for prediction in predictions} == set(model.vocabulary.words)
    assert sum(prediction.probability for prediction in predictions) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("k", [0, -3])
def test_less_than_one_next_word_is_refused(model: LanguageModel, k: int) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        model.next_words("a", k=k)


def test_contexts_longer_than_the_order_say_no_more_than_their_end(model: LanguageModel) -> None:
    long, short = model.next_distribution("h g f a b"), model.next_distribution("a b", start=False)
    assert np.array_equal(long, short)


def test_a_context_may_begin_a_sentence_or_not(model: LanguageModel) -> None:
    assert not np.allclose(model.next_distribution("", start=True), model.next_distribution("", start=False))
    words = [prediction.word for prediction in model.next_words("b", k=3, start=False)]
    assert words == [model.vocabulary.word(int(i)) for i in np.argsort(-model.next_distribution("b", start=False))[:3]]


def test_unknown_words_in_a_context_are_all_alike(model: LanguageModel) -> None:
    assert np.array_equal(model.next_distribution("a never"), model.next_distribution("a <unk>"))


# Explanations


def test_explanations_add_up(model: LanguageModel) -> None:
    for sentence in SENTENCES:
        parts = model.explain(sentence)
        assert [part.word for part in parts] == [*sentence.split(), "</s>"]
        log_probs = model.log_probs(model.sentence_ids(sentence))[1:]
        for part, log_prob in zip(parts, log_probs, strict=True):
            assert part.probability == pytest.approx(math.exp(log_prob), rel=1e-6)
            assert sum(part.shares.values()) == pytest.approx(1)
            assert sum(part.weights.values()) == pytest.approx(1, abs=1e-6)
            total = sum(part.weights[name] * part.columns[name] for name in part.columns)
            assert total == pytest.approx(part.probability)
            for name, share in part.shares.items():
                expected = part.weights[name] * part.columns[name] / part.probability
                assert share == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("extra", EXTRAS, ids="+".join)
def test_explanations_are_the_oracles(smoothing: str, edge: str, extra: tuple[str, ...]) -> None:
    model = model_of(TEXT, order=3, edge=edge, smoothing=smoothing, extra=extra)
    oracle = oracle_of(TEXT, order=3, edge=edge, smoothing=smoothing, extra=extra)
    names = ("1-gram", "2-gram", "3-gram", *extra)
    for answered in (model, model.as_mixture()):
        for sentence in SENTENCES:
            words = sentence.split()
            for i, part in enumerate(answered.explain(sentence)):
                weights = [float(weight) for weight in oracle.weights(words[:i])]
                assert part.weights == pytest.approx(dict(zip(names, weights, strict=True)), rel=1e-9, abs=1e-12)
                word = oracle.known(part.word)
                for name, weight, column in zip(names, weights, oracle.columns(words[:i]), strict=True):
                    if weight > 1e-9:  # elsewhere rounding decides
                        assert part.columns[name] == pytest.approx(float(column[word]), rel=1e-9, abs=1e-12)


def test_explanations_say_which_words_are_known(model: LanguageModel) -> None:
    assert [part.known for part in model.explain("a z b")] == [True, False, True, True]


def test_the_explanation_of_the_impossible_has_no_shares() -> None:
    model = model_of(["a b"], order=2, smoothing="maximum-likelihood")
    first = model.explain("b")[0]
    assert first.probability == 0
    assert set(first.shares.values()) == {0}


def test_a_model_without_counts_explains_by_the_longest_ngram_found() -> None:
    parts = without_counts().explain("a z")
    assert parts[1].shares["1-gram"] == 1
    assert set(parts[0].shares) == {"1-gram", "2-gram", "3-gram"}


def test_a_model_that_says_no_more_has_one_column() -> None:
    class Coin(LanguageModel):
        """Every word alike."""

        def __init__(self) -> None:
            self.vocabulary, self.context_length = counts_of(["a"]).vocabulary, 0

        def word_probs(self, ids: np.ndarray) -> np.ndarray:
            return np.where(ids == self.vocabulary.start, 1.0, 1 / 3)

        def start(self, count: int = 1) -> np.ndarray:
            return np.zeros((count, 0))

        def advance(self, states: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return states, np.full(len(words), math.log(1 / 3))

        def distributions(self, states: np.ndarray) -> np.ndarray:
            return np.full((len(states), 3), 1 / 3)

        def state_after(self, windows_BC: np.ndarray) -> np.ndarray:
            return self.start(len(windows_BC))

    coin = Coin()
    assert coin.explain("a")[0].columns == {"model": pytest.approx(1 / 3)}
    assert coin.next_words("a", k=1)[0].shares == {"model": 1.0}
    assert coin.perplexity(["a a"]).perplexity == pytest.approx(3)


def test_windows_slide_over_a_sentence() -> None:
    ids = np.array([9, 2, 3], dtype=np.uint32)
    nothing = 0xFFFFFFFF
    assert sliding_windows(ids, 2).tolist() == [[nothing, nothing], [nothing, 9], [9, 2]]


# Columns after a context, and sentences on their own


def test_columns_times_weights_are_the_next_word_distribution(model: LanguageModel) -> None:
    for context in ("", "a", "a b", "z", "c b a b"):
        columns_JK, weights_K = model.columns_after(model.window(context))
        assert columns_JK.shape == (len(model.vocabulary), len(model.column_names))
        assert weights_K.sum() == pytest.approx(1, rel=1e-6)
        assert columns_JK @ weights_K == pytest.approx(model.next_distribution(context), rel=1e-5, abs=1e-12)


def test_a_column_with_weight_is_a_distribution(model: LanguageModel) -> None:
    columns_JK, weights_K = model.columns_after(model.window("a b"))
    assert columns_JK.sum(axis=0)[weights_K > 0] == pytest.approx(1, rel=1e-6)


def test_explanations_name_the_columns_of_the_model(model: LanguageModel) -> None:
    assert all(tuple(word.columns) == model.column_names for word in model.explain("a b"))


def test_every_model_says_what_kind_it_is(model: LanguageModel) -> None:
    assert model.described()["model"] in ("n-gram", "mixture")


def test_sentences_on_their_own_have_the_scores_of_their_words(model: LanguageModel) -> None:
    ids = np.concatenate([model.sentence_ids(sentence) for sentence in SENTENCES])
    assert model.sentence_log_probs(ids) == pytest.approx(model.log_probs(ids))


def test_words_after_one_window_have_the_shares_they_have_alone(model: LanguageModel) -> None:
    window, words = model.window("a b"), np.arange(len(model.vocabulary), dtype=np.uint32)
    names, probs_BK, weights_BK = model.shares_after(window, words)
    assert names == model.column_names
    for place, word in enumerate(words):
        _, probs_1K, weights_1K = model.shares(window, np.array([word], np.uint32))
        assert probs_BK[place] == pytest.approx(probs_1K[0], rel=1e-6)
        assert weights_BK[place] == pytest.approx(weights_1K[0], rel=1e-6)
