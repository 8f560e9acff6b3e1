"""The benchmarks of nets still run, on a tiny text; what they measure is not looked at."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).parents[1]
RATIOS = {
    "train.py": [
        "hybrid / deltas only",
        "hybrid, exact block dropout / hybrid",
        "hybrid, bfloat16 products / hybrid",
        "deltas only / plain PyTorch LSTM",
    ],
    "infer.py": [
        "FF-interpolated, C / heuristic KN",
        "LSTM-interpolated, CR / heuristic KN",
        "hybrid / plain LSTM",
        "heuristic KN / compiled KN",
    ],
    "rows.py": ["10 folds / one count"],
}


def run(script: str, *arguments: object, cache: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH", ""))))
    settings = os.environ | {"MODLM_DATA": "", "MODLM_CACHE": str(cache), "PYTHONPATH": paths}
    command = [sys.executable, ROOT / "benchmarks" / script, *map(str, arguments)]
    return subprocess.run(command, env=settings, capture_output=True, text=True)


def tiny_text(path: Path, sentences: int) -> Path:
    rng = random.Random(sentences)
    words = [f"w{i}" for i in range(30)]
    path.write_text("".join(" ".join(rng.choices(words, k=rng.randrange(1, 9))) + "\n" for _ in range(sentences)))
    return path


@pytest.mark.parametrize("script", list(RATIOS))
def test_a_quick_run_prints_every_ratio(script: str, tmp_path: Path) -> None:
    texts = tiny_text(tmp_path / "train.txt", 300), tiny_text(tmp_path / "test.txt", 20)
    numbers = tmp_path / "numbers.json"
    done = run(script, "--ptb", *texts, "--quick", "--hidden", 4, "--json", numbers, cache=tmp_path / "cache")
    assert done.returncode == 0, done.stderr
    found = json.loads(numbers.read_text(encoding="utf-8"))
    assert [ratio["what"] for ratio in found["ratios"]] == RATIOS[script]
    assert all(ratio["value"] > 0 for ratio in found["ratios"])
    assert all(f"| {what} | " in done.stdout for what in RATIOS[script])
    assert "its numbers mean nothing" in done.stdout and str(tmp_path) not in done.stdout


def test_without_texts_it_says_how_to_name_them(tmp_path: Path) -> None:
    done = run("train.py", cache=tmp_path)
    assert done.returncode == 2 and "--ptb" in done.stderr and "MODLM_DATA" in done.stderr


def test_two_versions_are_told_apart(tmp_path: Path) -> None:
    texts = [tmp_path / "train.txt", tmp_path / "test.txt"]
    for text in texts:
        text.write_text("a b c\nb c a\n" * 20)
    given = ("--ptb", *texts, "--rounds", 1, "--only", "modlm --help")  # other tasks would compile kernels for a minute
    done = run("before_after.py", ROOT, ROOT, *given, cache=tmp_path)
    found = {row.split(" | ")[0]: row.split(" | ")[1:] for row in done.stdout.removeprefix("| ").split("\n| ")[1:]}
    assert list(found) == ["modlm --help", "modlm --help, peak"], done.stderr
    for unit, before, after, ratio, *_ in found.values():
        assert unit in ("s", "MB") and float(ratio) == pytest.approx(float(after) / float(before), rel=0.01)
