"""The benchmark of a pretrained model with counts still runs, on a tiny model; what it measures is not looked at."""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs modlm[neural]")
pytest.importorskip("transformers", reason="needs modlm[hf]")

ROOT = Path(__file__).parents[3]


def test_the_page_has_a_line_for_every_mixture(model_folder: Path, texts: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "natural").mkdir()
    for part, path in texts.items():
        (tmp_path / "natural" / f"tiny.{part}.txt.xz").write_bytes(lzma.compress(path.read_bytes()))
    paths = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH", ""))))
    command = [sys.executable, ROOT / "benchmarks" / "adapt.py", "--hf", model_folder, "--data", tmp_path]
    command += [
        "--corpora",
        "tiny",
        "--lines",
        "10",
        "--order",
        "2",
        "--window",
        "40",
        "--overlap",
        "10",
        "--online",
        "2",
        "--dtype",
        "float32",
        "--epochs",
        "2",
    ]
    command += ["--json", tmp_path / "numbers.json", "--out", tmp_path / "page.md"]
    settings = os.environ | {"PYTHONPATH": paths, "MODLM_CACHE": str(tmp_path / "cache")}
    run = subprocess.run([*map(str, command)], env=settings, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    numbers = json.loads((tmp_path / "numbers.json").read_text())["tiny"]["test"]
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    for mixture in ("lm alone", "static, lm and orders", "learned", "learned, with the text so far"):
        assert f"| {mixture} | {numbers[mixture]['perplexity']:.2f} |" in page
    assert "generate(), one prompt" in page
