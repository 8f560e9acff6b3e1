"""Copies: every planted one is found across changed line breaks, none is invented, and stretches are whole."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from modlm.counts.indexing import index_corpus, index_text
from modlm.counts.overlap import overlaps
from modlm.errors import ConfigError
from modlm.text.corpus import Corpus


def broken(words: list[str], rng: random.Random) -> list[str]:
    """Words with line breaks anywhere."""
    lines = []
    while words:
        length = rng.randint(0, 11)
        lines.append(" ".join(words[:length]))
        words = words[length:]
    return lines


@pytest.mark.parametrize("seed", range(5))
def test_planted_copies_are_found_and_none_is_invented(seed: int) -> None:
    rng = random.Random(seed)
    words = [f"w{n}" for n in range(300 if seed else 3)]  # three words: much is copied by chance, over and over
    text = [rng.choice(words) for _ in range(4000)]
    copy = []
    for _ in range(50):
        copy += [rng.choice([*words, "unheard-of"]) for _ in range(rng.randint(0, 12))]
        begin = rng.randrange(len(text) - 40)
        copy += text[begin : begin + rng.choice([7, 8, 9, 30])]
    found = overlaps(index_corpus(Corpus.from_text(broken(text, rng))), broken(copy, rng))
    known = {tuple(text[at : at + 8]) for at in range(len(text) - 7)}
    covered = np.zeros(len(copy), bool)
    for at in range(len(copy) - 7):
        covered[at : at + 8] |= tuple(copy[at : at + 8]) in known
    assert (found.words, found.covered) == (len(copy), covered.sum())
    whole, copied = f" {' '.join(text)} ", f" {' '.join(copy)} "
    for stretch in found.stretches:
        said = stretch.hit.words.replace("⏎", " ").split()
        assert len(said) == stretch.length >= 8
        assert f" {' '.join(said)} " in whole and f" {' '.join(said)} " in copied
    if seed:
        assert max(stretch.length for stretch in found.stretches) >= 30


def test_copies_stay_within_documents_and_unknown_words_are_none(tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_text("a b c\n\nd e f\n")
    index = index_text(tmp_path / "all.txt", tmp_path / "index", documents=True)
    assert overlaps(index, ["a b c d e f"], least=3).covered == 6
    assert [one.length for one in overlaps(index, ["a b c d e f"], least=3).stretches] == [3, 3]
    assert overlaps(index, ["a b c d e f"], least=4).stretches == []
    closed = index_text(["q r s t"], tmp_path / "closed", max_words=1)
    assert overlaps(closed, ["x y z"], least=2).stretches == []
    assert overlaps(closed, ["x"], least=2).words == 1
    with pytest.raises(ConfigError, match="at least 2"):
        overlaps(index, ["a"], least=1)


def test_lines_of_both_texts_are_said(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("x\na b\nc d\n")
    (tmp_path / "two.txt").write_text("y y\nz a\nb c\nd\n")
    index = index_text(tmp_path / "one.txt", tmp_path / "index")
    (stretch,) = overlaps(index, tmp_path / "two.txt", least=4).stretches
    assert (stretch.line, stretch.length, stretch.hit.line, stretch.hit.words) == (2, 4, 2, "a b ⏎ c d")
    assert overlaps(index, str(tmp_path / "two.txt"), least=4).as_dict()["covered"] == 4
