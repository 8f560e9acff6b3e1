"""Folds take a part of every source."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.errors import ConfigError, ModelFolderError, VocabularyError
from modlm.text import Corpus
from modlm.text.folds import fold_cuts


def test_one_source_is_cut_as_split_cuts_it() -> None:
    assert fold_cuts([10], 4) == [[(0, 3)], [(3, 6)], [(6, 9)], [(9, 10)]]


def test_every_fold_takes_a_stretch_of_every_source() -> None:
    assert fold_cuts([4, 6], 2) == [[(0, 2), (4, 7)], [(2, 4), (7, 10)]]


def test_small_sources_are_cut_together_with_their_neighbours() -> None:
    assert fold_cuts([1, 1, 1, 1], 2) == [[(0, 2)], [(2, 4)]]
    assert fold_cuts([6, 1], 2) == [[(0, 4)], [(4, 7)]]


def test_folds_without_a_sentence_are_left_out() -> None:
    assert fold_cuts([2], 5) == [[(0, 1)], [(1, 2)]]


def test_a_number_of_folds_below_one_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 1, but is 0"):
        fold_cuts([3], 0)


@given(sources=st.lists(st.integers(1, 40), min_size=1, max_size=6), folds=st.integers(1, 12))
def test_folds_hold_every_sentence_once_and_like_shares_of_each_source(sources: list[int], folds: int) -> None:
    cuts = fold_cuts(sources, folds)
    numbers = [number for fold in cuts for first, after in fold for number in range(first, after)]
    assert sorted(numbers) == list(range(sum(sources)))
    begin = 0
    for size in sources:
        shares = [sum(begin <= n < begin + size for cut in fold for n in range(*cut)) for fold in cuts]
        if min(sources) >= folds:
            assert max(shares) <= -(-size // folds)
        begin += size


def test_a_corpus_knows_the_sentences_of_each_file(tmp_path: Path) -> None:
    for name, text in (("one", "a\nb\n"), ("none", ""), ("three", "c\nd\na")):
        (tmp_path / name).write_text(text)
    corpus = Corpus.from_text([tmp_path / "one", tmp_path / "none", tmp_path / "three"])
    assert corpus.sources == (2, 3)
    assert [list(fold.vocabulary.decode(fold.ids[fold.ids < len(fold.vocabulary)])) for fold in corpus.folds(2)] == [
        ["a", "</s>", "c", "</s>", "d", "</s>"],
        ["b", "</s>", "a", "</s>"],
    ]
    assert corpus.source(2).sentences == 3
    with pytest.raises(ConfigError, match="2 sources, so there is no source 3"):
        corpus.source(3)
    with pytest.raises(VocabularyError):
        Corpus.joined([corpus, Corpus.from_text(["z"])])


def test_sources_are_kept_in_a_folder_and_must_add_up(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text("a b\nb\n")
    corpus = Corpus.from_text([tmp_path / "one", tmp_path / "two"], folder=tmp_path / "corpus")
    assert corpus.sources == Corpus.open(tmp_path / "corpus").sources == (2, 2)
    record = tmp_path / "corpus" / "corpus.json"
    record.write_text(record.read_text().replace("2,\n    2", "2,\n    3"))
    with pytest.raises(ModelFolderError, match="do not add up"):
        Corpus.open(tmp_path / "corpus")


def test_a_corpus_of_a_version_without_sources_is_one_text(tmp_path: Path) -> None:
    corpus = Corpus.from_text(["a b", "b"])
    corpus.save(tmp_path / "corpus")
    record = tmp_path / "corpus" / "corpus.json"
    record.write_text(record.read_text().replace('  "sources": [],\n', ""))
    assert Corpus.open(tmp_path / "corpus").sources == ()
