"""Text to counts in one call, whatever the text is."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.counts.same_counts import assert_same_arrays

from modlm.counts import MAX_ORDER, bytes_of, count_text
from modlm.errors import ConfigError, InputError, VocabularyError
from modlm.text.corpus import Corpus
from modlm.text.vocabulary import Vocabulary

SENTENCES = ["a b a", "c", ""]


def test_files_sentences_and_corpora_count_the_same(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("a b a\n")
    (tmp_path / "two").write_text("c\n\n")
    expected = count_text(SENTENCES)
    for text in ([tmp_path / "one", tmp_path / "two"], [s.split() for s in SENTENCES], Corpus.from_text(SENTENCES)):
        assert_same_arrays(count_text(text), expected)
    assert expected.order == 5 and expected.edge == "once" and expected.sentences == 3


def test_the_vocabulary_can_be_limited_or_given() -> None:
    assert count_text(SENTENCES, max_words=1).of("<unk>") == 2
    assert count_text(SENTENCES, min_count=2).vocabulary.words == ("<unk>", "</s>", "a")
    assert count_text(SENTENCES, vocabulary=Vocabulary.from_words("xb")).of("b") == 1


def test_a_corpus_keeps_its_vocabulary() -> None:
    corpus = Corpus.from_text(SENTENCES)
    count_text(corpus, vocabulary=corpus.vocabulary)
    with pytest.raises(VocabularyError, match="has a vocabulary already"):
        count_text(corpus, vocabulary=Vocabulary.from_words("x"))


@pytest.mark.parametrize("order", [0, -1, MAX_ORDER + 1])
def test_orders_have_a_range(order: int) -> None:
    with pytest.raises(ConfigError, match="order must be between"):
        count_text(SENTENCES, order=order)


def test_the_highest_order_there_is() -> None:
    counts = count_text(["a " * 30], order=MAX_ORDER)
    assert counts.of("a " * MAX_ORDER) == 30 - MAX_ORDER + 1


def test_edges_are_two() -> None:
    with pytest.raises(ConfigError, match="edge must be one of once, repeat"):
        count_text(SENTENCES, edge="twice")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for memory in (None, "1GB"):
        with pytest.raises(InputError, match="nothing"):
            count_text(tmp_path / "nothing", memory=memory)


def test_texts_too_long_for_memory_are_sent_to_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modlm.counts.engine.MOST", 10)
    with pytest.raises(ConfigError, match='Use "disk"'):
        count_text(["a b c d e f g h i"])


@pytest.mark.parametrize(
    ("size", "expected"),
    [("1GB", 1 << 30), ("1.5 GiB", 3 << 29), ("500m", 500 << 20), ("2097152", 1 << 21), (1 << 25, 1 << 25)],
)
def test_memory_limits_in_the_usual_spellings(size: str | int, expected: int) -> None:
    assert bytes_of(size) == expected
