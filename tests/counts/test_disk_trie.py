"""Tries in files whose n-grams 32 bits do not tell apart: the same trie, with wider links."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from modlm.counts import CountOptions, disk, disk_trie, open_counts
from modlm.model import compact_lm
from modlm.model.compact_lm import CompactLM
from modlm.model.ngram.compact import Compact
from modlm.text.corpus import Corpus
from small_texts import TEXTS


@pytest.mark.parametrize("edge", ["once", "repeat"])
def test_wider_links_are_the_same_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edge: str) -> None:
    corpus = Corpus.from_text(TEXTS["random sentences"])
    options = CountOptions(order=4, engine="disk", edge=edge)
    narrow = disk.count(corpus, options)
    monkeypatch.setattr(disk_trie, "MOST", 100)
    wide = disk.count(corpus, options)
    assert (narrow.trie.first.dtype, wide.trie.first.dtype, wide.trie.suffix.dtype) == (np.uint32, np.uint64, np.uint64)
    wide.save(tmp_path / "counts")
    again = open_counts(tmp_path / "counts", verify="full")
    for name, array in narrow.arrays().items():
        assert np.array_equal(array, wide.arrays()[name]), name
        assert np.array_equal(array, again.arrays()[name]), name
    one, other = CompactLM.from_counts(narrow), CompactLM.from_counts(again)
    assert np.array_equal(one.form.data, other.form.data)
    assert one.score("a b c") == other.score("a b c")


def test_states_beyond_two_to_the_32nd(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits, with numbers of n-grams as if the orders above the words began at 2^33."""
    model = CompactLM.from_counts(disk.count(Corpus.from_text(TEXTS["random sentences"]), CountOptions(order=3)))
    form, far = model.form, 2**33
    levels = (*form.levels[:2], *(level + far for level in form.levels[2:]))
    beyond = Compact(form.data, form.table, levels, form.start, model.settings.tables, form.unigrams, form.fallback)  # type: ignore[union-attr]
    words = np.arange(len(model.vocabulary), dtype=np.uint32)
    states, shifted = np.zeros(len(words), np.int64), np.zeros(len(words), np.int64)
    for turn in range(3):
        states, _, probs = form.advance(states, np.roll(words, turn))
        shifted, _, others = beyond.advance(shifted, np.roll(words, turn))
        assert np.array_equal(shifted, np.where(states >= form.levels[2], states + far, states))
        assert np.array_equal(probs, others)
    assert (shifted > 2**32).any()
    monkeypatch.setattr(compact_lm, "MOST", 10)
    with pytest.raises(compact_lm.ModlmError, match="the compact one answers"):
        _ = model.compiled
