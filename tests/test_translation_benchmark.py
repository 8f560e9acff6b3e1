"""The benchmark of conditional mixtures still runs, here on a tiny language; what it measures is not looked at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.small_pairs import write_pairs

pytest.importorskip("torch")
pytest.importorskip("sacrebleu")

ROOT = Path(__file__).parents[1]


@pytest.mark.long
def test_every_row_gives_a_line_of_the_report(tmp_path: Path) -> None:
    write_pairs(tmp_path)
    for part, name in {"train": "train", "dev": "valid", "test": "test"}.items():
        for side, kind in {"ja": "source", "en": "target"}.items():
            (tmp_path / f"{part}.{side}").write_bytes((tmp_path / f"{name}.{kind}").read_bytes())
    report, rows = tmp_path / "report.md", ["1", "3", "4", "6", "plain"]
    command = [sys.executable, ROOT / "benchmarks" / "translation.py", "--data", tmp_path, "--runs", tmp_path / "runs"]
    command += ["--names", "{part}.{side}", "--rows", *rows, "--pairs", "80", "--epochs", "1", "--hidden", "8"]
    settings = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*map(str, command), "--out", report], env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    numbers = json.loads(report.with_suffix(".json").read_text(encoding="utf-8"))
    assert [one["row"] for one in numbers] == rows
    assert all(one["valid"] > 1 and one["test"] > 1 for one in numbers)
    assert all(one["stopped"] == "epochs" and one["journal"] for one in numbers if one["row"] != "6")
    assert all(f"| {row} |" in report.read_text(encoding="utf-8") for row in rows)
    timed = subprocess.run([*map(str, command), "--speed"], env=settings, capture_output=True, text=True)
    assert timed.returncode == 0, timed.stderr
    assert [one["pairs"] for one in json.loads(timed.stdout)] == [80]
