"""Drawing words: the sets that may be drawn from, and how often each word is."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.errors import ConfigError
from modlm.ground.arrays import Floats
from modlm.model.ngram_lm import NgramLM
from modlm.model.sampling import Sampling, adjusted, draws
from modlm.text import UNKNOWN
from small_texts import TEXTS, model_of

TEXT = TEXTS["random sentences"]
ROW = np.array([0.3, 0.05, 0.2, 0.1, 0.25, 0.1])  # <unk>, </s>, and four words


@pytest.fixture(scope="module")
def model() -> NgramLM:
    return model_of(TEXT, order=3, vocabulary=list("abcd"))  # the unknown word is frequent


def drawn_from(sampling: Sampling, row: Floats = ROW) -> list[int]:
    return np.flatnonzero(adjusted(row, sampling)).tolist()


def test_temperature_one_leaves_the_distribution_as_it_is() -> None:
    assert adjusted(ROW, Sampling(unknown=True)) == pytest.approx(ROW)


def test_without_the_unknown_word_the_rest_keeps_its_proportions() -> None:
    assert adjusted(ROW, Sampling()) == pytest.approx(np.array([0, 0.05, 0.2, 0.1, 0.25, 0.1]) / 0.7)


def test_a_distribution_that_is_all_unknown_can_still_be_drawn_from() -> None:
    assert drawn_from(Sampling(), np.array([1.0, 0.0, 0.0])) == [UNKNOWN]


def test_temperature_zero_takes_the_most_probable_word_and_the_first_of_equals() -> None:
    assert drawn_from(Sampling(temperature=0)) == [4]
    assert drawn_from(Sampling(temperature=0, unknown=True)) == [0]
    assert drawn_from(Sampling(temperature=0), np.array([0.0, 0.2, 0.4, 0.4])) == [2]


@pytest.mark.parametrize("temperature", [0.25, 0.5, 2.0, 10.0])
def test_a_temperature_is_a_power_of_the_distribution(temperature: float) -> None:
    powers = ROW ** (1 / temperature)
    assert adjusted(ROW, Sampling(temperature=temperature, unknown=True)) == pytest.approx(powers / powers.sum())


@pytest.mark.parametrize("temperature", [1e-3, 1e-300, 5e-324])
def test_a_tiny_temperature_is_all_but_zero(temperature: float) -> None:
    assert adjusted(ROW, Sampling(temperature=temperature)) == pytest.approx(np.eye(6)[4])


def test_a_huge_temperature_draws_all_possible_words_alike() -> None:
    row = np.array([0.0, 0.9, 0.1, 0.0])
    assert adjusted(row, Sampling(temperature=1e300)) == pytest.approx([0, 0.5, 0.5, 0])


def test_top_k_keeps_the_k_most_probable() -> None:
    assert drawn_from(Sampling(top_k=1)) == [4]
    assert drawn_from(Sampling(top_k=2)) == [2, 4]
    assert drawn_from(Sampling(top_k=2, unknown=True)) == [0, 4]
    assert adjusted(ROW, Sampling(top_k=2)) == pytest.approx(np.array([0, 0, 0.2, 0, 0.25, 0]) / 0.45)
    assert drawn_from(Sampling(top_k=0)) == drawn_from(Sampling(top_k=100)) == [1, 2, 3, 4, 5]


def test_top_p_keeps_the_fewest_words_with_that_much_probability() -> None:
    row = np.array([0.0, 0.1, 0.4, 0.2, 0.3])
    assert drawn_from(Sampling(top_p=0.39), row) == [2]
    assert drawn_from(Sampling(top_p=0.4), row) == [2]
    assert drawn_from(Sampling(top_p=0.41), row) == [2, 4]
    assert drawn_from(Sampling(top_p=0.75), row) == [2, 3, 4]
    assert drawn_from(Sampling(top_p=1.0), row) == [1, 2, 3, 4]
    assert adjusted(row, Sampling(top_p=0.5)) == pytest.approx(np.array([0, 0, 0.4, 0, 0.3]) / 0.7)


def test_top_p_is_of_what_top_k_left() -> None:
    row = np.array([0.0, 0.1, 0.4, 0.2, 0.3])
    assert drawn_from(Sampling(top_k=2, top_p=0.5), row) == [2]  # 0.4 of 0.7 is more than half


@given(
    weights=st.lists(st.integers(0, 50), min_size=2, max_size=12).filter(lambda weights: sum(weights[1:]) > 0),
    temperature=st.sampled_from([0, 0.3, 1, 4]),
    top_k=st.integers(0, 13),
    top_p=st.floats(0.01, 1),
    unknown=st.booleans(),
)
def test_what_is_drawn_from_is_a_distribution_over_the_most_probable(
    weights: list[int], temperature: float, top_k: int, top_p: float, unknown: bool
) -> None:
    row = np.array(weights) / sum(weights)
    sampling = Sampling(temperature=temperature, top_k=top_k, top_p=top_p, unknown=unknown)
    probs = adjusted(row, sampling)
    assert probs.sum() == pytest.approx(1)
    assert probs.min() >= 0
    assert np.all(row[probs > 0] > 0)
    if not unknown:
        assert probs[UNKNOWN] == 0
        row[UNKNOWN] = 0
    if top_k:
        assert np.count_nonzero(probs) <= top_k
    kept, dropped = row[probs > 0], row[(probs == 0) & (row > 0)]
    assert not len(dropped) or kept.min() >= dropped.max()


def test_frequencies_follow_the_distribution(model: NgramLM) -> None:
    rng, count = np.random.default_rng(3), 3000
    sampling = Sampling(max_words=1, temperature=1.5)
    drawn = Counter(next(model.generate(sampling, context="a", rng=rng), "</s>") for _ in range(count))
    expected = adjusted(model.next_distribution("a"), sampling) * count
    assert set(drawn) <= set(model.vocabulary.words)
    found = np.array([drawn[word] for word in model.vocabulary.words])
    possible = expected > 0
    assert found[~possible].sum() == 0
    chi_square = ((found - expected)[possible] ** 2 / expected[possible]).sum()
    assert chi_square < 18.5  # five words: four degrees of freedom, one in a thousand


def test_each_word_is_drawn_after_the_words_before_it(model: NgramLM) -> None:
    rng = np.random.default_rng(5)
    following: dict[str, Counter[str]] = {}
    for _ in range(600):
        words = ["<s>", *model.generate(rng=rng), "</s>"]
        for before, word in pairwise(words):
            following.setdefault(before, Counter())[word] += 1
    assert "<unk>" not in following
    bigram = model_of(TEXT, order=2, vocabulary=list("abcd"))
    for word in "abcd":
        share = following[word]["</s>"] / following[word].total()
        assert share == pytest.approx(adjusted(bigram.next_distribution(word, start=False), Sampling())[1], abs=0.1)


def test_the_unknown_word_is_drawn_only_when_asked_for(model: NgramLM) -> None:
    words = {word for seed in range(40) for word in model.generate(rng=np.random.default_rng(seed))}
    assert words <= set("abcd")
    asked = {
        word for seed in range(40) for word in model.generate(Sampling(unknown=True), rng=np.random.default_rng(seed))
    }
    assert "<unk>" in asked


def test_the_same_seed_draws_the_same_sentence(model: NgramLM) -> None:
    sentences = [list(model.generate(rng=np.random.default_rng(seed))) for seed in (1, 1, 2, 3)]
    assert sentences[0] == sentences[1]
    assert len({tuple(sentence) for sentence in sentences}) > 1


def test_temperature_zero_walks_along_the_most_probable_words(model: NgramLM) -> None:
    words: list[str] = []
    while len(words) < 9:
        best = next(p.word for p in model.next_words(words, k=2) if p.word != "<unk>")
        if best == "</s>":
            break
        words.append(best)
    greedy = Sampling(temperature=0, max_words=9)
    assert list(model.generate(greedy)) == words
    assert list(model.as_mixture().generate(greedy)) == words


def test_a_sentence_ends_at_its_end_or_at_the_limit() -> None:
    endless = model_of(["a " * 200], order=2, smoothing="maximum-likelihood")
    assert len(list(endless.generate(Sampling(max_words=7, temperature=0)))) == 7
    sure = model_of(["a b"], order=3, smoothing="maximum-likelihood")
    assert list(sure.generate()) == ["a", "b"]
    assert list(sure.generate(context="a")) == ["b"]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("temperature", -0.1),
        ("temperature", float("nan")),
        ("temperature", float("inf")),
        ("top_k", -1),
        ("top_p", 0.0),
        ("top_p", 1.1),
        ("top_p", float("nan")),
        ("max_words", 0),
    ],
)
def test_settings_out_of_range_are_refused(setting: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"{setting} must be"):
        Sampling(**{setting: value})  # type: ignore[arg-type]


def test_draws_carry_the_models_own_probability_and_end_with_the_sentence(model: NgramLM) -> None:
    sampling = Sampling(temperature=0.5, top_k=3, unknown=True)
    drawn = list(draws(model, sampling, context="a", rng=np.random.default_rng(3)))
    words = model.vocabulary.decode([draw.word for draw in drawn])
    for place, draw in enumerate(drawn):
        row = model.next_distribution(["a", *words[:place]])
        assert draw.probability == pytest.approx(row[draw.word])
    assert words[-1] == "</s>"
    assert words[:-1] == list(model.generate(sampling, context="a", rng=np.random.default_rng(3)))
