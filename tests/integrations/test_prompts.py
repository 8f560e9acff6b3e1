"""Prompts and continuations: the same as walking through the text word by word, with models of words and of tokens."""

from __future__ import annotations

import numpy as np
import pytest

from modlm import LanguageModel, NgramLM
from modlm.integrations.prompts import continuation, generated, text_ids
from modlm.text.vocabulary import END

SENTENCES = ("the cat sat on the mat", "the dog sat on the log", "a cat ate", "the cat saw the dog")


@pytest.fixture(scope="module")
def words() -> NgramLM:
    return NgramLM.fit(list(SENTENCES), order=3)


@pytest.fixture(scope="module")
def tokens() -> NgramLM:
    pytest.importorskip("tokenizers", reason="needs modlm[hf]")
    from modlm.text.tokens import TokenVocabulary
    from small_tokenizers import byte_level

    return NgramLM.fit(list(SENTENCES), order=3, vocabulary=TokenVocabulary.from_tokenizer(byte_level()))


@pytest.fixture(params=["words", "tokens"])
def model(request: pytest.FixtureRequest) -> LanguageModel:
    found: LanguageModel = request.getfixturevalue(request.param)
    return found


def walked(model: LanguageModel, ids: list[int]) -> list[float]:
    """log P of each id of a text, one step after the other; `<s>` costs nothing."""
    states, found = model.start(), []
    for word in ids[1:]:
        states, log_prob = model.advance(states, np.array([word], np.uint32))
        if word == model.vocabulary.start:
            states, log_prob = model.start(), np.zeros(1)
        found.append(float(log_prob[0]))
    return found


@pytest.mark.parametrize(
    ("prompt", "text"),
    [("the cat", " sat on"), ("", "the cat"), ("a dog\nthe", " cat ate\nthe dog"), ("the cat ", "sat"), ("x", "\n")],
)
def test_a_continuation_has_the_probability_of_its_words(model: LanguageModel, prompt: str, text: str) -> None:
    ids = text_ids(model, prompt + text)
    known = len(text_ids(model, prompt.rstrip(" ")))
    assert continuation(model, prompt, text).log_prob == pytest.approx(sum(walked(model, ids.tolist())[known - 1 :]))


def test_lines_have_boundaries_and_the_last_one_is_open(words: NgramLM) -> None:
    start, the = words.vocabulary.start, words.vocabulary.id("the")
    assert text_ids(words, "the\n\nthe").tolist() == [start, the, END, start, END, start, the]
    assert text_ids(words, "").tolist() == [start]
    assert text_ids(words, "the </s>").tolist() == [start, the, 0]  # a reserved name in a text is a word like others


def test_a_continuation_is_greedy_when_each_word_is_the_most_probable_one(model: LanguageModel) -> None:
    text = generated(model, "the cat", most=4)
    assert text
    assert continuation(model, "the cat", text).greedy
    assert not continuation(model, "the cat", text + " ate a log").greedy


def test_lines_before_the_last_say_nothing_of_it(model: LanguageModel) -> None:
    for prompt in ("a\nthe cat", "the dog sat on the log\n\nthe cat"):
        assert generated(model, prompt, most=4) == generated(model, "the cat", most=4)
        assert continuation(model, prompt, generated(model, "the cat", most=4)).greedy


def test_generation_ends_before_a_stop_string_or_after_so_many_words(words: NgramLM) -> None:
    assert generated(words, "the dog sat", until=("the",)) == " on "
    assert generated(words, "the dog sat", most=2) == " on the"
    long = generated(words, "a cat", most=6)
    assert long.startswith(" ate\nthe cat")
    assert generated(words, "a cat", until=("\n", "zzz")) == " ate"


def test_generated_tokens_are_joined_as_the_tokenizer_does(tokens: NgramLM) -> None:
    assert generated(tokens, "the do", until=("\n",), most=60).startswith("g")
