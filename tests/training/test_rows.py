"""Rows for training: each fold from the counts of all others, equal to smoothing these anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.blocks import NgramBlock
from modlm.blocks.block import Fold
from modlm.blocks.held_out import HeldOutColumns
from modlm.blocks.log_rows import LogRows, log_rows
from modlm.counts import held_out
from modlm.counts.counting import count_text
from modlm.counts.counts import Counts
from modlm.errors import ConfigError, InputError, ModelFolderError
from modlm.smoothing import SMOOTHERS, estimate
from modlm.text import Corpus, Vocabulary
from modlm.training.blocks import RunBlock
from modlm.training.rows import pieces, rows
from oracle import Oracle
from small_texts import EDGES, TEXT_LISTS, TEXTS, oracle_of

Positions = tuple[int, ...] | None
SKIPS = [(2,), (4, 3, 2), (1, 2), (3, 1)]


def check_close(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal as far as float32 goes."""
    np.testing.assert_allclose(found, expected, rtol=3e-7, atol=1e-7)


def columns_of(
    corpus: Corpus, *, smoothing: str, edge: str = "once", order: int | None = None, positions: Positions = None
) -> RunBlock:
    counts = count_text(corpus, order=order, edge=edge, positions=positions, workers=1)
    return RunBlock(NgramBlock(estimate(SMOOTHERS[smoothing](), counts)), counts)


def slowly(corpus: Corpus, counts: Counts, smoothing: str, folds: int) -> tuple[np.ndarray, np.ndarray]:
    """The log rows and features of each fold, its counts taken away and everything else smoothed from scratch."""
    found = [
        NgramBlock(estimate(SMOOTHERS[smoothing](), held_out(counts, fold))).rows(np.asarray(fold.ids))
        for fold in corpus.folds(folds)
    ]
    with np.errstate(divide="ignore"):
        log_probs = np.log(np.concatenate([part.probs_TK for part in found]))
    return log_probs, np.concatenate([part.features_TF for part in found])


def check_against_slow_rows(text: list[str], *, smoothing: str, folds: int, **counted: Any) -> None:
    corpus = Corpus.from_text(text)
    columns = columns_of(corpus, smoothing=smoothing, **counted)
    assert columns.counts is not None
    made = rows(corpus, {"ngram": columns}, folds=folds)
    log_probs, features = slowly(corpus, columns.counts, smoothing, folds)
    assert made.log_probs_TD.dtype == made.features_TF.dtype == np.float32
    check_close(made.log_probs_TD, log_probs)
    check_close(made.features_TF, features)


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("name", [name for name in TEXTS if len(TEXTS[name]) > 1])
def test_rows_of_a_fold_are_those_of_counts_without_it(smoothing: str, edge: str, name: str) -> None:
    for order in (1, 2, 4):
        check_against_slow_rows(TEXTS[name], smoothing=smoothing, edge=edge, order=order, folds=3)


@given(
    text=TEXT_LISTS, edge=st.sampled_from(EDGES), smoothing=st.sampled_from(tuple(SMOOTHERS)), folds=st.integers(2, 7)
)
def test_rows_of_a_fold_are_those_of_counts_without_it_on_any_text(
    text: list[str], edge: str, smoothing: str, folds: int
) -> None:
    if len(text) > 1:
        check_against_slow_rows(text, smoothing=smoothing, edge=edge, order=3, folds=folds)


@given(
    text=TEXT_LISTS,
    positions=st.lists(st.integers(1, 6), min_size=1, max_size=4, unique=True).map(tuple),
    smoothing=st.sampled_from(tuple(SMOOTHERS)),
    folds=st.integers(2, 7),
)
def test_skip_ngrams_are_held_out_as_plain_ones_are(
    text: list[str], positions: tuple[int, ...], smoothing: str, folds: int
) -> None:
    if len(text) > 1:
        check_against_slow_rows(text, smoothing=smoothing, positions=positions, folds=folds)


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@pytest.mark.parametrize("positions", SKIPS, ids=str)
def test_rows_of_skip_ngrams_are_the_oracles_for_a_text_without_the_fold(
    smoothing: str, positions: tuple[int, ...]
) -> None:
    """Where a context was not seen without the fold, the column is uniform, which the authors' program got wrong."""
    text, words = [line.split() for line in TEXTS["random sentences"]], sorted("abcdefgh")
    corpus = Corpus.from_text(TEXTS["random sentences"], Vocabulary.from_words(words))
    made = rows(corpus, {"skip": columns_of(corpus, smoothing=smoothing, positions=positions)}, folds=4)
    expected, seen = list[list[float]](), list[list[bool]]()
    for first in range(0, 60, 15):
        rest = text[:first] + text[first + 15 :]
        oracle = Oracle(rest, positions=positions, smoothing=smoothing, vocabulary=words)
        for window, word in oracle.predictions(text[first : first + 15]):
            contexts = {n: oracle.context(n, window) for n in oracle.orders}
            expected.append([float(oracle.column(n, context, word)) for n, context in contexts.items()])
            seen.append([oracle.kept(n, context) > 0 for n, context in contexts.items()])
    with np.errstate(divide="ignore"):
        log_probs = np.log(np.array(expected))
    predicted, width = made.ids != corpus.vocabulary.start, made.features_TF.shape[1] // (len(positions) + 1)
    np.testing.assert_allclose(made.log_probs_TD[predicted], log_probs, rtol=1e-6, atol=1e-6)
    assert np.array_equal(made.features_TF[predicted][:, ::width], np.array(seen, dtype=np.float32))
    unseen = ~np.array(seen)
    np.testing.assert_allclose(made.log_probs_TD[predicted][unseen], -np.log(len(corpus.vocabulary)), rtol=1e-6)
    assert unseen.any() == (len(positions) > 1)  # so that the longer ones show it


@pytest.mark.parametrize("smoothing", SMOOTHERS)
def test_rows_of_a_fold_are_the_oracles_for_a_text_without_it(smoothing: str) -> None:
    text, words = TEXTS["random sentences"], sorted("abcdefgh")
    corpus = Corpus.from_text(text, Vocabulary.from_words(words))
    columns = columns_of(corpus, smoothing=smoothing, edge="repeat", order=3)
    made = rows(corpus, {"ngram": columns}, folds=4)
    predicted = made.ids != corpus.vocabulary.start
    expected = []
    for first in range(0, 60, 15):
        rest = text[:first] + text[first + 15 :]
        oracle = oracle_of(rest, smoothing=smoothing, edge="repeat", vocabulary=words)
        expected += [row[:3] for row in oracle.rows([line.split() for line in text[first : first + 15]])]
    with np.errstate(divide="ignore"):
        log_probs = np.log(np.array(expected, dtype=float))
    np.testing.assert_allclose(made.log_probs_TD[predicted], log_probs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("smoothing", SMOOTHERS)
def test_a_fold_that_was_taken_out_is_put_back_whole(smoothing: str) -> None:
    corpus = Corpus.from_text(TEXTS["random sentences"])
    columns = columns_of(corpus, smoothing=smoothing, edge="once", order=4)
    assert columns.counts is not None
    whole = HeldOutColumns.of(columns.counts, columns.block.estimates)  # type: ignore[attr-defined]
    state = whole.copy()
    for fold in corpus.folds(7):
        length = len(fold.ids)
        features = np.empty((length, len(columns.block.features)), np.float32)
        state.fill(Fold(np.asarray(fold.ids)), np.empty((length, 4), np.float32), features)
        for name in ("frequencies", "used", "tallies_CR", "numbers_NL"):
            assert np.array_equal(getattr(state, name), getattr(whole, name)), name


def test_a_fold_of_another_text_is_refused() -> None:
    corpus = Corpus.from_text(["a b", "b a"])
    columns = columns_of(corpus, smoothing="kneser-ney", edge="once", order=2)
    state = columns.held_out()
    other = Corpus.from_text(["a a a"], corpus.vocabulary)
    out = np.empty((len(other.ids), 2), np.float32), np.empty((len(other.ids), 8), np.float32)
    with pytest.raises(InputError, match="not part of the counted text"):
        state.copy().fill(Fold(np.asarray(other.ids)), *out)


@pytest.mark.parametrize("smoothing", SMOOTHERS)
def test_rows_from_all_counts_are_the_blocks_own(smoothing: str) -> None:
    corpus = Corpus.from_text(TEXTS["random sentences"])
    block = columns_of(corpus, smoothing=smoothing, edge="once", order=3).block
    text = Corpus.from_text(["a b c", "", "z z a b", "h g f"], corpus.vocabulary)
    made, expected = rows(text, {"ngram": RunBlock(block)}), block.rows(text.ids)
    with np.errstate(divide="ignore"):
        check_close(made.log_probs_TD, np.log(expected.probs_TK))
    check_close(made.features_TF, expected.features_TF)
    starts = text.ids == text.vocabulary.start
    assert not made.log_probs_TD[starts].any() and not made.features_TF[starts].any()


def test_blocks_stand_side_by_side_and_only_those_of_the_text_are_held_out() -> None:
    corpus = Corpus.from_text(TEXTS["random sentences"])
    own = columns_of(corpus, smoothing="modified-kneser-ney", edge="once", order=3)
    other = columns_of(
        Corpus.from_text(["a b", "c a b"], corpus.vocabulary), smoothing="absolute", edge="once", order=2
    )
    made = rows(corpus, {"own": own, "other": RunBlock(other.block)}, folds=5)
    assert made.log_probs_TD.shape[1] == 5
    alone = rows(corpus, {"own": own}, folds=5)
    for part, expected in zip(made.block("own"), alone.block("own"), strict=True):
        assert np.array_equal(part, expected)
    as_it_is = log_rows({"other": other.block}, corpus.ids, corpus.vocabulary.start)
    for part, expected in zip(made.block("other"), as_it_is.block("other"), strict=True):
        assert np.array_equal(part, expected)


def test_rows_in_a_folder_are_those_in_memory(tmp_path: Path) -> None:
    corpus = Corpus.from_text(TEXTS["random sentences"])
    columns = {"ngram": columns_of(corpus, smoothing="modified-kneser-ney", edge="once", order=3)}
    there, here = rows(corpus, columns, folds=3, folder=tmp_path / "rows"), rows(corpus, columns, folds=3)
    again = LogRows.open(tmp_path / "rows", verify="full")
    for found in (there, again):
        assert found.folder == tmp_path / "rows"
        assert found.spans == here.spans
        for name in ("ids", "starts", "log_probs_TD", "features_TF"):
            assert np.array_equal(getattr(found, name), getattr(here, name)), name
    assert here.sentences == 60


def test_a_position_of_a_5_gram_takes_at_most_120_bytes() -> None:
    corpus = Corpus.from_text(TEXTS["random sentences"])
    columns = columns_of(corpus, smoothing="modified-kneser-ney", edge="once", order=5)
    made = rows(corpus, {"ngram": columns}, folds=3)
    assert (made.bytes - made.starts.nbytes) / len(made.ids) == 4 + 5 * 4 + 20 * 4


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda path: (path / "features.npy").unlink(), "features.npy"),
        (lambda path: (path / "log_probs.npy").write_bytes(b"short"), "log_probs.npy"),
        (lambda path: np.save(path / "starts.npy", np.zeros(61, np.int64)), "sentences"),
        (lambda path: (path / "rows.json").write_text("{}"), "rows.json"),
    ],
)
def test_a_damaged_folder_is_refused(tmp_path: Path, change: object, complaint: str) -> None:
    corpus = Corpus.from_text(TEXTS["random sentences"])
    columns = {"ngram": columns_of(corpus, smoothing="witten-bell", edge="once", order=2)}
    rows(corpus, columns, folds=3, folder=tmp_path / "rows")
    change(tmp_path / "rows")  # type: ignore[operator]
    with pytest.raises(ModelFolderError, match=complaint):
        LogRows.open(tmp_path / "rows")


def test_a_text_of_one_fold_is_refused() -> None:
    corpus = Corpus.from_text(["a b c"])
    columns = {"ngram": columns_of(corpus, smoothing="witten-bell", edge="once", order=2)}
    with pytest.raises(ConfigError, match="at least two"):
        rows(corpus, columns, folds=10)


def test_pieces_cover_whole_sentences_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modlm.training.rows.PIECE", 5)
    starts = np.array([0, 2, 4, 13, 15, 18, 20])
    assert pieces(starts) == [(0, 4), (4, 13), (13, 18), (18, 20)]
    assert pieces(np.array([0])) == []
