"""`modlm interpolate`: models, orders or both, tuned to a text."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Files, Modlm

import modlm


def test_a_mixture_is_no_worse_than_its_best_model_on_the_tuning_text(ok: Modlm, files: Files, tmp_path: Path) -> None:
    call = (
        "interpolate",
        files.model,
        files.other,
        "--tune",
        files.valid,
        "-o",
        tmp_path / "mix",
        "--test",
        files.test,
    )
    report = ok(*call, "--json").json
    assert sum(report["weights"].values()) == pytest.approx(1)
    assert report["tune"]["perplexity"] <= min(report["alone"].values()) + 1e-3
    mix = modlm.load(tmp_path / "mix")
    assert mix.perplexity(files.valid).perplexity == pytest.approx(report["tune"]["perplexity"], rel=1e-4)
    assert report["test"]["perplexity"] == pytest.approx(mix.perplexity(files.test).perplexity)
    assert mix.next_distribution("nila").sum() == pytest.approx(1)


def test_a_single_model_is_taken_apart_into_its_orders(ok: Modlm, files: Files, tmp_path: Path) -> None:
    report = ok("interpolate", files.model, "--tune", files.valid, "-o", tmp_path / "mix", "--json").json
    assert report["over"] == "orders"
    assert list(report["weights"]) == ["1-gram", "2-gram", "3-gram", "uniform"]


def test_both_and_constant_columns(ok: Modlm, files: Files, tmp_path: Path) -> None:
    call = ("interpolate", files.other, "--over", "both", "--extra", "uniform,unknown", "--tune", files.valid)
    report = ok(*call, "-o", tmp_path / "mix", "--json").json
    assert list(report["weights"]) == ["other", "other-orders/1-gram", "other-orders/2-gram", "uniform", "unknown"]
    assert "weight" in ok("inspect", tmp_path / "mix").out


def test_models_with_other_words_are_mixed_over_the_words_of_the_first(ok: Modlm, files: Files, tmp_path: Path) -> None:
    ok("ngram", files.valid, "-o", tmp_path / "small", "--order", 2, "--max-words", 5)
    ok("interpolate", files.model, tmp_path / "small", "--tune", files.test, "-o", tmp_path / "mix")
    mix = modlm.load(tmp_path / "mix")
    assert mix.vocabulary == modlm.load(files.model).vocabulary
    assert mix.next_distribution("nila").sum() == pytest.approx(1)


def test_orders_over_other_words_are_refused(modlm: Modlm, files: Files, tmp_path: Path) -> None:
    assert modlm("ngram", files.valid, "-o", tmp_path / "small", "--order", 2, "--max-words", 5).code == 0
    call = ("interpolate", files.model, tmp_path / "small", "--over", "orders", "--tune", files.test)
    outcome = modlm(*call, "-o", tmp_path / "mix")
    assert outcome.code == 1 and "the same vocabulary" in outcome.err and not (tmp_path / "mix").exists()


def test_the_same_model_twice_gets_two_names(ok: Modlm, files: Files, tmp_path: Path) -> None:
    report = ok("interpolate", files.model, files.model, "--tune", files.valid, "-o", tmp_path / "mix", "--json").json
    assert list(report["weights"]) == ["model", "model-2"]
