"""Documentation comes out as sentences; code, markup and boilerplate stay behind."""

from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.experiments.prose import is_prose, paragraphs, sentences_of


def clean(text: str) -> list[str]:
    return list(sentences_of(dedent(text)))


def test_lines_are_joined_split_into_sentences_and_tokenised() -> None:
    text = """
        Return the list, if any, of
        open files.  It's empty when the file isn't open (see below)!
    """
    assert clean(text) == [
        "return the list , if any , of open files .",
        "it's empty when the file isn't open ( see below ) !",
    ]


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("The :class:`~io.StringIO` is a file in memory.", "the io.stringio is a file in memory ."),
        ("The method ``close()`` is called by *all* of them.", "the method close is called by all of them ."),
        ('It raises a "NameError" when that is not bound.', "it raises a nameerror when that is not bound ."),
        ("- A bullet is a paragraph of its own.", "a bullet is a paragraph of its own ."),
        (":param name: The name of the file.", "the name of the file ."),
        ("See the page at https://example.org/x for more on it.", "see the page at for more on it ."),
        ("A headline without a full stop", "a headline without a full stop ."),
        ("Some of the types (e.g. Lists) are in the way.", "some of the types ( e.g. lists ) are in the way ."),
        (
            "The lists and tuples etc. are all of them sequences.",
            "the lists and tuples etc. are all of them sequences .",
        ),
        ("This is an 8-bit value with the option -v given.", "this is an 8-bit value with the option -v given ."),
    ],
)
def test_markup_goes_and_the_words_stay(marked: str, plain: str) -> None:
    assert clean(marked) == [plain]


@pytest.mark.parametrize(
    "text",
    [
        ">>> from math import the\n>>> print(the)\n",
        "for key in the_list: x = key + 1",
        "Copyright is with the authors of this module.",
        "The Heading of This Section\n===========================\n",
        "Too short.",
        "alpha beta gamma delta epsilon zeta",
        "if_stmt ::= 'if' assignment_expression ':' suite",
    ],
)
def test_what_is_no_sentence_is_left_out(text: str) -> None:
    assert clean(text) == []


def test_a_literal_block_is_left_out_up_to_its_end() -> None:
    text = """
        The following is how it is used::

            the code is in a block of its own.

        After the block the text goes on.
    """
    assert clean(text) == ["the following is how it is used :", "after the block the text goes on ."]


def test_paragraphs_end_at_blank_lines_and_bullets() -> None:
    assert list(paragraphs("one\ntwo\n\nthree\n* four\n  five\n")) == ["one two", "three", "four five"]


def test_prose_is_mostly_words() -> None:
    assert is_prose("the value of a name .".split())
    assert not is_prose("the 1 2 3 4 5 6 .".split())
    assert not is_prose("the value ( of a name .".split())


@given(st.text(max_size=300))
def test_any_text_is_taken_and_gives_plain_lower_case_lines(text: str) -> None:
    for sentence in sentences_of(text):
        assert sentence == " ".join(sentence.split())
        assert sentence == sentence.lower()
        assert not set(sentence) & set("<>")
