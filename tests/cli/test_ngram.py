"""`modlm ngram`: what it trains on, what it writes and what it says."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Files, Modlm

import modlm
from modlm.counts import count_text, import_counts
from modlm.smoothing import SMOOTHERS


def same_model(one: Path, other: Path) -> bool:
    first, second = modlm.load(one), modlm.load(other)
    assert isinstance(first, modlm.NgramLM) and isinstance(second, modlm.NgramLM)
    arrays = zip(first.compiled.arrays, second.compiled.arrays, strict=True)
    return first.vocabulary == second.vocabulary and all(np.array_equal(here, there) for here, there in arrays)


def test_the_summary_names_orders_discounts_size_and_perplexity(ok: Modlm, files: Files, tmp_path: Path) -> None:
    out = ok("ngram", files.train, "-o", tmp_path / "m", "--order", 2, "--valid", files.valid).out
    for word in (
        "2-gram model",
        "modified-kneser-ney",
        "1-grams",
        "2-grams",
        "perplexity of",
        "predictions",
        "trained in",
    ):
        assert word in out


def test_json_agrees_with_the_model(ok: Modlm, files: Files, tmp_path: Path) -> None:
    report = ok("ngram", files.train, "-o", tmp_path / "m", "--order", 3, "--valid", files.valid, "--json").json
    model = modlm.load(tmp_path / "m")
    assert isinstance(model, modlm.NgramLM) and model.settings is not None
    assert report["ngrams"] == [model.compiled.levels[n + 1] - model.compiled.levels[n] for n in (1, 2, 3)]
    assert report["discounts"] == [list(row) for row in model.settings.discounts]
    assert report["valid"]["perplexity"] == pytest.approx(model.perplexity(files.valid).perplexity)
    assert report["bytes"] == sum(path.stat().st_size for path in (tmp_path / "m").rglob("*") if path.is_file())


@pytest.mark.parametrize("smoothing", SMOOTHERS)
def test_every_family_trains(modlm: Modlm, files: Files, tmp_path: Path, smoothing: str) -> None:
    assert modlm("ngram", files.train, "-o", tmp_path / "m", "--order", 3, "--smoothing", smoothing).code == 0


def test_the_card_holds_the_text_the_numbers_and_the_version(ok: Modlm, files: Files, tmp_path: Path) -> None:
    ok("ngram", files.train, "-o", tmp_path / "m", "--order", 2, "--valid", files.valid)
    card = (tmp_path / "m" / "card.md").read_text(encoding="utf-8")
    assert "train.txt" in card and "valid.txt" in card and modlm.__version__ in card and "200 sentences" in card


def test_counts_folder_count_file_and_model_train_the_same_model_as_the_text(
    ok: Modlm, files: Files, tmp_path: Path
) -> None:
    ok("convert", files.counts, tmp_path / "all.counts.gz")
    for name, source in {"c": files.counts, "f": tmp_path / "all.counts.gz", "m": files.model}.items():
        ok("ngram", source, "-o", tmp_path / name, "--order", 3)
        assert same_model(tmp_path / name, files.model)


def test_the_order_of_counts_is_the_default(ok: Modlm, files: Files, tmp_path: Path) -> None:
    assert ok("ngram", files.counts, "-o", tmp_path / "m", "--json").json["order"] == 3


def test_several_inputs_are_added_up(ok: Modlm, files: Files, tmp_path: Path) -> None:
    ok("ngram", files.counts, files.valid, "-o", tmp_path / "added", "--counts", tmp_path / "sum")
    both = tmp_path / "both.txt"
    both.write_bytes(files.train.read_bytes() + files.valid.read_bytes())
    model = modlm.load(tmp_path / "added")
    assert isinstance(model, modlm.NgramLM) and model.counts is not None
    whole = count_text(both, order=3, vocabulary=model.vocabulary)
    assert np.array_equal(model.counts.frequencies, whole.frequencies)
    assert model.counts.sentences == 250


def test_packed_text_and_standard_input_give_the_same_model(
    ok: Modlm, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "train.gz"
    packed.write_bytes(gzip.compress(files.train.read_bytes()))
    ok("ngram", packed, "-o", tmp_path / "packed", "--order", 3)
    with files.train.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        ok("ngram", "-", "-o", tmp_path / "piped", "--order", 3)
    assert same_model(tmp_path / "packed", files.model) and same_model(tmp_path / "piped", files.model)


def test_the_disk_engine_gives_the_same_model(ok: Modlm, files: Files, tmp_path: Path) -> None:
    ok("ngram", files.train, "-o", tmp_path / "m", "--order", 3, "--memory", "200MB")
    assert same_model(tmp_path / "m", files.model)


def test_given_discounts_are_used_for_all_orders_or_each(ok: Modlm, files: Files, tmp_path: Path) -> None:
    report = ok("ngram", files.train, "-o", tmp_path / "a", "--order", 2, "--discounts", "0.5,1,1.5", "--json").json
    assert report["discounts"] == [[0.5, 1.0, 1.5]] * 2
    report = ok("ngram", files.train, "-o", tmp_path / "b", "--order", 2, "--discounts", "0.5/0.25,0.75", "--json").json
    assert report["discounts"] == [[0.5], [0.25, 0.75]]


def test_vocabulary_options_choose_the_words(ok: Modlm, files: Files, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("nila\ndafe\n")
    assert (
        ok("ngram", files.train, "-o", tmp_path / "a", "--vocab", tmp_path / "words.txt", "--json").json["words"] == 4
    )
    assert ok("ngram", files.train, "-o", tmp_path / "b", "--max-words", 3, "--json").json["words"] == 5
    counts = import_counts(_count_file(ok, files, tmp_path))
    often = sum(counts.of(word) >= 10 for word in counts.vocabulary.words[2:])
    assert ok("ngram", files.train, "-o", tmp_path / "c", "--min-count", 10, "--json").json["words"] == often + 2


def _count_file(ok: Modlm, files: Files, tmp_path: Path) -> Path:
    ok("convert", files.counts, tmp_path / "x.counts")
    return tmp_path / "x.counts"


def test_pruning_makes_the_model_smaller(ok: Modlm, files: Files, tmp_path: Path) -> None:
    whole = ok("inspect", files.model, "--json").json["ngrams"]
    cut = ok("ngram", files.train, "-o", tmp_path / "a", "--order", 3, "--prune", "0,0,1", "--json").json["ngrams"]
    assert cut[:2] == whole[:2] and cut[2] < whole[2]
    cut = ok("ngram", files.train, "-o", tmp_path / "b", "--order", 3, "--prune-entropy", "1e-3", "--json").json[
        "ngrams"
    ]
    assert cut[2] < whole[2]


def test_skip_ngrams_are_saved_as_a_mixture_that_can_be_asked(ok: Modlm, files: Files, tmp_path: Path) -> None:
    report = ok("ngram", files.train, "-o", tmp_path / "m", "--positions", "3,2", "--json").json
    assert report["positions"] == [3, 2] and len(report["ngrams"]) == 3
    assert ok("eval", tmp_path / "m", files.test, "--json").json["perplexity"] > 1
    assert ok("inspect", tmp_path / "m", "--json").json["model"] == "mixture"
    plain = ok("ngram", files.train, "-o", tmp_path / "plain", "--positions", "2,1", "--json").json
    assert plain["positions"] == [2, 1] and len(plain["ngrams"]) == 3


def test_bytes_that_are_not_utf8_can_be_replaced(ok: Modlm, tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"a b\xff c\n" * 5)
    ok("ngram", tmp_path / "text", "-o", tmp_path / "m", "--order", 2, "--encoding-errors", "replace")
    assert "b\ufffd" in modlm.load(tmp_path / "m").vocabulary


def test_force_overwrites(modlm: Modlm, files: Files, tmp_path: Path) -> None:
    once = ("ngram", files.train, "-o", tmp_path / "m", "--order", 2)
    assert [modlm(*once).code, modlm(*once).code, modlm(*once, "--force").code] == [0, 1, 0]


def test_notes_stand_in_the_summary_only(ok: Modlm, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a\n")
    assert "note: order 1" in ok("ngram", tmp_path / "text", "-o", tmp_path / "m").out


def test_threads_are_limited(ok: Modlm, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from modlm.ground.arrays import threads

    monkeypatch.setenv("MODLM_THREADS", "2")
    ok("ngram", files.train, "-o", tmp_path / "m", "--order", 3, "--threads", 1)
    assert threads() == 1 and same_model(tmp_path / "m", files.model)
