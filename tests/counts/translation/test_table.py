"""Translation tables: proper rows, from files as they come, and the same again from a folder."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from modlm.counts.translation import AlignmentOptions, TranslationTable, align, open_table, read_table
from modlm.errors import InputError, ModelFolderError, VocabularyError
from modlm.text.parallel import Parallel
from modlm.text.vocabulary import UNKNOWN, Vocabulary

SOURCE, TARGET = Vocabulary.from_words(["chat", "chien", "zut"]), Vocabulary.from_words(["cat", "dog"])


def written(folder: Path, *lines: str) -> Path:
    path = folder / "table.tsv"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_a_file_gives_rows_that_sum_to_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path, "chat\tcat\t0.75", "chien\tdog\t1", "chat\tdog\t0.25", "nobody\tcat\t1", "")
    table = TranslationTable.from_file(path, SOURCE, TARGET)
    assert table.row("chat") == {"cat": 0.75, "dog": 0.25}
    assert table.row("zut") == {}
    assert not caplog.records


def test_rows_that_do_not_sum_to_one_are_divided_by_their_sum_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path, "chat\tcat\t3", "chat\tdog\t1", "chien\tdog\t0.2")
    with caplog.at_level(logging.WARNING, "modlm"):
        table = TranslationTable.from_file(path, SOURCE, TARGET)
    assert table.row("chat") == {"cat": 0.75, "dog": 0.25} and table.row("chien") == {"dog": 1.0}
    assert "in 2 rows the probabilities do not sum to 1 (those of 'chat' sum to 4)" in caplog.text


def test_words_that_cannot_be_predicted_are_the_unknown_word_together(tmp_path: Path) -> None:
    table = TranslationTable.from_file(
        written(tmp_path, "chat\tpuss\t0.25", "chat\ttom\t0.25", "chat\tcat\t0.5"), SOURCE, TARGET
    )
    assert table.row("chat") == {"<unk>": 0.5, "cat": 0.5}


@pytest.mark.parametrize(
    "line", ["chat cat 1", "chat\tcat", "chat\tcat\tx", "chat\tcat\t-1", "chat\tcat\tnan", "chat\tcat\tinf", "\tcat\t1"]
)
def test_lines_that_say_something_else_are_refused_with_their_number(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputError, match=r"table\.tsv.*2.*source<TAB>target<TAB>probability"):
        TranslationTable.from_file(written(tmp_path, "chat\tcat\t1", line), SOURCE, TARGET)


def test_a_file_of_other_words_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="1 lines have others"):
        TranslationTable.from_file(written(tmp_path, "cat\tchat\t1"), SOURCE, TARGET)


def test_probabilities_of_zero_are_no_translations(tmp_path: Path) -> None:
    table = TranslationTable.from_file(written(tmp_path, "chat\tcat\t1", "chien\tdog\t0"), SOURCE, TARGET)
    assert table.row("chien") == {}


def test_entropy_is_that_of_the_row_and_of_the_uniform_column_where_there_is_none(tmp_path: Path) -> None:
    table = TranslationTable.from_file(
        written(tmp_path, "chat\tcat\t0.5", "chat\tdog\t0.5", "chien\tdog\t1"), SOURCE, TARGET
    )
    expected = {"chat": np.log(2), "chien": 0.0, "zut": np.log(len(TARGET))}
    for word, entropy in expected.items():
        assert table.entropy_V[SOURCE.id(word)] == pytest.approx(entropy)


def test_pruning_keeps_the_best_and_proper_rows() -> None:
    cells = np.array([2, 2, 2, 3]), np.array([1, 2, 3, 3]), np.array([0.9, 0.09, 0.01, 1e-9])
    table = TranslationTable.of(SOURCE, TARGET, cells).pruned(0.05)
    assert table.row("chat") == pytest.approx({"</s>": 0.9 / 0.99, "cat": 0.09 / 0.99})
    assert table.row("chien") == {"dog": 1.0}


@pytest.fixture
def table() -> TranslationTable:
    return align(
        Parallel.read(["le chat", "le chien"], ["the cat", "the dog"]), AlignmentOptions(model1=1, hmm=0)
    ).table


def test_a_folder_and_a_file_give_the_table_back(table: TranslationTable, tmp_path: Path) -> None:
    table.save(tmp_path / "table")
    again = open_table(tmp_path / "table", verify="full")
    assert again.source == table.source and again.target == table.target
    for name in ("first", "words", "probs", "frequency"):
        assert np.array_equal(getattr(again, name), getattr(table, name))
    table.write(tmp_path / "table.tsv.gz")
    read = read_table(tmp_path / "table.tsv.gz", table.source, table.target)
    assert np.array_equal(read.words, table.words) and np.allclose(read.probs, table.probs, atol=1e-5)


def test_a_folder_is_read_for_other_vocabularies_by_the_words(table: TranslationTable, tmp_path: Path) -> None:
    table.save(tmp_path / "table")
    assert read_table(tmp_path / "table", table.source, table.target).probs.tobytes() == table.probs.tobytes()
    other = read_table(tmp_path / "table", Vocabulary.from_words(["new", "chat", "le"]), Vocabulary.from_words(["the"]))
    assert other.row("le") == pytest.approx({"the": table.row("le")["the"], "<unk>": 1 - table.row("le")["the"]})
    assert other.row("new") == {} and other.row("<unk>") == {}
    assert other.frequency[other.source.id("le")] == 2 and other.frequency[UNKNOWN] == 0


def test_a_damaged_folder_says_so(table: TranslationTable, tmp_path: Path) -> None:
    table.save(tmp_path / "table")
    words = np.load(tmp_path / "table" / "words.npy")
    np.save(tmp_path / "table" / "words.npy", words + 100)
    with pytest.raises(ModelFolderError, match="words that the vocabulary does not"):
        open_table(tmp_path / "table")
    with pytest.raises(ModelFolderError, match="contents have changed"):
        open_table(tmp_path / "table", verify="full")
