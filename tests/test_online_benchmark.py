"""The benchmark of columns that learn measures what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_what_online_columns_bring_is_measured(tmp_path: Path) -> None:
    lines = ["the cat sat on the mat", "the dog sat on the rug", "a cat saw the dog", "a dog saw a cat"] * 5
    for name in ("train.txt", "valid.txt", "test.txt"):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    paths = os.pathsep.join((str(ROOT / "src"), str(ROOT / "benchmarks"), os.environ.get("PYTHONPATH", "")))
    command = [sys.executable, ROOT / "benchmarks" / "online.py", "--text", "train.txt", "valid.txt", "test.txt"]
    done = subprocess.run(
        [*command, "--updates", "500", "--json", "found.json"],
        env=os.environ | {"PYTHONPATH": paths}, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    (model,) = found["models"]
    assert model["perplexity"]["+ online + cache"] < model["perplexity"]["alone"]
    assert model["gain"][-1]["to"] == model["predictions"] == 6 * 5 * 2 + 5 * 5 * 2 + 4 * 5
    assert [cost["order"] for cost in found["costs"]] == [1, 3, 5] and found["costs"][0]["words"] >= 500
    assert "| 5-grams, train.txt |" in done.stdout
