"""The benchmark against KenLM still runs, here without KenLM and on a tiny text; what it measures is not looked at."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "against_kenlm.py"
NAMES = ("build", "query", "kernel", "python", "distribution", "open", "start", "encode")


def run(*arguments: str | Path, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """The script in a process of its own, without the texts that this machine may have."""
    paths = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH", ""))))
    settings = os.environ | {"MODLM_DATA": "", "PYTHONPATH": paths} | (environment or {})
    return subprocess.run([sys.executable, SCRIPT, *arguments], env=settings, capture_output=True, text=True)


def tiny_text(path: Path, sentences: int) -> Path:
    """Sentences of random words; some are `<unk>`, which the script renames."""
    rng = random.Random(sentences)
    words = ["<unk>", *(f"w{i}" for i in range(30))]
    lines = [" ".join(rng.choices(words, k=rng.randrange(9))) for _ in range(sentences)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, list[dict[str, object]]]]:
    """Report and numbers of one run of every measurement."""
    folder = tmp_path_factory.mktemp("benchmark")
    train, test = tiny_text(folder / "train.txt", 300), tiny_text(folder / "test.txt", 20)
    report, numbers = folder / "report.md", folder / "numbers.json"
    texts = ("--ptb", train, test, "--newswire", train, "--large", train)
    done = run(*texts, "--quick", "--out", report, "--json", numbers)
    assert done.returncode == 0, done.stderr
    return report.read_text(encoding="utf-8"), json.loads(numbers.read_text(encoding="utf-8"))


def test_every_measurement_gives_a_line_of_the_report(outcome: tuple[str, dict[str, list[dict[str, object]]]]) -> None:
    report, numbers = outcome
    assert {bar["measurement"] for bar in numbers["bars"]} == set(NAMES)
    assert all(f"| {name} |" in report for name in NAMES)


def test_what_needs_kenlm_is_left_out_with_a_note(outcome: tuple[str, dict[str, list[dict[str, object]]]]) -> None:
    report, numbers = outcome
    assert "KenLM's programs were not given" in report
    ratios = [bar for bar in numbers["bars"] if bar["unit"] == "×"]
    assert ratios and all(bar["value"] is None and bar["met"] is None for bar in ratios)


def test_the_report_shows_no_folder_of_this_machine(outcome: tuple[str, dict[str, list[dict[str, object]]]]) -> None:
    report, _ = outcome
    assert str(ROOT) not in report and "modlm-bench-" not in report
    assert "modlm ngram newswire.txt -o newswire.model" in report


def test_a_text_that_is_not_given_is_left_out_with_a_note(tmp_path: Path) -> None:
    done = run("--quick", "--only", "encode", "--out", tmp_path / "report.md")
    assert done.returncode == 0, done.stderr
    assert "No text was given to encode" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_a_folder_without_kenlm_is_refused_at_once(tmp_path: Path) -> None:
    done = run("--kenlm", tmp_path)
    assert done.returncode == 2
    assert "does not have lmplz" in done.stderr
