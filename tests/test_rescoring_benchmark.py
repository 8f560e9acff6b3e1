"""The benchmark of rescoring still runs, on tiny lists; what it measures is not looked at."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "rescoring.py"


def test_every_model_has_two_lines(tmp_path: Path) -> None:
    rng = random.Random(5)
    lines = []
    for number in range(120):
        words = rng.choices("abcde", k=rng.randrange(1, 5))
        nbest = [{"hyp": " ".join(rng.choices("abcde", k=2)), "score": -1.0}, {"hyp": " ".join(words), "score": -2.0}]
        lines.append(json.dumps({"utt": f"s{number // 4}#{number % 4}", "ref": " ".join(words), "nbest": nbest}))
    (tmp_path / "lists").write_text("\n".join(lines) + "\n")
    paths = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH", ""))))
    command = [sys.executable, SCRIPT, tmp_path / "lists", "--work", tmp_path / "work", "--draws", "20"]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 3 + 2 * 4  # head, first pass and the like, four orders with and without places
    assert {path.name for path in (tmp_path / "work").iterdir()} >= {
        "train0.txt",
        "dev0.txt",
        "dev0.jsonl",
        "test0.jsonl",
    }
