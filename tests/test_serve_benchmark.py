"""The benchmark of the server still runs, for a moment and on a tiny text; what it measures is not looked at."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

ROOT = Path(__file__).parents[1]


def tiny_text(path: Path, sentences: int) -> Path:
    rng = random.Random(sentences)
    words = [f"w{i}" for i in range(30)]
    path.write_text("".join(" ".join(rng.choices(words, k=rng.randrange(1, 9))) + "\n" for _ in range(sentences)))
    return path


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory of a process is read from /proc")
def test_the_report_has_every_measure(tmp_path: Path) -> None:
    train, test = tiny_text(tmp_path / "train.txt", 300), tiny_text(tmp_path / "test.txt", 40)
    paths = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH", ""))))
    command = [sys.executable, ROOT / "benchmarks" / "serve.py", "--ptb", train, test, "--quick", "--out"]
    report = tmp_path / "report.md"
    done = subprocess.run(
        [*command, report], env=os.environ | {"MODLM_DATA": "", "PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    page = report.read_text(encoding="utf-8")
    assert page == done.stdout and "its numbers mean nothing" in page
    for measure in ("sentence scores/s", "p99", "errors", "growth of memory"):
        assert f"| {measure} |" in page
    assert "| errors | 0 | 0 | yes |" in page
    assert str(tmp_path) not in page
