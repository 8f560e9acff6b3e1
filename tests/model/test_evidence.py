"""What counts say about a word after a context, by hand on three sentences; a compiled form agrees."""

from __future__ import annotations

import numpy as np
import pytest

from modlm.blocks.ngram import NgramBlock
from modlm.counts import count_text
from modlm.model.ngram.evidence import Evidence, compiled_evidence, counted_evidence
from modlm.smoothing import SMOOTHERS, estimate
from modlm.text import Corpus
from small_texts import EDGES, TEXTS, counts_of, model_of

TEXT = ["a b", "a b", "a c"]  # after <s>: a a a; after a: b b c; after <s> a: b b c


def evidence(smoothing: str, context: list[str], word: str, *, edge: str = "once") -> list[Evidence]:
    counts = counts_of(TEXT, order=3, edge=edge)
    estimates = estimate(SMOOTHERS[smoothing](), counts)
    window = np.array([counts.vocabulary.start, *counts.vocabulary.encode(context)], np.uint32)
    return counted_evidence(estimates, window, counts.vocabulary.id(word), raw=counts)


def test_each_order_tells_its_context_and_counts() -> None:
    one, two, three = evidence("witten-bell", ["a"], "b")
    assert (one.context, one.total, one.count) == ((), 9, 2)  # a a a, b b, c, </s> three times
    assert (two.total, two.followers, two.count, two.occurrences) == (3, 2, 2, 2)
    assert two.fallback == pytest.approx(2 / (3 + 2))
    assert two.counted == "occurrences"
    assert (len(three.context), three.seen, three.total, three.count) == (2, True, 3, 2)


def test_a_context_that_was_not_seen_passes_everything_on() -> None:
    three = evidence("witten-bell", ["c"], "b")[2]
    assert (three.seen, three.total, three.followers, three.fallback, three.count) == (False, 0, 0, 1, 0)


def test_an_ngram_that_was_not_seen_after_a_context_that_was_has_count_zero() -> None:
    two = evidence("witten-bell", ["a"], "a")[1]
    assert (two.seen, two.total, two.count, two.occurrences) == (True, 3, 0, 0)


def test_a_context_before_the_sentence_has_fewer_words_and_was_not_seen() -> None:
    three = evidence("witten-bell", [], "a")[2]
    assert (len(three.context), three.seen) == (1, False)


def test_kneser_ney_counts_continuations_below_the_highest_order() -> None:
    one, two, three = evidence("kneser-ney", ["a"], "b")
    assert (one.counted, one.count, one.occurrences) == ("continuations", 1, 2)  # b stands after a alone
    assert (two.counted, two.count, two.occurrences) == ("continuations", 1, 2)  # "a b" after <s> alone
    assert (three.counted, three.count, three.occurrences) == ("occurrences", 2, 2)


def test_kneser_ney_counts_occurrences_of_what_begins_a_sentence() -> None:
    assert evidence("kneser-ney", [], "a")[1].counted == "occurrences"
    assert evidence("kneser-ney", [], "a", edge="repeat")[1].counted == "continuations"


def test_with_several_starts_the_context_is_filled_up_with_them() -> None:
    start = len(counts_of(TEXT).vocabulary)
    assert evidence("witten-bell", [], "a", edge="repeat")[2].context == (start, start)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("smoothing", SMOOTHERS)
def test_the_column_follows_from_the_evidence(smoothing: str, edge: str) -> None:
    model = model_of(TEXTS["random sentences"], order=3, edge=edge, smoothing=smoothing).as_mixture()
    block = model.blocks["ngram"]
    assert isinstance(block, NgramBlock)
    for context in ("", "a b", "c a", "h h"):
        for word in range(len(model.vocabulary)):
            window = model.window(context)
            _, probs_1K, _ = model.shares(window, np.array([word], np.uint32))
            for found, prob in zip(counted_evidence(block.estimates, window[0], word), probs_1K[0], strict=False):
                table = block.estimates.discounts[found.order - 1]
                assert found.count is not None
                own = found.count - table[min(found.count, len(table) - 1)] if found.count else 0.0
                expected = own / found.kept if found.seen and found.kept else 1 / len(model.vocabulary)
                assert prob == pytest.approx(expected)


def test_skipped_positions_are_not_in_the_context() -> None:
    corpus = Corpus.from_text(["a b c", "a d c"])
    counts = count_text(corpus, positions=(2,))
    estimates = estimate(SMOOTHERS["witten-bell"](), counts)
    ids = corpus.vocabulary.encode("a b")
    _, two = counted_evidence(estimates, ids, corpus.vocabulary.id("c"))
    assert (two.context, two.total, two.count) == ((int(ids[0]),), 2, 2)


@pytest.mark.parametrize("edge", EDGES)
def test_a_compiled_forms_contexts_followers_and_fallbacks_are_those_of_the_counts(edge: str) -> None:
    model = model_of(TEXTS["random sentences"], order=3, edge=edge)
    block = model.as_mixture().blocks["ngram"]
    assert isinstance(block, NgramBlock)
    for context in ("", "a", "a b", "h g f", "z"):
        window = model.window(context)[0]
        for word in range(len(model.vocabulary)):
            compiled = compiled_evidence(model.compiled, window, word)
            counted = counted_evidence(block.estimates, window, word)
            for ours, theirs in zip(compiled, counted, strict=True):
                assert (ours.order, ours.context, ours.total, ours.kept) == (theirs.order, theirs.context, None, None)
                if ours.order == 1:
                    continue  # every word has a node, seen or not
                assert ours.seen == theirs.seen
                assert ours.followers == theirs.followers
                assert ours.fallback == pytest.approx(theirs.fallback)
                assert (ours.count == 0) == (theirs.count == 0)


def test_a_window_of_nothing_has_the_empty_context() -> None:
    model = model_of(["a b"], order=2)
    one, two = compiled_evidence(model.compiled, np.zeros(0, np.uint32), 2)
    assert (one.context, two.context, two.seen) == ((), (), False)
