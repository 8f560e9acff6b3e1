"""The disk engine gives the memory engine's bytes, whatever the blocks, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.counts.same_counts import assert_same_arrays

from modlm.counts import CountOptions, count_text
from modlm.counts.disk import count as count_on_disk
from modlm.counts.disk_runs import RowsUK
from modlm.counts.disk_trie import TrieWriter
from modlm.counts.engine import count_in_memory
from modlm.errors import ConfigError, OutputError
from modlm.text.corpus import Corpus
from small_texts import EDGES, TEXT_LISTS, TEXTS


def with_small_pieces(monkeypatch: pytest.MonkeyPatch, *, rows: int = 3, fan_in: int = 2) -> None:
    """So that small texts go through everything that large ones do."""
    for module in ("disk_runs", "disk_trie"):
        monkeypatch.setattr(f"modlm.counts.{module}.OUT_ROWS", rows)
    monkeypatch.setattr("modlm.counts.disk_runs.FAN_IN", fan_in)
    monkeypatch.setattr("modlm.counts.linking.CONTEXTS", 2)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("order", range(1, 9))
@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_both_engines_give_the_same_bytes(text: list[str], order: int, edge: str) -> None:
    corpus = Corpus.from_text(text)
    found = count_on_disk(corpus, CountOptions(order=order, edge=edge), block=13)
    assert_same_arrays(found, count_in_memory(corpus, CountOptions(order=order, edge=edge)))


@given(TEXT_LISTS, st.integers(1, 8), st.sampled_from(EDGES), st.integers(1, 40))
def test_blocks_may_split_the_text_anywhere(text: list[str], order: int, edge: str, block: int) -> None:
    corpus = Corpus.from_text(text)
    found = count_on_disk(corpus, CountOptions(order=order, edge=edge), block=block)
    assert_same_arrays(found, count_in_memory(corpus, CountOptions(order=order, edge=edge)))


@pytest.mark.parametrize("rows", [2, 3, 50])
def test_runs_are_merged_in_rounds_and_in_pieces(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with_small_pieces(monkeypatch, rows=rows)
    corpus = Corpus.from_text(TEXTS["random sentences"])
    for edge in EDGES:
        found = count_on_disk(corpus, CountOptions(order=5, edge=edge), block=20)
        assert_same_arrays(found, count_in_memory(corpus, CountOptions(order=5, edge=edge)))


def test_large_vocabularies_need_several_keys_for_a_window() -> None:
    rng = np.random.default_rng(3)
    sentences = [[f"w{word}" for word in rng.integers(0, 70_000, 9)] for _ in range(500)]
    corpus = Corpus.from_text(sentences, Corpus.from_text([[f"w{word}" for word in range(70_000)]]).vocabulary)
    how = CountOptions(order=8)
    assert_same_arrays(count_on_disk(corpus, how, block=999), count_in_memory(corpus, how))


def test_a_corpus_without_sentences() -> None:
    corpus = Corpus.from_text(["a b"])[0:0]
    how = CountOptions(order=3)
    assert_same_arrays(count_on_disk(corpus, how), count_in_memory(corpus, how))


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_both_engines_count_files(engine: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b\na c\n")
    counts = count_text(tmp_path / "text", order=2, engine=engine, memory="300MB", temporary=tmp_path)
    assert counts.of("<s> a") == 2
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


def test_a_memory_limit_chooses_the_disk_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int | None] = []

    def spy(corpus: Corpus, options: CountOptions) -> object:
        asked.append(options.memory)
        return None

    monkeypatch.setattr("modlm.counts.disk.count", spy)
    count_text(["a"], memory="1.5GB")
    assert asked == [3 << 29]


@pytest.mark.parametrize("step", ["windows_of", "merged", "sort_suffixes"])
def test_nothing_is_left_when_counting_is_interrupted(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: object, **options: object) -> None:
        assert any(tmp_path.iterdir())
        raise KeyboardInterrupt

    monkeypatch.setattr(f"modlm.counts.disk.{step}", interrupted)
    with pytest.raises(KeyboardInterrupt):
        count_text(["a b"], memory="1GB", temporary=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_files_are_gone_while_the_result_lives(tmp_path: Path) -> None:
    counts = count_text(["a b", "a c"], order=3, engine="disk", temporary=tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert counts.of("a") == 2
    assert not counts.frequencies.flags.writeable


def test_a_temporary_place_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="nowhere"):
        count_text(["a"], engine="disk", temporary=tmp_path / "nowhere")


def test_frequencies_are_wide_only_when_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    append = TrieWriter.append

    def a_billion_times(self: TrieWriter, rows_UK: RowsUK) -> None:
        append(self, rows_UK * np.array([1] * (rows_UK.shape[1] - 1) + [10**9], dtype=np.uint64))

    monkeypatch.setattr(TrieWriter, "append", a_billion_times)
    counts = count_text(["a b"] * 5, order=2, engine="disk")
    assert counts.frequencies.dtype == np.uint64
    assert counts.of("a b") == 5 * 10**9


@pytest.mark.parametrize("size", ["", "much", "-1GB", "5", "1MBB", "1e9", 12, "99999999T"])
def test_memory_limits_that_make_no_sense(size: str | int) -> None:
    with pytest.raises(ConfigError, match="memory limit"):
        count_text(["a"], memory=size)


def test_an_unknown_engine() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'disk'"):
        count_text(["a"], engine="disc")
