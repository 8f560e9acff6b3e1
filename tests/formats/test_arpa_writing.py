"""What is written is what lmplz would write, and reads back to the printed digits."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.arpa_samples import VALID

from modlm.errors import EstimationError, OutputError
from modlm.formats import ArpaRows, ArpaSection, ArpaTables, read_arpa, write_arpa
from modlm.formats.output import RowWriter
from modlm.text.vocabulary import Vocabulary

GOLDEN = Path(__file__).parents[1] / "golden"
WORDS = Vocabulary.from_words(["a", "ü"])
START = WORDS.start


def unigrams(probs: list[float], backoffs: list[float] | None = None) -> ArpaSection:
    ids = np.arange(len(probs), dtype=np.uint32)[:, None]
    return ArpaSection(len(probs), [ArpaRows(ids, np.array(probs), None if backoffs is None else np.array(backoffs))])


def sections_of(tables: ArpaTables) -> list[ArpaSection]:
    """What was read as `write_arpa` takes it."""
    return [
        ArpaSection(len(rows), [ArpaRows(rows.ngrams, rows.log10_probs, None if top else rows.log10_backoffs)])
        for top, rows in ((order == tables.max_order, rows) for order, rows in enumerate(tables.orders, 1))
    ]


def rows_of(path: Path) -> list[str]:
    return path.read_text().split("-grams:\n")[1].split("\n\n")[0].split("\n")


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.arpa")), ids=lambda path: path.name)
@pytest.mark.parametrize("name", ["again.arpa", "again.arpa.gz"])
def test_a_file_of_lmplz_is_written_again_byte_for_byte(tmp_path: Path, path: Path, name: str) -> None:
    tables = read_arpa(path)
    write_arpa(tmp_path / name, tables.vocabulary, sections_of(tables))
    data = (tmp_path / name).read_bytes()
    assert (gzip.decompress(data) if name.endswith(".gz") else data) == path.read_bytes()


def test_the_same_tables_give_the_same_packed_file(tmp_path: Path) -> None:
    for name in ("one.gz", "two.gz"):
        write_arpa(tmp_path / name, WORDS, [unigrams([-1, -1, -1, -1])])
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()


def test_tables_may_come_in_pieces(tmp_path: Path) -> None:
    (tmp_path / "in.arpa").write_text(VALID)
    tables = read_arpa(tmp_path / "in.arpa")
    whole, pieces = tmp_path / "whole.arpa", tmp_path / "pieces.arpa"
    write_arpa(whole, tables.vocabulary, sections_of(tables))
    cut = [
        ArpaSection(
            section.count,
            (
                ArpaRows(*(None if column is None else column[row : row + 1] for column in block))
                for block in section.blocks
                for row in range(len(block.ngrams))
            ),
        )
        for section in sections_of(tables)
    ]
    write_arpa(pieces, tables.vocabulary, cut)
    assert pieces.read_bytes() == whole.read_bytes()


def test_log_zero_is_minus_99_and_the_start_has_zero(tmp_path: Path) -> None:
    path = tmp_path / "model.arpa"
    section = unigrams([-np.inf, -1, -1, -2, -np.inf], [-np.inf, 0, -0.0, 0.25, -1])
    write_arpa(path, WORDS, [section, ArpaSection(0, [])])
    assert rows_of(path) == ["-99\t<unk>\t-99", "-1\t</s>\t0", "-1\ta\t0", "-2\tü\t0.25", "0\t<s>\t-1"]


def test_a_start_that_says_something_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "model.arpa"
    write_arpa(path, WORDS, [unigrams([-1, -1, -1, -1, -99])])
    assert rows_of(path)[-1] == "-99\t<s>"


def test_numbers_beyond_the_kernel_are_written_too(tmp_path: Path) -> None:
    path = tmp_path / "model.arpa"
    numbers = [-1e-20, -3e9, -1, -1e-45, -1]
    write_arpa(path, WORDS, [unigrams(numbers, numbers), ArpaSection(0, [])])
    np.testing.assert_array_equal(read_arpa(path).orders[0].log10_probs.astype(np.float32), np.float32(numbers))
    assert rows_of(path)[0] == "-1e-20\t<unk>\t-1e-20"


def test_a_row_longer_than_the_buffer_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modlm.formats.output.BUFFER_BYTES", 64)
    words = Vocabulary.from_words(["x" * 1000, "y"])
    assert RowWriter.__init__.__globals__["BUFFER_BYTES"] == 64
    write_arpa(tmp_path / "model.arpa", words, [unigrams([-1, -1, -1, -1])])
    assert rows_of(tmp_path / "model.arpa")[2:] == ["-1\t" + "x" * 1000, "-1\ty"]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 0.1])
def test_what_is_no_log_probability_is_refused_and_nothing_is_left(tmp_path: Path, wrong: float) -> None:
    with pytest.raises(EstimationError, match="1-grams"):
        write_arpa(tmp_path / "model.arpa", WORDS, [unigrams([-1, wrong])])
    with pytest.raises(EstimationError, match="1-grams"):
        write_arpa(tmp_path / "model.arpa", WORDS, [unigrams([-1, -1], [0, np.nan])])
    assert list(tmp_path.iterdir()) == []


def test_a_target_is_overwritten_only_if_allowed(tmp_path: Path) -> None:
    path = tmp_path / "model.arpa"
    path.write_text("old")
    with pytest.raises(OutputError, match="already exists"):
        write_arpa(path, WORDS, [unigrams([-1, -1])], overwrite=False)
    assert path.read_text() == "old"
    write_arpa(path, WORDS, [unigrams([-1, -1])])
    assert path.read_text().startswith("\\data\\\nngram 1=2\n")


def test_ids_of_another_vocabulary_are_our_own_mistake(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="vocabulary"):
        write_arpa(tmp_path / "model.arpa", WORDS, [unigrams([-1] * (START + 2))])


log10_numbers = st.floats(-60, 0) | st.floats(-1e-4, 0) | st.floats(-1e30, 0)


@given(st.lists(st.tuples(log10_numbers, log10_numbers | st.floats(0, 50)), min_size=2, max_size=5))
def test_every_number_reads_back_as_its_float32(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, float]]
) -> None:
    path = tmp_path_factory.mktemp("round") / "model.arpa"
    probs, backoffs = zip(*rows, strict=True)
    write_arpa(path, WORDS, [unigrams(list(probs), list(backoffs)), ArpaSection(0, [])])
    once = read_arpa(path).orders[0]
    np.testing.assert_array_equal(once.log10_probs.astype(np.float32), np.float32(probs))
    np.testing.assert_array_equal(once.log10_backoffs.astype(np.float32), np.float32(backoffs))
    tables = read_arpa(path)
    write_arpa(path.with_name("again.arpa"), tables.vocabulary, sections_of(tables))
    assert path.with_name("again.arpa").read_bytes() == path.read_bytes()
