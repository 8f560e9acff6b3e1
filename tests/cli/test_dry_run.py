"""`--dry-run`: estimates near the truth, stated as such, and nothing written."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from modlm import NgramLM
from modlm.cli.app import run
from modlm.model.ngram import forecast


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Sentences of words by a power law, so that new n-grams come ever more rarely."""
    rng = random.Random(1)
    lines = (" ".join(f"w{int(rng.paretovariate(0.8)) % 5000}" for _ in range(12)) for _ in range(4000))
    (tmp_path / "text").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "text"


def told(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    assert run([str(argument) for argument in arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_text_within_the_sample_is_counted_exactly(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, "ngram", text, "-o", text.parent / "model", "--order", 3, "--dry-run", "--json")
    assert found["exact"] and found["words"] == 48_000
    assert found["ngrams"] == list(NgramLM.fit(text, order=3).described()["ngrams"])
    assert not (text.parent / "model").exists()


def test_a_sample_tells_about_how_many_ngrams_there_are(
    text: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecast.sampled, "__defaults__", (text.stat().st_size // 5,))
    found = told(capsys, "ngram", text, "-o", text.parent / "model", "--order", 3, "--dry-run", "--json")
    assert not found["exact"] and found["sample_words"] < 12_000
    assert found["words"] == pytest.approx(48_000, rel=0.05)
    true = sum(NgramLM.fit(text, order=3).described()["ngrams"])
    assert sum(found["ngrams"]) == pytest.approx(true, rel=0.15)
    assert found["disk"] == pytest.approx(forecast.DISK * sum(found["ngrams"]))
    assert run(["ngram", str(text), "-o", str(text.parent / "model"), "--dry-run"]) == 0
    assert "would count about" in capsys.readouterr().out


def test_what_cannot_be_sampled_is_refused(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    NgramLM.fit(["a b"], order=2).save(text.parent / "old")
    assert run(["ngram", str(text.parent / "old"), "-o", str(text.parent / "model"), "--dry-run"]) == 1
    assert "sample of texts" in capsys.readouterr().err


def test_a_training_is_tried_for_a_moment(
    text: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="needs modlm[neural]")
    from modlm.training import forecast as training

    monkeypatch.setattr(training, "SECONDS", 1.0)
    monkeypatch.setenv("MODLM_CACHE", str(text.parent / "cache"))
    run_folder = text.parent / "run"
    words = [
        "train",
        "--text",
        text,
        "--valid",
        text,
        "-o",
        run_folder,
        "--hidden",
        8,
        "--epochs",
        7,
        "--dry-run",
        "--json",
    ]
    found = told(capsys, *words)
    assert found["epochs"] == 7 and found["parameters"] > 1000
    spent = 7 * found["words"] / found["words_per_second"] + found["counting_seconds"]
    assert found["seconds"] == pytest.approx(spent)
    assert not run_folder.exists()
