"""The kernels that others call: one sentence to ids, and tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.text import Vocabulary
from modlm.text.encoding import padded
from modlm.text.sources import PADDING
from modlm.text.text_kernels import FULL, NO_UNKNOWN, RESERVED, encode_sentence

ABC = Vocabulary.from_words(["a", "b", "a-word-of-more-than-eight-bytes", "eightby8"])


def encode(sentence: str, *, unknown_name: bool = True, room: int = 20) -> list[int] | int:
    data, out = padded(sentence), np.zeros(room, np.uint32)
    count = encode_sentence(data, len(data) - PADDING, *ABC.kernel_tables(), unknown_name, out)
    return count if count < 0 else out[:count].tolist()


def test_a_sentence_becomes_ids_without_boundaries():
    assert encode("a  b\tx a-word-of-more-than-eight-bytes\neightby8 <unk>") == [2, 3, 0, 4, 5, 0]
    assert encode("") == []
    assert encode(" \n ") == []


def test_a_sentence_may_not_hold_what_a_text_may_not():
    assert encode("a <s>") == -RESERVED
    assert encode("</s>") == -RESERVED
    assert encode("<unk>", unknown_name=False) == -NO_UNKNOWN


def test_buffers_that_do_not_fit_are_refused_and_not_overrun():
    assert encode("a b a", room=2) == -FULL
    out = np.zeros(9, np.uint32)
    tables = ABC.kernel_tables()
    unended = np.frombuffer(bytearray(b"abc" + bytes(5) + b"xxxxxxxx"), np.uint8)
    for size in (-1, 0, 3, 9, 16, 100):
        assert encode_sentence(unended, size, *tables, True, out) == -FULL
    assert encode_sentence(unended, 8, *tables, True, out) == 1


@given(sentence=st.text(st.sampled_from("ab é\t-x"), max_size=40))
def test_the_kernel_and_the_dictionary_agree(sentence):
    assert encode(sentence, room=40) == ABC.encode(sentence).tolist()


@pytest.mark.parametrize("count", [1, 2, 3, 1000, 5000])
def test_every_word_is_found_in_the_table(count):
    words = [f"{'long-' * (i % 5)}{i}" for i in range(count)]
    vocabulary = Vocabulary.from_words(words)
    _, offsets, table = vocabulary.kernel_tables()
    assert len(offsets) == len(vocabulary) + 1
    assert len(table) >= 2 * len(vocabulary)
    assert np.array_equal(vocabulary.mapping(vocabulary), np.arange(len(vocabulary) + 1))


def test_the_table_leaves_no_word_out_when_all_words_are_unknown_elsewhere():
    one, two = Vocabulary.from_words(["a", "b"]), Vocabulary.from_words(["c"])
    assert one.mapping(two).tolist() == [0, 1, 0, 0, 3]
