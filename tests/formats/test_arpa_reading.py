"""ARPA files of every tool are read to the same tables."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.formats.arpa_samples import VALID, edited

from modlm.formats import ArpaTables, read_arpa

GOLDEN = Path(__file__).parents[1] / "golden"
START = 4  # <unk>, </s>, a, b, and then <s>


def read(folder: Path, text: str | bytes) -> ArpaTables:
    path = folder / "model.arpa"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_arpa(path)


def assert_same(one: ArpaTables, other: ArpaTables) -> None:
    assert one.vocabulary == other.vocabulary
    assert one.max_order == other.max_order
    for mine, theirs in zip(one.orders, other.orders, strict=True):
        np.testing.assert_array_equal(mine.ngrams, theirs.ngrams)
        np.testing.assert_array_equal(mine.log10_probs, theirs.log10_probs)
        np.testing.assert_array_equal(mine.log10_backoffs, theirs.log10_backoffs)


def test_rows_come_in_file_order_with_reserved_names_at_their_ids(tmp_path: Path) -> None:
    tables = read(tmp_path, VALID)
    assert tables.vocabulary.words == ("<unk>", "</s>", "a", "b")
    assert tables.has_unknown and tables.has_start and tables.max_order == 3
    unigrams, bigrams, trigrams = tables.orders
    assert unigrams.ngrams.tolist() == [[0], [START], [1], [2], [3]]
    assert unigrams.log10_probs.tolist() == [-1.1, -99, -0.9, -0.6, -0.7]
    assert unigrams.log10_backoffs.tolist() == [0, -0.5, 0, -0.3, 0.2]
    assert bigrams.ngrams.tolist() == [[START, 2], [2, 3], [3, 1], [2, 2]]
    assert bigrams.log10_backoffs.tolist() == [-0.1, -0.15, 0, 0]
    assert trigrams.ngrams.tolist() == [[START, 2, 3], [2, 3, 1]]
    assert trigrams.log10_probs.tolist() == [-0.2, -0.1]
    assert unigrams.ngrams.dtype == np.uint32 and unigrams.log10_probs.dtype == np.float64
    assert [bigrams.line(row) for row in range(4)] == [14, 15, 16, 17]


VARIANTS: dict[str, Callable[[str], str]] = {
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "spaces instead of tabs": lambda text: text.replace("\t", " "),
    "spaces around tabs": lambda text: text.replace("\t", " \t "),
    "spaces at line ends": lambda text: text.replace("\n", "  \n"),
    "a tab at line ends": lambda text: text.replace("a b\n", "a b\t\n"),
    "byte order mark": lambda text: "\ufeff" + text,
    "description in front": lambda text: "This is a model.\n\nngram 7=1\n" + text,
    "blank lines in front": lambda text: "\n\n" + text,
    "text behind": lambda text: text + "\nmore text\n\\1-grams:\n",
    "no line end at the end": lambda text: text.removesuffix("\n"),
    "no blank lines": lambda text: text.replace("\n\n", "\n"),
    "blank lines everywhere": lambda text: text.replace("\n", "\n\n"),
    "padded counts, as IRSTLM": lambda text: text.replace("ngram ", "ngram  ").replace("=", "=      "),
    "counts in another order": lambda text: text.replace("ngram 1=5\nngram 2=4", "ngram 2=4\nngram 1=5"),
    "upper-case unknown": lambda text: text.replace("<unk>", "<UNK>"),
    "zero backoff at the top": lambda text: text.replace("<s> a b\n", "<s> a b\t0\n"),
    "plus signs and exponents": lambda text: text.replace("-0.15", "-15E-2").replace("\t0.2", "\t+.2e+0"),
    "long numbers": lambda text: text.replace("-0.15", "-0.150000000000000000000000").replace(
        "-0.9", "-9" + "0" * 30 + "e-31"
    ),
    "an announced order without rows": lambda text: text.replace("ngram 3=2\n", "ngram 3=2\nngram 4=0\n"),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_tools_write_differently_reads_the_same(tmp_path: Path, variant: str) -> None:
    tables = read(tmp_path, VARIANTS[variant](VALID))
    if variant == "an announced order without rows":
        assert len(tables.orders[3]) == 0
        tables = ArpaTables(tables.vocabulary, tables.orders[:3], tables.has_unknown, tables.has_start, tables.path)
    assert_same(tables, read(tmp_path, VALID))


def test_blank_lines_between_rows_keep_line_numbers_right(tmp_path: Path) -> None:
    bigrams = read(tmp_path, edited(("-0.6\tb", "\n\n-0.6\tb"))).orders[1]
    assert [bigrams.line(row) for row in range(4)] == [14, 15, 18, 19]


def test_zstandard_files_read_the_same(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    assert_same(read(tmp_path, zstandard.compress(VALID.encode())), read(tmp_path, VALID))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gz", "bz2", "xz"])
def test_packed_files_read_the_same(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    assert_same(read(tmp_path, pack(VALID.encode())), read(tmp_path, VALID))


def test_unknown_and_start_may_be_missing(tmp_path: Path) -> None:
    text = edited(
        ("ngram 1=5\nngram 2=4\nngram 3=2", "ngram 1=3\nngram 2=3\nngram 3=1"), ("-1.1\t<unk>\n", ""),
        ("-99\t<s>\t-0.5\n", ""), ("-0.4\t<s> a\t-0.1\n", ""), ("-0.2\t<s> a b\n", ""),
    )  # fmt: skip
    tables = read(tmp_path, text)
    assert not tables.has_unknown and not tables.has_start
    assert tables.vocabulary.words == ("<unk>", "</s>", "a", "b")
    assert tables.orders[0].ngrams.tolist() == [[1], [2], [3]]


def test_upper_case_unknown_is_a_word_beside_the_lower_case_one(tmp_path: Path) -> None:
    text = edited(("1=5", "1=6"), ("-0.6\ta", "-2\t<UNK>\n-0.6\ta"))
    assert read(tmp_path, text).vocabulary.words == ("<unk>", "</s>", "<UNK>", "a", "b")


def test_a_run_of_starts_is_the_padding_of_the_left_edge(tmp_path: Path) -> None:
    text = edited(
        ("2=4", "2=5"), ("3=2", "3=4"), ("-0.4\t<s> a", "-99\t<s> <s>\t-0.2\n-0.4\t<s> a"),
        ("-0.2\t<s> a b", "-99\t<s> <s> <s>\n-0.3\t<s> <s> a\n-0.2\t<s> a b"),
    )  # fmt: skip
    assert read(tmp_path, text).orders[2].ngrams.tolist()[:2] == [[START, START, START], [START, START, 2]]


def test_rounding_above_zero_is_forgiven(tmp_path: Path) -> None:
    assert read(tmp_path, edited(("-0.1\ta b", "9e-7\ta b"))).orders[2].log10_probs.tolist() == [-0.2, 0.0]


def test_a_model_of_one_order_is_a_model(tmp_path: Path) -> None:
    tables = read(tmp_path, "\\data\\\nngram 1=2\n\\1-grams:\n-0.3\t</s>\n-0.3\tx\n\\end\\\n")
    assert tables.max_order == 1 and tables.orders[0].ngrams.tolist() == [[1], [2]]


def test_words_may_hold_any_character_but_ascii_white_space(tmp_path: Path) -> None:
    odd = ["\\data\\", "\u00a0", "-1.5", "ü", "\x01", "𝄞", "x" * 100_000]
    rows = "".join(f"-1\t{word}\t-1\n" for word in odd)
    pairs = "".join(f"-1\t{word} {word}\n" for word in odd)
    head = f"\\data\\\nngram 1={len(odd) + 1}\nngram 2={len(odd)}\n"
    text = f"{head}\\1-grams:\n-1\t</s>\n{rows}\\2-grams:\n{pairs}\\end\\\n"
    tables = read(tmp_path, text)
    assert tables.vocabulary.words == ("<unk>", "</s>", *odd)
    assert tables.orders[1].ngrams.tolist() == [[word, word] for word in range(2, 2 + len(odd))]


def test_many_words_and_rows_cross_blocks(tmp_path: Path) -> None:
    count = 70_000  # more than the tables of a packed file have room for at first
    words = [f"word{number:0>60}" for number in range(count)]
    numbers = -np.random.default_rng(1).random(count)
    unigrams = "".join(
        f"{number!r}\t{word}\t{number!r}\n" for number, word in zip(numbers.tolist(), words, strict=True)
    )
    bigrams = "".join(f"{number:.7f}\t{word} </s>\n" for number, word in zip(numbers.tolist(), words, strict=True))
    head = f"\\data\\\nngram 1={count + 1}\nngram 2={count}\n\n"
    text = f"{head}\\1-grams:\n-1\t</s>\n{unigrams}\n\\2-grams:\n{bigrams}\n\\end\\\n"
    for tables in (read(tmp_path, text), read(tmp_path, gzip.compress(text.encode(), 1))):
        assert tables.vocabulary.words[2:] == tuple(words)
        np.testing.assert_array_equal(tables.orders[0].log10_probs[1:], numbers)
        np.testing.assert_array_equal(tables.orders[0].log10_backoffs[1:], numbers)
        np.testing.assert_array_equal(tables.orders[1].log10_probs, np.round(numbers, 7))
        np.testing.assert_array_equal(tables.orders[1].ngrams[:, 0], np.arange(2, count + 2))
        assert (
            tables.orders[1].line(count - 1) == 6 + count + 2 + count
        )  # the file up to </s>, unigrams, a blank and a mark, bigrams


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.arpa")), ids=lambda path: path.name)
def test_a_file_of_lmplz_reads_as_python_would_read_it(path: Path) -> None:
    tables = read_arpa(path)
    sections = path.read_text().split("-grams:\n")[1:]
    for order, (rows, section) in enumerate(zip(tables.orders, sections, strict=True), 1):
        fields = [line.split("\t") for line in section.split("\n\n")[0].splitlines()]
        assert rows.log10_probs.tolist() == [float(row[0]) for row in fields]
        assert rows.log10_backoffs.tolist() == [float(row[2]) if len(row) > 2 else 0.0 for row in fields]
        names = [tables.vocabulary.word(word) for word in rows.ngrams.ravel().tolist()]
        assert names == [word for row in fields for word in row[1].split(" ")]
        assert rows.ngrams.shape == (len(fields), order)
