"""Count files of any shape become sorted tables, and back; what breaks the shape is named with its line."""

from __future__ import annotations

import gzip
import lzma
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.errors import InputError
from modlm.formats import CountTables, read_counts, write_counts
from modlm.text.vocabulary import Vocabulary


def counts_in(tables: CountTables) -> dict[str, int]:
    """n-gram as text: its count."""
    return {
        " ".join(tables.vocabulary.word(word) for word in ngram): count
        for rows in tables.orders
        for ngram, count in zip(rows.ngrams.tolist(), rows.counts.tolist(), strict=True)
    }


def read(folder: Path, *contents: str | bytes, vocabulary: Vocabulary | None = None) -> CountTables:
    paths = []
    for number, content in enumerate(contents):
        paths.append(folder / f"counts{number}")
        paths[-1].write_bytes(content.encode() if isinstance(content, str) else content)
    return read_counts(paths, vocabulary=vocabulary)


def test_orders_are_told_by_the_number_of_words_and_sorted_by_ids(tmp_path: Path) -> None:
    tables = read(tmp_path, "b c\t7\na b c\t3\na\t5\n", "c\t9\nb\t5\na a\t4\n")
    assert tables.vocabulary.words == ("<unk>", "</s>", "c", "a", "b")  # falling count, then bytes
    assert tables.orders[0].ngrams.tolist() == [[2], [3], [4]]
    assert tables.orders[0].counts.tolist() == [9, 5, 5]
    assert tables.orders[1].ngrams.tolist() == [[3, 3], [4, 2]]
    assert tables.orders[2].ngrams.tolist() == [[3, 4, 2]]
    assert tables.orders[2].ngrams.dtype == np.uint32 and tables.orders[2].counts.dtype == np.int64
    assert [rows.smallest for rows in tables.orders] == [5, 4, 3]


def test_repeated_ngrams_are_summed_but_the_smallest_line_is_kept(tmp_path: Path) -> None:
    tables = read(tmp_path, "a\t5\na\t6\n", "a\t40\n")
    assert counts_in(tables) == {"a": 51}
    assert tables.orders[0].smallest == 5


def test_reserved_names_of_web_1t_are_ours(tmp_path: Path) -> None:
    tables = read(tmp_path, "<S>\t5\n</S>\t5\n<UNK>\t2\na\t4\n<S> a\t3\na </S>\t3\n<unk> a\t1\n<UNK> a\t1\n<s> a\t1\n")
    assert tables.vocabulary.words == ("<unk>", "</s>", "a")
    assert counts_in(tables) == {
        "<s>": 5, "</s>": 5, "<unk>": 2, "a": 4, "<s> a": 4, "a </s>": 3, "<unk> a": 2,
    }  # fmt: skip


def test_words_without_a_unigram_are_unknown(tmp_path: Path) -> None:
    assert counts_in(read(tmp_path, "a\t5\na b\t3\na c\t4\n")) == {"a": 5, "a <unk>": 7}


def test_without_unigrams_all_words_are_known(tmp_path: Path) -> None:
    tables = read(tmp_path, "a b\t3\nb c\t4\nx y z\t1\n")
    assert tables.vocabulary.words == ("<unk>", "</s>", "b", "c", "a", "x", "y", "z")
    assert len(tables.orders[0]) == 0 and tables.orders[0].smallest == 0 and tables.orders[0].ngrams.shape == (0, 1)
    assert counts_in(tables) == {"a b": 3, "b c": 4, "x y z": 1}


def test_a_given_vocabulary_decides(tmp_path: Path) -> None:
    vocabulary = Vocabulary.from_words(["b"])
    tables = read(tmp_path, "a\t5\nb\t6\nc\t1\n<s> b\t3\n", vocabulary=vocabulary)
    assert tables.vocabulary is vocabulary
    assert counts_in(tables) == {"<unk>": 6, "b": 6, "<s> b": 3}


@pytest.mark.parametrize(
    "text",
    [
        "a b\t5\nb\t1\n",
        "a b\t5\r\nb\t1\r\n",
        "a b\t5\nb\t1",
        "\n\na b\t5\n\nb\t1\n \n",
        " a  b \t5 \nb\t1\n",
        "\ufeffa b\t5\nb\t1\n",
    ],
)
def test_line_ends_blank_lines_and_spaces_do_not_matter(tmp_path: Path, text: str) -> None:
    assert counts_in(read(tmp_path, text, vocabulary=Vocabulary.from_words(["a", "b"]))) == {"a b": 5, "b": 1}


def test_packed_files_read_the_same_and_may_be_mixed_with_plain_ones(tmp_path: Path) -> None:
    assert counts_in(read(tmp_path, gzip.compress(b"a\t1\n"), lzma.compress(b"b\t2\n"), b"c\t3\n")) == {
        "a": 1,
        "b": 2,
        "c": 3,
    }


def test_a_single_path_and_an_empty_file_among_others_will_do(tmp_path: Path) -> None:
    read(tmp_path, "a\t1\n", "")
    assert counts_in(read_counts(str(tmp_path / "counts0"))) == {"a": 1}
    assert counts_in(read_counts([tmp_path / "counts1", str(tmp_path / "counts0")])) == {"a": 1}


def test_long_ngrams_that_do_not_fit_one_key_are_sorted_too(tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(300)]
    unigrams = "".join(f"{word}\t{1000 - place}\n" for place, word in enumerate(words))
    long = [" ".join(words[place : place + 10]) for place in (200, 5, 100, 5)]
    tables = read(tmp_path, unigrams + "".join(f"{ngram}\t2\n" for ngram in long))
    assert tables.orders[9].ngrams[:, 0].tolist() == [7, 102, 202]
    assert tables.orders[9].counts.tolist() == [4, 2, 2]


def test_more_rows_and_words_than_the_first_tables_hold(tmp_path: Path) -> None:
    count = 300_000
    tables = read(
        tmp_path, "".join(f"w{number} x\t{number + 1}\n" for number in range(count)) + f"{'y' * 700_000}\t3\n"
    )
    assert len(tables.orders[1]) == 1 and tables.orders[1].counts.sum() == count * (count + 1) // 2
    tables = read_counts(
        tmp_path / "counts0", vocabulary=Vocabulary.from_words(["x", *(f"w{n}" for n in range(count))])
    )
    assert tables.orders[1].counts.tolist() == list(range(1, count + 1))


MALFORMED: dict[str, tuple[str | bytes, int, list[str]]] = {
    "no tab": ("a\t1\na b 5\n", 2, ["no tab", "'a b 5'"]),
    "words only": ("a\t1\n\nb\n", 3, ["no tab", "'b'"]),
    "no words": ("\t5\n", 1, ["no words"]),
    "blank words": ("a\t1\n  \t5\n", 2, ["no words"]),
    "no count": ("a\t1\nb\t\n", 2, ["the count is ''"]),
    "count of text": ("a\tb\n", 1, ["'b'", "positive whole number"]),
    "count with a fraction": ("a\t1.5\n", 1, ["'1.5'"]),
    "count with an exponent": ("a\t1e5\n", 1, ["'1e5'"]),
    "count with commas": ("a\t1,000\n", 1, ["'1,000'"]),
    "negative count": ("a\t1\nb\t-5\n", 2, ["'-5'"]),
    "count with a plus": ("a\t+5\n", 1, ["'+5'"]),
    "count of zero": ("a\t0\n", 1, ["count is 0"]),
    "count too large": ("a\t1\nb\t9223372036854775808\n", 2, ["'9223372036854775808'", "2^63 - 1"]),
    "count with a hundred digits": ("a\t" + "9" * 100 + "\n", 1, ["too large"]),
    "unigram counts too large together": ("a\t9223372036854775807\na\t1\n", 2, ["too large"]),
    "two counts": ("a\t5 6\n", 1, ["'5 6'"]),
    "a column too many": ("a\t1\na b\t1999\t5\t3\n", 2, ["more than one tab", "Google Books"]),
    "tabs between words": ("a\tb\t5\n", 1, ["'b'"]),
    "start inside": ("a\t1\na <s>\t5\n", 2, ["<s> after another word"]),
    "start of Web 1T inside": ("a\t1\n<S> a <S>\t5\n", 2, ["<s> after another word"]),
    "far too many words": ("a " * 65 + "\t5\n", 1, ["more than 64 words"]),
    "control character": ("a\t1\nb\x00c\t5\n", 2, ["NUL"]),
    "invalid UTF-8": (b"a\t1\nb\t2\n\xfcx\t5\n", 3, ["0xfc", "UTF-8"]),
    "empty file": ("", 0, ["no counts"]),
    "blank file": ("\n \n", 0, ["no counts"]),
    "binary rubbish": (bytes(range(256)) * 9, 1, ["NUL"]),
    "gzip cut off": (gzip.compress(b"a\t1\n" * 1000)[:-9], 0, ["gzip", "cut off"]),
    "ARPA file": ("\\data\\\nngram 1=5\n", 1, ["no tab"]),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_broken_file_gets_one_clear_message(tmp_path: Path, kind: str) -> None:
    content, line, parts = MALFORMED[kind]
    with pytest.raises(InputError) as caught:
        read(tmp_path, content)
    message, path = str(caught.value), tmp_path / "counts0"
    assert message.startswith(f"{path}, line {line}: " if line else f"{path}: "), message
    assert all(part in message for part in parts), message


def test_counts_of_an_ngram_that_overflow_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="2-gram add up to more"):
        read(tmp_path, "a b\t9223372036854775807\na b\t9223372036854775807\n")


def test_no_files_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No count files"):
        read_counts([])
    with pytest.raises(InputError, match="folder"):
        read_counts(tmp_path)


ngrams = st.lists(st.sampled_from(["a", "b", "ü", "c.d", "</s>", "<unk>"]), min_size=1, max_size=4).map(" ".join)


@given(st.lists(st.tuples(ngrams, st.integers(1, 2**40)), min_size=1), st.booleans())
def test_reading_sums_and_writing_keeps(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[str, int]], packed: bool
) -> None:
    folder = tmp_path_factory.mktemp("counts")
    sums: Counter[str] = Counter()
    for ngram, count in lines:
        sums[ngram] += count
    vocabulary = Vocabulary.from_words(["a", "b", "ü", "c.d"])
    tables = read(folder, "".join(f"{ngram}\t{count}\n" for ngram, count in lines), vocabulary=vocabulary)
    assert counts_in(tables) == sums
    again = folder / ("again.gz" if packed else "again")
    write_counts(again, vocabulary, [(rows.ngrams, rows.counts) for rows in tables.orders])
    assert counts_in(read_counts(again, vocabulary=vocabulary)) == sums
    for rows in tables.orders:
        assert rows.ngrams.tolist() == sorted(rows.ngrams.tolist())
