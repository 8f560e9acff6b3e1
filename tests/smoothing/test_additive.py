"""Additive smoothing: the textbook's formula, and nltk's."""

from __future__ import annotations

import pytest

from modlm.errors import ConfigError
from modlm.model.ngram_lm import NgramLM
from modlm.smoothing.additive import Additive

TEXT = ["a b", "a b", "a c"]  # after a: b b c; J = 5 with </s> and <unk>


def test_unigrams_are_laplaces() -> None:
    model = NgramLM.fit(TEXT, order=1, smoothing="additive")
    assert model.next_distribution("")[model.vocabulary.id("b")] == pytest.approx((2 + 1) / (9 + 5))


def test_spread_evenly_every_order_is_the_textbooks() -> None:
    model = NgramLM.fit(TEXT, order=2, smoothing="additive:delta=0.1,evenly=true")
    after = model.next_distribution("a")
    assert after[model.vocabulary.id("b")] == pytest.approx((2 + 0.1) / (3 + 0.1 * 5))
    assert after[model.vocabulary.id("<unk>")] == pytest.approx(0.1 / (3 + 0.1 * 5))


def test_otherwise_the_shorter_context_says_how() -> None:
    model = NgramLM.fit(TEXT, order=2, smoothing=Additive(delta=0.1))
    unigram = (2 + 0.1) / (9 + 0.1 * 5)
    assert model.next_distribution("a")[model.vocabulary.id("b")] == pytest.approx((2 + 0.5 * unigram) / (3 + 0.5))


def test_it_is_nltks_lidstone() -> None:
    lm = pytest.importorskip("nltk.lm", reason="nltk is not installed")
    from nltk.lm.preprocessing import padded_everygram_pipeline

    ngrams, words = padded_everygram_pipeline(2, [line.split() for line in TEXT])
    theirs = lm.Lidstone(0.1, 2)
    theirs.fit(ngrams, words)
    ours = NgramLM.fit(TEXT, order=2, smoothing="additive:delta=0.1,evenly=true")
    for context in "abc":
        row = ours.next_distribution(context)
        for word in ("a", "b", "c", "</s>"):
            added = 0.1 * (len(theirs.vocab) - len(ours.vocabulary))  # it counts <s> among the words to predict
            seen = theirs.counts[[context]].N()
            expected = theirs.score(word, [context]) * (seen + 0.1 * len(theirs.vocab))
            assert row[ours.vocabulary.id(word)] * (seen + 0.1 * len(theirs.vocab) - added) == pytest.approx(expected)


@pytest.mark.parametrize("delta", [0.0, -1.0, float("nan")])
def test_something_must_be_added(delta: float) -> None:
    with pytest.raises(ConfigError, match="delta must be above 0"):
        Additive(delta=delta)
