"""`modlm count` on this machine: what it writes, what it says, and what it refuses before it begins."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Files, Modlm

from modlm.counts import SkipCounts, count_text, held_out, open_counts
from modlm.text import Corpus


def test_counts_train_the_same_model_as_the_text(ok: Modlm, files: Files, tmp_path: Path) -> None:
    ok("count", files.train, "-o", tmp_path / "counts", "--order", 3)
    for path in files.counts.iterdir():  # written by `modlm ngram --counts`
        assert (tmp_path / "counts" / path.name).read_bytes() == path.read_bytes()


def test_continuation_counts_and_folds_are_those_of_the_library(ok: Modlm, files: Files, tmp_path: Path) -> None:
    beside = ["--continuation", tmp_path / "kn", "--held-out", tmp_path / "folds", "--folds", 3]
    ok("count", files.train, "-o", tmp_path / "counts", "--order", 2, *beside)
    whole, corpus = count_text(files.train, order=2), Corpus.from_text(files.train)
    np.testing.assert_array_equal(open_counts(tmp_path / "kn").frequencies, whole.continuation().frequencies)
    for number, fold in enumerate(corpus.folds(3)):
        found = open_counts(tmp_path / "folds" / str(number), verify="full")
        np.testing.assert_array_equal(found.frequencies, held_out(whole, fold).frequencies)
        assert found.sentences == corpus.sentences - fold.sentences
    assert len(list((tmp_path / "folds").iterdir())) == 3


def test_the_report_tells_ngrams_and_counts_of_counts(ok: Modlm, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b\na b\na c\n")
    words = ["count", tmp_path / "text", "--order", 2, "--counts-of-counts", "-o"]
    report = ok(*words, tmp_path / "c", "--json").json
    assert report["ngrams"] == [6, 5]  # <unk> </s> a b c <s>; <s> a, a b, a c, b </s>, c </s>
    # once c; twice b; three times a and </s>. 2-grams: a c, c </s>; a b, b </s>; <s> a
    assert report["counts_of_counts"]["raw"] == [[1, 1, 2, 0], [2, 2, 1, 0]]
    # after one word a, b, c; after two </s>. The highest order keeps its counts
    assert report["counts_of_counts"]["continuation"] == [[3, 1, 0, 0], [2, 2, 1, 0]]
    assert (report["sentences"], report["words"], report["engine"]) == (3, 5, "memory")
    out = ok(*words, tmp_path / "d", "--memory", "300MB").out
    assert "3 sentences" in out and "occur 1, 2, … times" in out and "(disk)" in out


def test_skip_ngrams(ok: Modlm, files: Files, tmp_path: Path) -> None:
    ok("count", files.train, "-o", tmp_path / "counts", "--positions", "3,1")
    found = open_counts(tmp_path / "counts")
    assert isinstance(found, SkipCounts) and found.positions == (3, 1)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--engine", "memory", "--master", "local[2]"], "engine spark"),
        (["--conf", "executor.cores=4"], "spark.NAME=VALUE"),
        (["--engine", "sparc"], "Did you mean 'spark'"),
        (["--edge", "twice"], "repeat"),
        (["--memory", "lots"], "2GB"),
        (["--positions", "3,1", "--held-out", "folds"], "without continuation counts and folds"),
        (["--positions", "3,1", "--engine", "spark"], "counted in memory"),
        (["--vocab", "words", "--max-words", "5"], "--max-words"),
        (["--held-out", "words"], "already exists"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_settings_that_do_not_fit_are_refused(
    modlm: Modlm, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], word: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words").write_text("nila\n")
    outcome = modlm("count", files.train, "-o", "counts", *options)
    assert outcome.code == 1 and word in outcome.err and outcome.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["words"]
