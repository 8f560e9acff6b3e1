"""Every command that takes a model takes one with a net."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli.conftest import Files, Modlm

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def neural(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small hybrid with drawn weights, over the training text."""
    from nets.small_mixtures import mixture_of

    folder = tmp_path_factory.mktemp("neural") / "hybrid"
    mixture_of(files.train.read_text(encoding="utf-8").splitlines(), order=3).save(folder)
    return folder


def test_eval_says_what_score_says(neural: Path, files: Files, ok: Modlm) -> None:
    report = ok("eval", neural, files.test, "--by-frequency", "--train", files.train, "--json").json
    sentences = ok("score", neural, files.test, "--words", "--json").json
    total = sum(sentence["log_prob"] for sentence in sentences)
    assert report["log_likelihood"] == pytest.approx(total, rel=1e-6)
    assert report["by_frequency"][-1]["perplexity"] == pytest.approx(report["perplexity"])
    words = [word["log_prob"] for sentence in sentences for word in sentence["scores"]]
    assert len(words) == report["predictions"]
    assert report["perplexity"] == pytest.approx(np.exp(-np.mean(words)))


def test_a_document_is_one_text_for_score_too(
    files: Files, ok: Modlm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from modlm.cli import score as scoring
    from nets.small_mixtures import mixture_of

    lines = files.train.read_text(encoding="utf-8").splitlines()
    mixture_of(lines, order=2, context="document").save(tmp_path / "model")
    report = ok("eval", tmp_path / "model", files.test, "--json").json
    monkeypatch.setattr(scoring, "BLOCK_BYTES", 100)
    sentences = ok("score", tmp_path / "model", files.test, "--json").json
    assert sum(sentence["log_prob"] for sentence in sentences) == pytest.approx(report["log_likelihood"], rel=1e-6)


def test_next_names_the_delta_column(neural: Path, ok: Modlm) -> None:
    predictions = ok("next", neural, "the", "-k", 3, "--json").json
    assert len(predictions) == 3
    assert all(sum(p["shares"].values()) == pytest.approx(1) for p in predictions)
    assert all("delta" in p["shares"] and "3-gram" in p["shares"] for p in predictions)
    assert ok("next", neural, "", "--middle").out.startswith("word")


def test_generate_draws_the_same_for_the_same_seed(neural: Path, ok: Modlm) -> None:
    first, second = (ok("generate", neural, "--seed", 1, "--max-words", 8).out for _ in range(2))
    assert first == second


def test_inspect_says_what_the_net_is(neural: Path, ok: Modlm) -> None:
    about = ok("inspect", neural, "--verify", "--json").json
    assert about["model"] == "hybrid"
    assert about["net"]["body"] == "lstm"
    assert [block["name"] for block in about["blocks"]] == ["ngram", "uniform", "unknown", "delta"]
    assert "body lstm, hidden 6" in ok("inspect", neural).out


def test_compare_and_interpolate_mix_kinds(neural: Path, files: Files, ok: Modlm, tmp_path: Path) -> None:
    records = ok("compare", files.model, neural, files.test, "--json").json
    assert len(records) == 2
    mixed = tmp_path / "mixed"
    report = ok(
        "interpolate", files.model, neural, "--tune", files.valid, "-o", mixed, "--test", files.test, "--json"
    ).json
    assert report["tune"]["perplexity"] <= min(report["alone"].values()) + 1e-6
    again = ok("eval", mixed, files.test, "--json").json
    assert again["perplexity"] == pytest.approx(report["test"]["perplexity"], rel=1e-6)
    assert ok("next", mixed, "the", "-k", 1, "--json").json[0]["shares"]


def test_there_is_no_arpa_form(neural: Path, modlm: Modlm, tmp_path: Path) -> None:
    outcome = modlm("convert", neural, tmp_path / "net.arpa")
    assert outcome.code == 1
    assert "Only n-gram models" in outcome.err


def test_interpolate_gives_nets_a_cache_of_their_hidden_vectors(
    neural: Path, files: Files, ok: Modlm, modlm: Modlm, tmp_path: Path
) -> None:
    call = ("interpolate", neural, "--hidden-cache", 50, "--tune", files.valid, "-o", tmp_path / "mix", "--json")
    weights = ok(*call).json["weights"]
    assert list(weights) == ["hybrid", *(f"hybrid/hidden cache {theta}" for theta in (0.1, 0.3, 1.0))]
    assert sum(weights.values()) == pytest.approx(1)
    assert ok("certify", tmp_path / "mix", files.test, "--positions", 5, "--json").json["holds"]
    refused = modlm("interpolate", files.model, "--hidden-cache", 50, "--tune", files.valid, "-o", tmp_path / "other")
    assert refused.code == 1 and "no model here has one" in refused.err
