"""Merged counts are the counts of the joined texts, to the byte."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.counts.same_counts import assert_same_arrays

from modlm.counts import Counts, count_text, merge
from modlm.errors import ConfigError, ModelFolderError
from modlm.text.vocabulary import Vocabulary
from small_texts import EDGES, TEXT_LISTS, TEXTS


@given(st.lists(TEXT_LISTS, min_size=1, max_size=4), st.integers(1, 8), st.sampled_from(EDGES))
def test_merging_is_counting_the_joined_text(texts: list[list[str]], order: int, edge: str) -> None:
    vocabulary = Vocabulary.from_words("abcde")
    parts = [count_text(text, order=order, edge=edge, vocabulary=vocabulary) for text in texts]
    assert_same_arrays(merge(parts), count_text(list(chain(*texts)), order=order, edge=edge, vocabulary=vocabulary))


@given(st.lists(TEXT_LISTS, min_size=2, max_size=3), st.integers(1, 5), st.sampled_from(EDGES))
def test_vocabularies_may_differ(texts: list[list[str]], order: int, edge: str) -> None:
    merged = merge([count_text(text, order=order, edge=edge) for text in texts])
    assert_same_arrays(merged, count_text(list(chain(*texts)), order=order, edge=edge, vocabulary=merged.vocabulary))


def test_the_first_vocabulary_comes_first_then_what_the_others_add() -> None:
    parts = [count_text([text]) for text in ("d d c", "e b b b d", "a c")]
    assert merge(parts).vocabulary.words == ("<unk>", "</s>", "d", "c", "b", "e", "a")


def test_words_unknown_to_one_part_stay_unknown_there() -> None:
    known = count_text(["a b"], order=2)
    narrow = count_text(["a b"], order=2, vocabulary=Vocabulary.from_words(["a"]))
    counts = merge([known, narrow])
    assert (counts.of("a b"), counts.of("a <unk>"), counts.of("a")) == (1, 1, 2)


def test_adding_text_to_counts() -> None:
    old = count_text(TEXTS["random sentences"], order=3)
    new = count_text(["a b h"], order=3, vocabulary=old.vocabulary)
    assert merge([old, new]).of("a b h") == old.of("a b h") + 1
    assert merge([old, new]).sentences == 61


def test_one_part_is_itself() -> None:
    counts = count_text(["a b", "a"], order=3)
    assert_same_arrays(merge([counts]), counts)


def test_sums_that_need_it_have_64_bits() -> None:
    counts = count_text(["a b", "a"], order=2)
    many = Counts(counts.vocabulary, counts.trie, counts.frequencies * np.uint32(2**30), sentences=1)
    assert merge([many, counts]).frequencies.dtype == np.uint32
    wide = merge([many, many])
    assert wide.frequencies.dtype == np.uint64 and wide.of("a") == 2**32
    assert merge([wide, many]).of("a") == 3 * 2**31


def test_cut_offs_are_the_largest() -> None:
    counts = count_text(["a b"], order=2)
    parts = [
        Counts(counts.vocabulary, counts.trie, counts.frequencies, cut_off=cut) for cut in ((), (200, 40), (1, 50))
    ]
    assert merge(parts).cut_off == (200, 50)


WRONG: dict[str, tuple[list[Counts], str]] = {
    "nothing": ([], "nothing to merge"),
    "orders": ([count_text(["a"], order=2), count_text(["a"], order=3)], "orders 2 and 3"),
    "edges": ([count_text(["a"]), count_text(["a"], edge="repeat")], "'once' and 'repeat'"),
    "skip n-grams": ([count_text(["a"], positions=(2,))] * 2, "skip n-grams"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_merged(name: str) -> None:
    parts, message = WRONG[name]
    with pytest.raises(ConfigError, match=message):
        merge(parts)


def test_links_are_wider_where_32_bits_do_not_tell_all_ngrams_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [count_text(["a b c", "b d"], order=3), count_text(["d b c a", "e a"], order=3)]
    narrow = merge(parts)
    monkeypatch.setattr("modlm.counts.merging.MOST", 8)
    wide = merge(parts)
    assert (wide.trie.first.dtype, wide.trie.suffix.dtype) == (np.uint64, np.uint64)
    again, other = merge([wide, parts[1]]), merge([parts[0], wide])
    monkeypatch.undo()
    for ours, theirs in ((wide, narrow), (again, merge([narrow, parts[1]])), (other, merge([parts[0], narrow]))):
        for name, array in ours.arrays().items():
            assert np.array_equal(array, theirs.arrays()[name]), name


def test_damaged_counts_whose_ngrams_have_no_suffix_are_refused() -> None:
    """A folder opened with verify="fast" may hold such n-grams; they must not end in an assertion."""
    counts = count_text(["a b c", "b d"], order=3, vocabulary=Vocabulary.from_words("abcd"))
    words = counts.trie.words.copy()
    start, end = counts.trie.levels[3:5]
    place = start + int(np.flatnonzero(words[start:end] == counts.vocabulary.id("c"))[0])  # a b c, a b </s>
    words[place] = counts.vocabulary.id("a")
    damaged = Counts(
        counts.vocabulary, replace(counts.trie, words=words), counts.frequencies, edge=counts.edge, sentences=2
    )
    with pytest.raises(ModelFolderError, match="do not fit together"):
        merge([damaged, damaged])
