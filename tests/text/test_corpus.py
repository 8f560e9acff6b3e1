"""Texts as ids: the rules of text, worked out by hand, and bulk encoding against split and dict."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modlm.errors import ConfigError, InputError, ModelFolderError, OutputError
from modlm.text import END, Corpus, Vocabulary, encode_blocks
from modlm.text.encoding import encode_sentences


@pytest.fixture
def abc() -> Vocabulary:
    return Vocabulary.from_words(["a", "b", "c"])  # ids 2 3 4, <s> = 5


def in_file(folder: Path, data: bytes, name: str = "text.txt") -> Path:
    (folder / name).write_bytes(data)
    return folder / name


def ids_of(folder: Path, data: bytes, vocabulary: Vocabulary, **options: object) -> list[int]:
    return Corpus.from_text(in_file(folder, data), vocabulary, **options).ids.tolist()  # type: ignore[arg-type]


# ---- rules


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a b\nc\n", [5, 2, 3, 1, 5, 4, 1]),
        (b"a b\nc", [5, 2, 3, 1, 5, 4, 1]),
        (b"a b\r\nc\r\n", [5, 2, 3, 1, 5, 4, 1]),
        (b"\xef\xbb\xbfa b\nc\n", [5, 2, 3, 1, 5, 4, 1]),
        (b"  a\tb\v\f \n\0c\0\n", [5, 2, 3, 1, 5, 4, 1]),
        (b"a d b\n", [5, 2, 0, 3, 1]),
        (b"a <unk> b\n", [5, 2, 0, 3, 1]),
        (b"\n", [5, 1]),
        (b"a\n\n \t\nb\n", [5, 2, 1, 5, 1, 5, 1, 5, 3, 1]),
        (b"a\x01 \x1fb b\n", [5, 0, 0, 3, 1]),
        ("a\u00a0b \u2028 a\n".encode(), [5, 0, 0, 2, 1]),
    ],
)
def test_lines_are_sentences_and_words_end_at_ascii_white_space(tmp_path, abc, data, expected):
    assert ids_of(tmp_path, data, abc) == expected


def test_an_empty_text_is_an_error(tmp_path, abc):
    for data in (b"", b"\xef\xbb\xbf"):
        for vocabulary in (abc, None):
            with pytest.raises(InputError, match=r"text\.txt: there are no sentences"):
                Corpus.from_text(in_file(tmp_path, data), vocabulary)
    with pytest.raises(InputError, match="no sentences"):
        Corpus.from_text([])
    with pytest.raises(InputError, match="no sentences"):
        Vocabulary.from_text([])


def test_a_text_of_empty_lines_has_sentences_and_no_words(tmp_path):
    corpus = Corpus.from_text(in_file(tmp_path, b"\n\n"))
    assert (corpus.sentences, corpus.words, corpus.ids.tolist()) == (2, 0, [2, 1, 2, 1])


@pytest.mark.parametrize("vocabulary", [None, Vocabulary.from_words(["a", "b"])])
@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
@pytest.mark.parametrize("name", ["<s>", "</s>"])
def test_boundary_names_in_a_text_are_an_error_with_file_and_line(tmp_path, vocabulary, block_bytes, name):
    first = in_file(tmp_path, b"a\nb\n", "first.txt")
    second = in_file(tmp_path, f"a b\n\nb {name} a\n".encode(), "second.txt")
    with pytest.raises(InputError, match=rf"second\.txt, line 3: {name} stands in the text.*reserved") as caught:
        Corpus.from_text([first, second], vocabulary, block_bytes=block_bytes)
    assert caught.value.line == 3


@pytest.mark.parametrize("vocabulary", [None, Vocabulary.from_words(["a", "b"])])
def test_the_unknown_word_in_a_text_can_be_forbidden(vocabulary):
    with pytest.raises(InputError, match=r"line 2: <unk> stands in the text.*unknown_name"):
        Corpus.from_text(["a", "b <unk>"], vocabulary, unknown_name=False)


def test_names_that_only_resemble_reserved_ones_are_words():
    words = ["<s", "s>", "<s>>", "<S>", "</s", "<unk>x", "<UNK>"]
    corpus = Corpus.from_text([" ".join(words)])
    assert sorted(corpus.vocabulary.words[2:]) == sorted(words)


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
def test_invalid_utf8_is_an_error_with_line_and_byte_or_is_replaced_when_asked(tmp_path, block_bytes):
    path = in_file(tmp_path, b"\xef\xbb\xbfa b\nc \xff\xe2\x82 d\n")
    # 3 bytes of mark, 4 of the first line, 2 before the bad one: it is byte 10 of the file and 3 of its line
    message = r'text\.txt, line 2: byte 3 of the line \(0xff, byte 10 of the text\).*encoding_errors = "replace"'
    with pytest.raises(InputError, match=message):
        Corpus.from_text(path, block_bytes=block_bytes)
    corpus = Corpus.from_text(path, encoding_errors="replace", block_bytes=block_bytes)
    assert corpus.vocabulary.words[2:] == ("a", "b", "c", "d", "\ufffd\ufffd")


def test_half_a_surrogate_pair_in_a_sentence_is_an_error_with_its_number():
    with pytest.raises(InputError, match=r"the sentences, line 2: .*not valid UTF-8"):
        Corpus.from_text(["a", "b \ud800"])


def test_the_first_of_several_errors_is_reported_whatever_the_threads(tmp_path):
    path = in_file(tmp_path, b"a\n" * 50 + b"<s>\n" + b"\xff\n" * 50)
    for workers in (1, 3):
        with pytest.raises(InputError, match="line 51: <s>"):
            Corpus.from_text(path, block_bytes=7, workers=workers)


def test_settings_that_make_no_sense_are_refused(abc):
    with pytest.raises(ConfigError, match="encoding_errors"):
        Corpus.from_text(["a"], encoding_errors="ignore")
    with pytest.raises(ConfigError, match="one was given already"):
        Corpus.from_text(["a"], abc, max_words=3)


def test_very_long_lines_and_words_are_read(tmp_path):
    long_word = "x" * (3 << 20)
    path = in_file(tmp_path, f"{long_word} {'a b ' * 500_000}{long_word}\nb\n".encode())
    corpus = Corpus.from_text(path, block_bytes=1 << 16)
    assert corpus.words == 1_000_003
    assert corpus.vocabulary.words[2:] == ("b", "a", long_word)
    again = Corpus.from_text(path, corpus.vocabulary, block_bytes=1 << 16)
    assert np.array_equal(again.ids, corpus.ids)


def test_packed_texts_and_several_files_are_one_text(tmp_path, abc):
    plain = in_file(tmp_path, b"a b", "plain")
    packed = in_file(tmp_path, gzip.compress(b"b c\n"), "packed")
    assert Corpus.from_text([plain, packed], abc).ids.tolist() == [5, 2, 3, 1, 5, 3, 4, 1]


def test_unknown_words_are_counted(abc):
    corpus = Corpus.from_text(["a x <unk>", "y b"], abc)
    assert (corpus.sentences, corpus.words, corpus.unknown) == (2, 5, 3)
    # a and b twice, c and d once and cut off, <unk> once in the text: three unknown words
    corpus = Corpus.from_text(["a b c", "a b d <unk>"], min_count=2)
    assert corpus.vocabulary.words == ("<unk>", "</s>", "a", "b")
    assert corpus.ids.tolist() == [4, 2, 3, 0, 1, 4, 2, 3, 0, 0, 1]
    assert (corpus.words, corpus.unknown) == (7, 3)


# ---- against split and dict

SPACES = re.compile("[ \t\n\v\f\r\0]+")
PIECES = [*"aab cé\t\r\v\0語\x01<>/s\u00a0\u2028😀", "  ", "abcdefgh", "abcdefghi", "<unk>", "\ufeff"]
TEXTS = st.lists(st.lists(st.sampled_from(PIECES)).map("".join))


def naive_sentences(data: bytes) -> list[list[str]]:
    lines = data.decode().removeprefix("\ufeff").split("\n")
    if lines[-1] == "":
        lines.pop()
    return [[word for word in SPACES.split(line) if word] for line in lines]


def naive_ids(sentences: list[list[str]], words: list[str]) -> list[int]:
    ids = {word: place for place, word in enumerate(["<unk>", "</s>", *words])}
    return [i for s in sentences for i in (len(ids), *(ids.get(word, 0) for word in s), 1)]


@settings(max_examples=300)
@given(
    lines=TEXTS,
    crlf=st.booleans(),
    ended=st.booleans(),
    block_bytes=st.integers(1, 40),
    workers=st.integers(1, 3),
    max_words=st.one_of(st.none(), st.integers(1, 5)),
    min_count=st.integers(1, 3),
)
def test_reading_in_blocks_on_threads_equals_split_and_dict(
    tmp_path_factory, lines, crlf, ended, block_bytes, workers, max_words, min_count
):
    text = ("\r\n" if crlf else "\n").join(lines) + "\n" * ended
    data = text.replace("<s>", "").replace("</s>", "").encode()
    sentences = naive_sentences(data)
    path = in_file(tmp_path_factory.mktemp("corpus"), data)
    options = {"block_bytes": block_bytes, "workers": workers}
    if not sentences:
        with pytest.raises(InputError, match="no sentences"):
            Corpus.from_text(path, **options)
        return
    counts = Counter(word for sentence in sentences for word in sentence if word != "<unk>")
    kept = sorted((word for word in counts if counts[word] >= min_count), key=lambda w: (-counts[w], w.encode()))
    kept = kept[:max_words]
    corpus = Corpus.from_text(path, max_words=max_words, min_count=min_count, **options)
    expected = naive_ids(sentences, kept)
    assert list(corpus.vocabulary.words[2:]) == kept
    assert corpus.ids.tolist() == expected
    assert corpus.unknown == expected.count(0)
    frozen = Corpus.from_text(path, corpus.vocabulary, **options)
    assert frozen.ids.tolist() == expected
    assert frozen.unknown == corpus.unknown
    blocks = list(encode_blocks(path, corpus.vocabulary, **options))
    assert np.concatenate(blocks).tolist() == expected
    assert all(block[0] == corpus.vocabulary.start and block[-1] == 1 for block in blocks)


def test_a_vocabulary_larger_than_the_first_table_is_collected_whole():
    words = [f"w{i}" for i in range(100_000)]
    corpus = Corpus.from_text((f"{word} {word}" for word in words), block_bytes=1 << 16, workers=2)
    assert corpus.vocabulary.words[2:] == tuple(sorted(words))
    assert corpus.words == 200_000
    assert corpus.vocabulary.decode(corpus.ids[:8]) == ["<s>", "w0", "w0", "</s>", "<s>", "w1", "w1", "</s>"]


def test_encoding_blocks_of_nothing_gives_nothing(abc):
    assert list(encode_blocks([], abc)) == []


# ---- sentences


@pytest.fixture
def five(abc) -> Corpus:
    return Corpus.from_text(["a", "b x", "", "c c", "a b c"], abc)


def test_starts_are_where_sentences_begin_with_the_length_behind(five):
    assert five.starts.tolist() == [0, 3, 7, 9, 13, 18]
    assert [ids.tolist() for ids in five] == [[5, 2, 1], [5, 3, 0, 1], [5, 1], [5, 4, 4, 1], [5, 2, 3, 4, 1]]


def test_a_slice_is_a_corpus_of_those_sentences(five):
    part = five[1:3]
    assert (part.ids.tolist(), part.sentences, part.words, part.unknown) == ([5, 3, 0, 1, 5, 1], 2, 2, 1)
    assert five[3:].starts.tolist() == [0, 4, 9]
    assert len(five[4:2]) == 0
    with pytest.raises(ConfigError, match="neighbouring"):
        five[::2]


def test_folds_are_cut_as_split_does(five):
    assert [len(fold) for fold in five.folds(2)] == [3, 2]
    assert [len(fold) for fold in five.folds(4)] == [2, 2, 1]  # ceil(5 / 4) = 2 sentences each, so three suffice
    assert [len(fold) for fold in five.folds(9)] == [1] * 5
    assert np.array_equal(np.concatenate([fold.ids for fold in five.folds(3)]), five.ids)
    with pytest.raises(ConfigError, match="at least 1"):
        five.folds(0)


# ---- folders


def same(one: Corpus, two: Corpus) -> bool:
    numbers = (one.sentences, one.unknown) == (two.sentences, two.unknown)
    return numbers and one.vocabulary == two.vocabulary and np.array_equal(one.ids, two.ids)


@pytest.mark.parametrize("verify", ["fast", "full"])
def test_a_saved_corpus_opens_as_it_was(five, tmp_path, verify):
    five.save(tmp_path / "corpus")
    again = Corpus.open(tmp_path / "corpus", verify=verify)
    assert same(five, again)
    assert isinstance(again.ids.base, np.memmap)


@pytest.mark.parametrize("vocabulary", [None, Vocabulary.from_words(["a", "b"])])
def test_a_corpus_read_straight_to_a_folder_equals_one_in_memory(tmp_path, vocabulary):
    sentences = ["a b", "c a", "", "d"] * 5
    written = Corpus.from_text(sentences, vocabulary, folder=tmp_path / "corpus", block_bytes=8, workers=2)
    assert same(written, Corpus.from_text(sentences, vocabulary))
    assert same(Corpus.open(tmp_path / "corpus"), written)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus"]


def test_a_failed_reading_leaves_no_folder_and_an_old_one_stays(five, tmp_path):
    with pytest.raises(InputError, match="line 2"):
        Corpus.from_text(["a", "<s>"], folder=tmp_path / "corpus")
    assert list(tmp_path.iterdir()) == []
    five.save(tmp_path / "corpus")
    with pytest.raises(OutputError, match="exists"):
        Corpus.from_text(["a"], folder=tmp_path / "corpus")
    with pytest.raises(InputError, match="line 2"):
        Corpus.from_text(["a", "<s>"], folder=tmp_path / "corpus", overwrite=True)
    assert same(Corpus.open(tmp_path / "corpus"), five)


def edit_record(folder: Path, **changes: object) -> None:
    record = json.loads((folder / "corpus.json").read_text())
    (folder / "corpus.json").write_text(json.dumps(record | changes))


def edit_ids(folder: Path, place: int, word: int) -> None:
    ids = np.load(folder / "ids.npy")
    ids[place] = word
    np.save(folder / "ids.npy", ids)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "corpus.json").unlink(), "not a corpus folder"),
        (lambda folder: (folder / "corpus.json").write_text("{"), r"corpus\.json cannot be read"),
        (lambda folder: (folder / "corpus.json").write_text("[]"), "does not describe modlm corpus"),
        (lambda folder: edit_record(folder, version=2), "version 2"),
        (lambda folder: edit_record(folder, ids="many"), "ids must be a whole number"),
        (lambda folder: edit_record(folder, ids=7), r"shape \(7,\) is expected"),
        (lambda folder: edit_record(folder, sentences=4), "sentences=4"),
        (lambda folder: (folder / "ids.npy").unlink(), r"ids\.npy"),
        (lambda folder: (folder / "ids.npy").write_bytes(b""), "damaged"),
        (lambda folder: (folder / "ids.npy").write_bytes((folder / "ids.npy").read_bytes()[:-4]), "damaged"),
        (lambda folder: np.save(folder / "ids.npy", np.zeros(18)), "<f8"),
        (lambda folder: (folder / "vocabulary.txt").unlink(), "no such file"),
        (lambda folder: (folder / "vocabulary.txt").write_text("<unk>\n</s>\na\nb\nd\n"), "not the vocabulary"),
        (lambda folder: edit_ids(folder, 1, 6), "place 1"),
        (lambda folder: edit_ids(folder, 1, 5), "place 0"),
        (lambda folder: edit_ids(folder, 1, 1), "place 1"),
        (lambda folder: edit_ids(folder, 0, 2), "begin with <s>"),
        (lambda folder: edit_ids(folder, 17, 2), "end with </s>"),
        (lambda folder: edit_ids(folder, 1, 0), "unknown=2"),
    ],
)
def test_a_damaged_folder_is_refused_with_the_reason(five, tmp_path, damage, message):
    folder = tmp_path / "corpus"
    five.save(folder)
    damage(folder)
    with pytest.raises(ModelFolderError, match=message):
        Corpus.open(folder)


def test_ids_from_elsewhere_are_checked(abc):
    corpus = Corpus.from_ids(np.array([5, 2, 0, 1, 5, 1]), abc)
    assert (corpus.sentences, corpus.words, corpus.unknown) == (2, 2, 1)
    with pytest.raises(InputError, match="place 1"):
        Corpus.from_ids(np.array([5, 9, 1]), abc)
    assert len(Corpus.from_ids(np.array([], np.uint32), abc)) == 0


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), min_size=1, max_size=6))
def test_sentences_in_memory_have_the_ids_of_their_words(sentences):
    vocabulary = Vocabulary.from_words(["a", "b", "é"])
    ids = encode_sentences(sentences, vocabulary)
    lines = [[vocabulary.start, *vocabulary.encode(sentence), END] for sentence in sentences]
    assert ids.tolist() == [word for line in lines for word in line]


def test_a_boundary_among_sentences_in_memory_is_an_error_with_its_place(abc):
    with pytest.raises(InputError, match="the sentences, line 2: <s>"):
        encode_sentences(["a", "b <s>"], abc)


def test_half_a_character_among_sentences_in_memory_is_an_error(abc):
    with pytest.raises(InputError, match="not valid UTF-8"):
        encode_sentences(["a", "\ud800"], abc)
