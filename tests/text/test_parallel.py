"""Parallel text: line by line, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from modlm.errors import InputError
from modlm.text.options import TextOptions
from modlm.text.parallel import Parallel


def test_each_side_has_its_own_words_and_sources_have_no_boundaries() -> None:
    pairs = Parallel.read(["le chat", "", "un"], ["the cat", "a", ""])
    assert len(pairs) == 3
    assert [pairs.source.vocabulary.decode(source) for source in pairs.sources] == [["le", "chat"], [], ["un"]]
    assert "cat" in pairs.target.vocabulary and "cat" not in pairs.source.vocabulary


def test_pairs_with_an_empty_side_stay_in_the_text_and_are_told_apart() -> None:
    pairs = Parallel.read(["le chat", "", "un"], ["the cat", "a", ""])
    assert pairs.whole_N.tolist() == [True, False, False]
    assert pairs.without([(0, 1)]).tolist() == []
    assert pairs.without().tolist() == [0]


def test_a_different_number_of_lines_is_an_error_with_both_files_and_counts(tmp_path: Path) -> None:
    (tmp_path / "a.fr").write_text("un\ndeux\n")
    (tmp_path / "a.en").write_text("one\n")
    with pytest.raises(InputError, match=r"a\.fr has 2 lines and .*a\.en has 1.*empty line"):
        Parallel.read(tmp_path / "a.fr", tmp_path / "a.en")
    both = Parallel.read(["un"], ["one"])
    with pytest.raises(InputError, match="2 lines and the target has 1"):
        Parallel(Parallel.read(["un", "deux"], ["one", "two"]).source, both.target)


def test_vocabularies_may_be_given_for_each_side() -> None:
    first = Parallel.read(["le chat"], ["the cat"])
    options = [TextOptions(vocabulary=corpus.vocabulary) for corpus in (first.source, first.target)]
    again = Parallel.read(["le chien"], ["the dog"], *options)
    assert again.sources[0].tolist() == [first.source.vocabulary.id("le"), 0]
    assert again.target.unknown == 1


def test_the_other_direction_is_the_same_pairs() -> None:
    pairs = Parallel.read(["le chat", "un"], ["the cat", "one"])
    back = pairs.swapped()
    assert back.source is pairs.target and back.target is pairs.source
