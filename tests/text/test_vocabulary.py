"""Vocabularies: what they hold, how they are read, and what is refused."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.errors import ConfigError, InputError, VocabularyError
from modlm.text import END, UNKNOWN, Vocabulary
from modlm.text.word_list import RESERVED, SPACE

LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters=SPACE)
WORDS = st.lists(st.text(LETTERS, min_size=1, max_size=20).filter(lambda word: word not in RESERVED), unique=True)


@pytest.fixture
def pets() -> Vocabulary:
    return Vocabulary.from_words(["cat", "dog", "poisson"])


def test_ids_are_unknown_end_the_words_and_start_behind_them(pets):
    assert len(pets) == 5
    assert pets.words == ("<unk>", "</s>", "cat", "dog", "poisson")
    assert [pets.id(word) for word in ("<unk>", "</s>", "cat", "dog", "poisson", "<s>")] == [0, 1, 2, 3, 4, 5]
    assert pets.start == 5
    assert pets.word(5) == "<s>"
    assert (UNKNOWN, END) == (0, 1)


def test_words_that_are_not_there_are_unknown(pets):
    assert pets.id("cow") == 0
    assert "cow" not in pets
    assert "cat" in pets


def test_encode_splits_strings_at_ascii_white_space_only(pets):
    assert pets.encode(" cat\tdog\r\n\v\f\0cow ").tolist() == [2, 3, 0]
    assert pets.encode("cat\u00a0dog").tolist() == [0]
    assert pets.encode(["dog", "cat dog"]).tolist() == [3, 0]
    assert pets.encode("").tolist() == []
    assert pets.encode("cat").dtype == np.uint32


def test_decode_gives_the_words_back_with_start_for_the_last_id(pets):
    assert pets.decode([5, 2, 0, 1]) == ["<s>", "cat", "<unk>", "</s>"]
    assert pets.decode(np.array([3], np.uint32)) == ["dog"]
    with pytest.raises(VocabularyError, match="no word 6"):
        pets.decode([6])
    with pytest.raises(VocabularyError, match="no word -1"):
        pets.word(-1)


def test_reserved_names_may_stand_in_front_of_the_words(pets):
    assert Vocabulary.from_words(["<unk>", "<s>", "</s>", "cat", "dog", "poisson"]) == pets


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cat", "dog", "cat"], "'cat' is given twice"),
        (["cat", ""], "Word 2 .* is empty"),
        (["cat", "a dog"], "Word 2 .*white space"),
        (["cat\n"], "Word 1 .*white space"),
        (["cat", "<unk>"], "Word 2 .*reserved name"),
        (["cat", "</s>"], "Word 2 .*reserved name"),
        (["cat", "<s>"], "Word 2 .*reserved name"),
        (["cat", 3], "Word 2 .*not a string but a int"),
        ([["cat"]], "Word 1 .*not a string but a list"),
        (["\ud800"], "surrogate"),
    ],
)
def test_words_that_cannot_be_are_refused_with_their_place(words, message):
    with pytest.raises(VocabularyError, match=message):
        Vocabulary.from_words(words)


def test_a_vocabulary_may_have_no_ordinary_words():
    empty = Vocabulary.from_words([])
    assert len(empty) == 2
    assert empty.encode("a <unk> </s> <s>").tolist() == [0, 0, 1, 2]
    assert empty.mapping(empty).tolist() == [0, 1, 2]


def test_the_file_has_a_word_a_line_and_the_fingerprint_is_its_sha256(pets, tmp_path):
    pets.save(tmp_path / "vocabulary.txt")
    data = (tmp_path / "vocabulary.txt").read_bytes()
    assert data == b"<unk>\n</s>\ncat\ndog\npoisson\n"
    assert pets.fingerprint == hashlib.sha256(data).hexdigest()
    assert Vocabulary.from_file(tmp_path / "vocabulary.txt", strict=True) == pets


def test_equality_and_hash_go_by_content_and_pickling_keeps_both(pets):
    other = Vocabulary.from_words(["dog", "cat", "poisson"])
    assert pets != other
    again = pickle.loads(pickle.dumps(pets))
    assert again == pets
    assert hash(again) == hash(pets)
    assert pets != "cat"


def test_mapping_gives_for_each_word_its_id_in_the_other_vocabulary(pets):
    other = Vocabulary.from_words(["dog", "cow", "cat"])  # ids 2, 3, 4 and <s> = 5
    assert pets.mapping(other).tolist() == [0, 1, 4, 2, 0, 5]


@given(words=WORDS, cut=st.integers(0, 10))
def test_mapping_equals_looking_up_word_by_word(words, cut):
    one, two = Vocabulary.from_words(words[cut // 2 :]), Vocabulary.from_words(words[: cut + 1][::-1])
    assert one.mapping(two).tolist() == [two.id(word) for word in (*one.words, "<s>")]


@given(words=WORDS)
def test_save_and_open_keep_every_word(words, tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "v"
    vocabulary = Vocabulary.from_words(words)
    vocabulary.save(path)
    again = Vocabulary.from_file(path, strict=True)
    assert again.words == vocabulary.words
    assert [again.word(i) for i in range(len(again))] == list(vocabulary.words)


def read(tmp_path, data: bytes, *, strict: bool = False) -> Vocabulary:
    (tmp_path / "words").write_bytes(data)
    return Vocabulary.from_file(tmp_path / "words", strict=strict)


@pytest.mark.parametrize(
    "data",
    [
        b"cat\ndog\npoisson\n",
        b"cat\ndog\npoisson",
        b"\xef\xbb\xbfcat\r\ndog\r\npoisson\r\n\r\n",
        b"<s>\ncat\n</s>\ndog\n<unk>\n poisson\t\n",
        b"<unk>\n</s>\n<s>\ncat\ndog\npoisson\n",
        b"<unk>\n</s>\ncat\n<unk>\ndog\npoisson\n</s>\n",
    ],
)
def test_word_lists_are_read_with_reserved_names_anywhere(pets, tmp_path, data):
    assert read(tmp_path, data) == pets


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"cat\n\ndog\n", "line 2: .*is empty"),
        (b"cat\ndog 17\n", "line 2: .*'dog 17' has white space"),
        (b"cat\ndog\ncat\n", "line 3: .*'cat' stands on line 1 already"),
        (b"cat\nd\xffg\n", "line 2: byte 0xff is not valid UTF-8"),
    ],
)
def test_what_is_no_word_list_is_an_error_with_its_line(tmp_path, data, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "does not begin with"),
        (b"cat\n", "does not begin with"),
        (b"</s>\n<unk>\ncat\n", "does not begin with"),
        (b"<unk>\r\n</s>\r\ncat\r\n", "does not begin with"),
        (b"<unk>\n</s>\ncat\n\ndog\n", "line 4: .*is empty"),
        (b"<unk>\n</s>\ncat\ndog \n", "line 4: .*white space"),
        (b"<unk>\n</s>\ncat\n<s>\n", "line 4: .*reserved"),
        (b"<unk>\n</s>\ncat\n<unk>\n", "line 4: .*reserved"),
        (b"<unk>\n</s>\n\xc3\n", "line 3: byte 0xc3"),
    ],
)
def test_a_vocabulary_of_a_model_folder_must_be_as_it_was_written(tmp_path, data, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, data, strict=True)


def test_equal_words_in_a_vocabulary_file_are_found_at_the_first_look_with_both_lines(tmp_path):
    for look in (lambda v: v.id("cat"), lambda v: v.kernel_tables()):
        vocabulary = read(tmp_path, b"<unk>\n</s>\ncat\ndog\ncat\n", strict=True)
        with pytest.raises(VocabularyError, match=r"'cat' stands twice .* lines 3 and 5"):
            look(vocabulary)


def test_words_of_a_text_are_ordered_by_count_and_then_by_bytes():
    text = ["b é a", "é b zz", "Z zz long-enough-1 long-enough-0"]
    # é, b and zz twice: bytes b < zz < é (0xc3); once: Z < a < long-enough-0 < long-enough-1
    expected = ("b", "zz", "é", "Z", "a", "long-enough-0", "long-enough-1")
    assert Vocabulary.from_text(text).words[2:] == expected
    assert Vocabulary.from_text(text, max_words=4).words[2:] == expected[:4]
    assert Vocabulary.from_text(text, min_count=2).words[2:] == expected[:3]
    assert Vocabulary.from_text(text, min_count=2, max_words=1).words[2:] == expected[:1]
    assert Vocabulary.from_text(text, min_count=9).words[2:] == ()


def test_limits_that_make_no_sense_are_refused():
    with pytest.raises(ConfigError, match="max_words must be at least 1, but is 0"):
        Vocabulary.from_text(["a"], max_words=0)
    with pytest.raises(ConfigError, match="min_count must be at least 1, but is 0"):
        Vocabulary.from_text(["a"], min_count=0)


def test_opening_and_asking_for_words_needs_no_compiled_kernels(pets, tmp_path):
    pets.save(tmp_path / "words")
    program = """
import sys
from modlm.text import Vocabulary
pets = Vocabulary.from_file(sys.argv[1])
assert (pets.encode("dog cow").tolist(), pets.word(2), len(pets.fingerprint)) == ([3, 0], "cat", 64)
assert "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "words")], check=True)
