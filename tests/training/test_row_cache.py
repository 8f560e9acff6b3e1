"""The row cache: found by contents, mapped at once, made anew when damaged, never larger than its limit."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from modlm.blocks.log_rows import LogRows
from modlm.counts.counting import count_text
from modlm.model.folder import save
from modlm.text import Corpus
from modlm.training import row_cache
from modlm.training.blocks import RunBlock, dense_blocks
from modlm.training.config import ColumnsConfig, RunConfig
from modlm.training.row_cache import cached_rows
from small_texts import TEXTS, model_of

TEXT = TEXTS["random sentences"]
CONFIG = RunConfig(text="train", valid="valid", folds=4, columns={"ngram": ColumnsConfig(order=3)})


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MODLM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "rows"


@pytest.fixture
def train() -> Corpus:
    return Corpus.from_text(TEXT)


def entries(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir())


def never() -> Mapping[str, RunBlock]:
    raise AssertionError("the cache has these rows, so nothing is to be counted")


def check_same(first: LogRows, second: LogRows) -> None:
    assert first.spans == second.spans
    for name in ("ids", "starts", "log_probs_TD", "features_TF"):
        assert np.array_equal(getattr(first, name), getattr(second, name)), name


def test_a_second_run_counts_nothing(train: Corpus) -> None:
    valid = Corpus.from_text(["a b c", "d a"], train.vocabulary)
    first = cached_rows(CONFIG, train, {"valid": valid})
    second = cached_rows(CONFIG, train, {"valid": valid}, blocks=never)
    assert list(first) == list(second) == ["train", "valid"]
    for name in first:
        check_same(first[name], second[name])


@pytest.mark.parametrize(
    "other",
    [
        replace(CONFIG, folds=5),
        replace(CONFIG, columns={"ngram": ColumnsConfig(order=2)}),
        replace(CONFIG, columns={"ngram": ColumnsConfig(order=3, smoothing="witten-bell")}),
        replace(CONFIG, columns={"ngram": ColumnsConfig(order=3, edge="repeat")}),
        replace(CONFIG, columns={"another": ColumnsConfig(order=3)}),
        replace(CONFIG, extra=("uniform",)),
    ],
)
def test_other_settings_have_rows_of_their_own(train: Corpus, cache: Path, other: RunConfig) -> None:
    cached_rows(CONFIG, train)
    cached_rows(other, train)
    assert len(entries(cache)) == 2


def test_what_does_not_change_rows_does_not_make_new_ones(train: Corpus, cache: Path) -> None:
    cached_rows(CONFIG, train)
    cached_rows(replace(CONFIG, seed=7, kind="interpolated", text="elsewhere"), train, blocks=never)
    assert len(entries(cache)) == 1


def test_another_text_or_vocabulary_has_rows_of_its_own(train: Corpus, cache: Path) -> None:
    cached_rows(CONFIG, train)
    cached_rows(CONFIG, Corpus.from_text([*TEXT[:-1], "a b a b"], train.vocabulary))
    cached_rows(CONFIG, Corpus.from_text([line.replace("a", "q") for line in TEXT]))
    assert len(entries(cache)) == 3


def test_rows_of_valid_depend_on_the_training_text(train: Corpus, cache: Path) -> None:
    valid = Corpus.from_text(["a b c"], train.vocabulary)
    cached_rows(CONFIG, train, {"valid": valid})
    cached_rows(CONFIG, Corpus.from_text(TEXT[:-5], train.vocabulary), {"valid": valid})
    assert len(entries(cache)) == 4


@pytest.mark.parametrize("file", ["ids.npy", "starts.npy", "log_probs.npy", "features.npy", "rows.json"])
@pytest.mark.parametrize("damage", ["gone", "cut", "one byte"])
def test_damaged_entries_are_made_anew(
    train: Corpus, cache: Path, caplog: pytest.LogCaptureFixture, file: str, damage: str
) -> None:
    first = cached_rows(CONFIG, train)["train"]
    kept = {name: np.array(getattr(first, name)) for name in ("ids", "log_probs_TD", "features_TF")}
    path = cache / entries(cache)[0] / file
    data = path.read_bytes()
    path.unlink()  # the mapped file must not change under whoever reads it
    if damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "one byte":
        middle = data.index(b"sha256") + 12 if file == "rows.json" else len(data) - 3
        path.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
    again = cached_rows(CONFIG, train)["train"]
    assert "made anew" in caplog.text
    for name, array in kept.items():
        assert np.array_equal(getattr(again, name), array)
    cached_rows(CONFIG, train, blocks=never)


def test_the_log_says_where_the_cache_is_and_how_large(
    train: Corpus, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="modlm"):
        cached_rows(CONFIG, train)
    assert str(cache) in caplog.text
    assert "in all" in caplog.text


def test_the_cache_keeps_within_its_limit(
    train: Corpus, cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cached_rows(CONFIG, train)
    monkeypatch.setattr(row_cache, "bytes_of", lambda size: 1)
    found = cached_rows(replace(CONFIG, folds=5), train)["train"]
    assert len(entries(cache)) == 1
    assert "removed" in caplog.text
    assert found.log_probs_TD.shape == (len(train.ids), 3 + 2)
    cached_rows(replace(CONFIG, folds=5), train, blocks=never)


def test_a_cache_that_cannot_be_written_is_done_without(
    train: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = cached_rows(CONFIG, train)["train"]
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MODLM_CACHE", str(tmp_path / "file"))
    check_same(cached_rows(CONFIG, train)["train"], expected)
    assert "memory" in caplog.text


def test_a_full_disk_is_told_once_and_rows_are_kept_in_memory(
    train: Corpus, cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    others = {"valid": Corpus.from_text(["a b c"], train.vocabulary), "test": Corpus.from_text(["b"], train.vocabulary)}
    expected = cached_rows(CONFIG, train, others)
    monkeypatch.setattr(os, "posix_fallocate", no_room, raising=False)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("MODLM_CACHE", str(cache / "full"))
        found = cached_rows(CONFIG, train, others)
    for name, rows in expected.items():
        check_same(found[name], rows)
        assert found[name].folder is None
    (said,) = (text for text in caplog.messages if "memory" in text)
    for part in ("for this run only", str(cache / "full"), "the disk is full", "MODLM_CACHE"):
        assert part in said
    assert list((cache / "full" / "rows").iterdir()) == []


def no_room(*arguments: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_neural_run_has_ids_alone(train: Corpus) -> None:
    from modlm.nets.config import NetConfig

    config = RunConfig(kind="neural", text="t", valid="v", extra=(), net=NetConfig(inputs=("word",)))
    found = cached_rows(config, train)["train"]
    assert found.log_probs_TD.shape == found.features_TF.shape == (len(train.ids), 0)


def test_a_changed_source_has_rows_of_its_own(train: Corpus, cache: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    config = replace(CONFIG, columns={"other": ColumnsConfig(order=2, text=(str(other),))})
    for text in ("a b\n", "a b\nb c\n"):
        other.write_text(text)
        cached_rows(config, train)
    assert len(entries(cache)) == 2


def test_counts_and_models_from_elsewhere_are_columns_as_they_are(train: Corpus, tmp_path: Path) -> None:
    counts = count_text(["a b c", "b c d"], vocabulary=train.vocabulary, order=3)
    counts.save(tmp_path / "counts")
    save(model_of(["a b c", "c b a"], order=2), tmp_path / "model")
    config = replace(
        CONFIG,
        columns={
            "own": ColumnsConfig(order=2),
            "counts": ColumnsConfig(order=2, counts=(str(tmp_path / "counts"),), smoothing="absolute"),
            "model": ColumnsConfig(model=str(tmp_path / "model")),
        },
    )
    found = cached_rows(config, train)["train"]
    assert {name: span.columns for name, span in found.spans.items()} == {
        "own": slice(0, 2), "counts": slice(2, 4), "model": slice(4, 5), "uniform": slice(5, 6), "unknown": slice(6, 7),
    }  # fmt: skip
    blocks = dense_blocks(config, train)
    for name in ("counts", "model"):
        probs = blocks[name].block.rows(train.ids).probs_TK
        np.testing.assert_allclose(np.exp(found.block(name)[0]), probs, rtol=1e-5)
    cached_rows(config, train, blocks=never)
