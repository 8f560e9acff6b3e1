"""Count files become counts that can be smoothed, closed or not, cut off or not, and counts become count files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.counts.same_counts import assert_same_arrays, occurring

from modlm.counts import count_text, counts_from_tables, export_counts, import_counts, open_counts
from modlm.errors import ConfigError, EstimationError
from modlm.formats.count_files import CountRows, CountTables
from modlm.model.ngram_lm import NgramLM
from modlm.smoothing import SMOOTHERS
from modlm.text.vocabulary import Vocabulary
from small_texts import TEXT_LISTS, TEXTS


def written(path: Path, *lines: str) -> Path:
    path.write_text("".join(line.replace("|", "\t") + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["counts", "counts.gz"])
@pytest.mark.parametrize("order", [1, 2, 5])
@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_counts_survive_the_way_through_a_file(text: list[str], order: int, name: str, tmp_path: Path) -> None:
    counts = count_text(text, order=order)
    export_counts(counts, tmp_path / name)
    found = import_counts(tmp_path / name, vocabulary=counts.vocabulary, order=min(order, longest(tmp_path / name)))
    if found.order == order:
        for own, other in zip(found.arrays().values(), counts.arrays().values(), strict=True):
            assert own.dtype == other.dtype
            np.testing.assert_array_equal(own, other)


def longest(path: Path) -> int:
    from modlm.formats.count_files import read_counts

    return read_counts(path).max_order


def test_missing_contexts_and_suffixes_get_nodes_that_do_not_occur(tmp_path: Path) -> None:
    path = written(tmp_path / "c", "a|7", "a b c|5", "x b c|4")
    counts = import_counts(path, vocabulary=Vocabulary.from_words("abcx"))
    assert occurring(counts, 3) == {("a", "b", "c"): 5, ("x", "b", "c"): 4}
    assert occurring(counts, 1) == {("a",): 7}
    assert counts.node(counts.vocabulary.encode("a b").tolist()) > 0
    assert counts.of("b c") == 5 + 4  # no bigrams at all in the file: they come from the trigrams
    counts.save(tmp_path / "folder")
    open_counts(tmp_path / "folder", verify="full")


def test_an_order_with_lines_of_its_own_is_taken_as_it_stands(tmp_path: Path) -> None:
    path = written(tmp_path / "c", "a|7", "b c|3", "a b c|5")
    counts = import_counts(path, vocabulary=Vocabulary.from_words("abc"))
    assert counts.of("b c") == 3 and counts.of("a b") == 0 and counts.of("b") == 0


def test_the_cut_off_is_the_smallest_count_of_each_order(tmp_path: Path) -> None:
    assert import_counts(written(tmp_path / "c", "a|200", "b|300", "a b|40", "b a|41")).cut_off == (200, 40)
    assert import_counts(written(tmp_path / "c", "a|1", "b|300", "a b|1")).cut_off == ()


def test_start_is_context_only(tmp_path: Path) -> None:
    counts = import_counts(written(tmp_path / "c", "<S>|9", "a|9", "<S> a|9", "a </S>|9"))
    assert counts.of("<s>") == 0 and counts.of("<s> a") == 9 and counts.of("a </s>") == 9


def test_counts_of_64_bits(tmp_path: Path) -> None:
    counts = import_counts(written(tmp_path / "c", f"a|{2**40}", "a a|3"))
    assert counts.frequencies.dtype == np.uint64 and counts.of("a") == 2**40
    assert counts.continuation().of("a") == 1


def test_an_order_below_the_highest(tmp_path: Path) -> None:
    path = written(tmp_path / "c", "a|5", "a a|4", "a a a|3")
    assert import_counts(path, order=2).order == 2
    with pytest.raises(EstimationError, match="go up to order 3"):
        import_counts(path, order=4)
    with pytest.raises(ConfigError, match="order must be"):
        import_counts(path, order=0)


def test_what_was_cut_off_at_its_left_still_continues_something(tmp_path: Path) -> None:
    counts = import_counts(written(tmp_path / "c", "a|500", "b|300", "c|200", "a b|40"))
    continuation = counts.continuation()
    assert continuation.of("b") == 1  # after a
    assert continuation.of("c") == 1  # after something that was cut off


@pytest.mark.parametrize("family", SMOOTHERS)
@pytest.mark.parametrize("least", [1, 2, 3, 40])
def test_every_family_makes_proper_distributions_of_cut_off_counts(family: str, least: int, tmp_path: Path) -> None:
    whole = count_text(TEXTS["random sentences"], order=3)
    export_counts(whole, tmp_path / "all")
    lines = (tmp_path / "all").read_text().splitlines()
    kept = [line for line in lines if int(line.split("\t")[1]) >= (least if " " in line else 1)]
    (tmp_path / "cut").write_text("\n".join(kept) + "\n")
    model = NgramLM.from_counts(import_counts(tmp_path / "cut"), smoothing=family, dtype=np.float64)
    states = np.arange(model.compiled.trie.contexts, dtype=np.int64)
    np.testing.assert_allclose(model.compiled.distributions(states).sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("family", SMOOTHERS)
def test_an_ngram_that_only_longer_ones_tell_of_has_its_share(family: str, tmp_path: Path) -> None:
    """Nobody counted "b c", but "a b c" and "c b c" say that it continues two words."""
    path = written(tmp_path / "c", "a|5", "b|4", "c|6", "a b|3", "c b|2", "a c|1", "a b c|2", "c b c|2")
    model = NgramLM.from_counts(import_counts(path), smoothing=family, dtype=np.float64)
    states = np.arange(model.compiled.contexts, dtype=np.int64)
    np.testing.assert_allclose(model.compiled.distributions(states).sum(axis=1), 1, atol=1e-12)


@given(
    st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4).map(tuple), min_size=1, max_size=12, unique=True),
    st.integers(1, 60),
)
def test_any_set_of_ngrams_is_closed_and_complete(ngrams: list[tuple[int, ...]], count: int) -> None:
    vocabulary = Vocabulary.from_words("abc")
    orders = []
    for n in range(1, max(map(len, ngrams)) + 1):
        own = sorted(ngram for ngram in ngrams if len(ngram) == n)
        rows = np.array(own, dtype=np.uint32).reshape(-1, n)
        orders.append(CountRows(rows, np.full(len(own), count, dtype=np.int64), count if own else 0))
    counts = counts_from_tables(CountTables(vocabulary, tuple(orders)))
    for ngram in ngrams:
        assert counts.frequencies[counts.node(ngram)] == count
        for part in (ngram[1:], ngram[:-1]):
            assert not part or counts.node(part) > 0
    for order in range(2, counts.order + 1):
        table, nodes = counts.trie.ngrams(order), counts.trie.nodes(order)
        np.testing.assert_array_equal(counts.nodes(table), np.arange(nodes.start, nodes.stop))
        np.testing.assert_array_equal(counts.nodes(table[:, 1:]), counts.trie.suffix[nodes])


@given(TEXT_LISTS)
def test_tables_of_a_text_give_the_counts_of_the_text(text: list[str]) -> None:
    counts = count_text(text, order=3)
    orders = []
    for n in range(1, 4):
        nodes = counts.trie.nodes(n)
        here = counts.frequencies[nodes] > 0
        numbers = counts.frequencies[nodes][here].astype(np.int64)
        orders.append(CountRows(counts.trie.ngrams(n)[here], numbers, int(numbers.min(initial=1))))
    found = counts_from_tables(CountTables(counts.vocabulary, tuple(orders)))
    found.sentences, found.cut_off = counts.sentences, ()
    assert_same_arrays(found, counts)


@pytest.mark.parametrize("options", [{"edge": "repeat"}, {"positions": (2, 3)}], ids=str)
def test_what_count_files_cannot_hold(options: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='edge = "once"'):
        export_counts(count_text(["a b"], **options), tmp_path / "c")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
