"""Counts say what the oracle counts, for all orders and both edges, and a walk finds everything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.counts.same_counts import by_context, occurring

from modlm.counts import Counts, count_text
from modlm.counts.counts import at_sentences
from modlm.text.corpus import Corpus
from oracle import END, START, Oracle
from small_texts import EDGES, TEXT_LISTS, TEXTS

NONE = 0xFFFFFFFF


def oracle_for(text: list[str], *, order: int, edge: str, smoothing: str = "absolute") -> Oracle:
    return Oracle([sentence.split() for sentence in text], order=order, edge=edge, smoothing=smoothing)


def assert_as_the_oracle_counts(counts: Counts, oracle: Oracle) -> None:
    for order in oracle.orders:
        assert occurring(counts, order) == dict(oracle.counts[order])
        seen = {
            context: (oracle.total(order, context), oracle.followers(order, context)) for context in oracle.after[order]
        }
        assert by_context(counts, order) == seen


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("order", [1, 2, 3, 8, 12])
@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_counts_are_the_oracles(text: list[str], order: int, edge: str) -> None:
    assert_as_the_oracle_counts(count_text(text, order=order, edge=edge), oracle_for(text, order=order, edge=edge))


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_continuation_counts_are_the_oracles(text: list[str], edge: str) -> None:
    counts = count_text(text, order=4, edge=edge).continuation()
    assert_as_the_oracle_counts(counts, oracle_for(text, order=4, edge=edge, smoothing="kneser-ney"))


@given(TEXT_LISTS, st.integers(1, 9), st.sampled_from(EDGES))
def test_a_walk_finds_every_context_and_ngram(text: list[str], order: int, edge: str) -> None:
    counts = count_text(text[: len(text) // 2 + 1], order=order, edge=edge)
    corpus = Corpus.from_text(text, counts.vocabulary)
    contexts_TN, nodes_TN = counts.walk(corpus.ids)
    padding = 1 if edge == "once" else max(1, order - 1)
    t = 0
    for sentence in text:
        words = (
            [START] * padding + [word if word in counts.vocabulary else "<unk>" for word in sentence.split()] + [END]
        )
        ids = [counts.vocabulary.start if word == START else counts.vocabulary.id(word) for word in words]
        assert (nodes_TN[t] == 0).all() and (contexts_TN[t] == NONE).all()  # at <s>
        t += 1
        for place in range(padding, len(ids)):
            for n in range(1, order + 1):
                window = ids[place - n + 1 : place + 1] if place - n + 1 >= 0 else []
                node = counts.node(window) if window else 0
                context = counts.node(window[:-1]) if n > 1 else 0
                expected = context if window and (n == 1 or context) else NONE
                assert contexts_TN[t, n - 1] == expected
                assert nodes_TN[t, n - 1] == node
            t += 1
    assert t == len(corpus.ids)


def test_a_walk_on_threads_is_the_walk_on_one(monkeypatch: pytest.MonkeyPatch) -> None:
    text = TEXTS["random sentences"] * 3
    counts = count_text(text, order=4)
    ids = Corpus.from_text(text, counts.vocabulary).ids
    alone = counts.walk(ids)
    monkeypatch.setattr("modlm.counts.counts.ONE_THREAD", 50)
    monkeypatch.setenv("MODLM_THREADS", "3")
    assert len(at_sentences(ids, counts.vocabulary.start, 3)) == 3
    for found, expected in zip(counts.walk(ids), alone, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_walk_may_begin_inside_a_sentence_and_forget_what_came_before() -> None:
    counts = count_text(["a b c", "b c d"], order=3)
    ids = counts.vocabulary.encode("b c d")
    contexts_TN, nodes_TN = counts.walk(np.concatenate((ids, [NONE], ids)).astype(np.uint32))
    assert contexts_TN[0].tolist() == [0, NONE, NONE]
    assert (nodes_TN[2] > 0).all()
    np.testing.assert_array_equal(contexts_TN[:3], contexts_TN[4:])
    np.testing.assert_array_equal(nodes_TN[:3], nodes_TN[4:])


def test_words_that_never_occur_are_there_and_count_nothing() -> None:
    counts = count_text(["a"], order=2, vocabulary=Corpus.from_text(["a b"]).vocabulary)
    assert counts.of("b") == 0 and counts.of("a") == 1 and counts.of("<s> a") == 1 and counts.of("<s>") == 0
    assert counts.of("") == 0 and counts.of("a </s> a") == 0


@pytest.mark.parametrize("edge", EDGES)
def test_no_text_and_no_words_count_nothing(edge: str) -> None:
    """An empty file is an empty corpus over `<unk>` and `</s>` alone; everything can still be asked."""
    corpus = Corpus.from_text([""])[0:0]
    counts = count_text(corpus, order=4, edge=edge)
    assert len(counts.vocabulary) == 2 and counts.sentences == 0
    assert counts.frequencies.sum() == 0
    assert counts.start_context[1] in (0, 1)
    contexts_TN, _ = counts.continuation().walk(np.array([2, 0, 1], dtype=np.uint32))
    assert contexts_TN.shape == (3, 4)
