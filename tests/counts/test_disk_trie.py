"""Tries in files whose n-grams 32 bits do not tell apart: the same trie, with wider links."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from modlm.counts import CountOptions, disk, disk_trie, open_counts, trie_kernels
from modlm.model import compact_lm
from modlm.model.compact_lm import CompactLM
from modlm.model.ngram import compact_coding_kernels as kernels
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


def test_links_of_levels_beyond_two_to_the_32nd_in_files_with_holes(tmp_path: Path) -> None:
    """The arrays of a trie moved apart, so that all n-grams but the words have numbers above 2^32."""
    counts = disk.count(Corpus.from_text(TEXTS["random sentences"]), CountOptions(order=4))
    trie, far = counts.trie, 2**32
    top, low = trie.levels[-1], trie.levels[2]

    def moved(name: str, array: np.ndarray, kind: type) -> np.ndarray:
        out = np.memmap(tmp_path / name, kind, "w+", shape=(top + far + 1,))
        near, rest = array[:low], array[low:]
        out[: len(near)], out[far + low : far + low + len(rest)] = near, rest
        return out

    links = {name: array.astype(np.uint64) for name, array in (("first", trie.first), ("suffix", trie.suffix))}
    for array in links.values():
        array[array >= low] += np.uint64(far)
    words, frequencies = moved("words", trie.words, np.uint32), moved("frequencies", counts.frequencies, np.uint32)
    first, suffix = moved("first", links["first"], np.uint64), moved("suffix", links["suffix"], np.uint64)
    found, adjusted = (
        moved("found", links["suffix"][: trie.levels[3]], np.uint64),
        moved("some", np.zeros(0), np.uint32),
    )
    for n in (3, 4):
        contexts, nodes = (far + trie.levels[n - 1], far + trie.levels[n]), slice(trie.levels[n], trie.levels[n + 1])
        assert trie_kernels.link(words, first, found, *contexts)
        apart = slice(nodes.start + far, nodes.stop + far)
        assert np.array_equal(found[apart], links["suffix"][nodes])
        trie_kernels.count_left_extensions(frequencies, suffix, apart.start, apart.stop, adjusted)
        bits = [np.zeros(len(counts.trie), np.uint64) for _ in range(6)]
        for arrays, at, out in (
            ((trie.words, trie.first, trie.suffix), 0, bits[:3]),
            ((words, first, suffix), far, bits[3:]),
        ):
            own = at + trie.levels[n - 1], at + trie.levels[n]
            assert kernels.last_grown(*arrays, *own, True, 0) == kernels.encode(*arrays, own[0], *own, True, 4, 0, *out)
        assert bits[0].any() and all(np.array_equal(*pair) for pair in zip(bits[:3], bits[3:], strict=True))
    inner = slice(trie.levels[3], trie.levels[4])
    expected = np.bincount(trie.suffix[trie.nodes(4)], counts.frequencies[trie.nodes(4)] > 0, minlength=inner.stop)
    assert np.array_equal(adjusted[inner.start + far : inner.stop + far], expected[inner])


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
