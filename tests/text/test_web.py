"""Web text made plain: what CCNet did to characters, signs apart, sentences apart."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.errors import ConfigError
from modlm.text.web import PLAIN_SIGNS, Preparation


def as_ccnet_says(line: str) -> str:
    """Lower case, accents off, digits 0, plain signs, control characters off: step by step over the line."""
    line = "".join(c for c in unicodedata.normalize("NFD", line.lower()) if unicodedata.category(c) != "Mn")
    line = "".join(PLAIN_SIGNS.get(c, c) for c in re.sub(r"\d", "0", line))
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", "", line)


@given(st.text(st.characters(exclude_characters="\nΣ", exclude_categories=["Cs"])))  # a last Σ becomes ς in a word
def test_ccnet_character_by_character_is_ccnet_step_by_step(line: str) -> None:
    ours, theirs = Preparation("ccnet")([line])[0], as_ccnet_says(line)
    assert unicodedata.normalize("NFD", ours) == unicodedata.normalize("NFD", theirs)


def test_words_puts_signs_apart() -> None:
    assert (
        Preparation("words")(["Él dijo:\t“¡No!” (2.5%)…"])[0].split() == 'el dijo : " ¡ no ! " ( 0 . 0 % ) ...'.split()
    )


def test_lines_stay_lines() -> None:
    for normalize in ("ccnet", "words"):
        assert Preparation(normalize)(["A\nB"]) == ["a\nb"]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("He left. She stayed! Why? Nobody knows.", 4),
        ("Dr. Smith met Mr. Jones. They spoke.", 2),
        ('He said "no." Then he left the U.S. in 2019.', 2),
        ("It rose 2.5 percent. It fell.", 2),
        ("東京です。はい！いいえ", 3),
        ("no end", 1),
    ],
)
def test_sentences(text: str, sentences: int) -> None:
    found = Preparation(split=True)([text])[0].split("\n")
    assert len(found) == sentences, found
    assert "".join(found).replace(" ", "") == text.replace(" ", ""), "nothing is lost"


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ConfigError, match="ccnet or words"):
        Preparation("CCNet")
