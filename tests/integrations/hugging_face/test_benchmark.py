"""The benchmarks of a pretrained model still run, on a tiny model; what they measure is not looked at."""

from __future__ import annotations

import json
import lzma
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs modlm[neural]")
pytest.importorskip("transformers", reason="needs modlm[hf]")

ROOT = Path(__file__).parents[3]


READING = ["--lines", "10", "--window", "40", "--overlap", "10", "--dtype", "float32"]


def run(script: str, texts: dict[str, Path], folder: Path, *given: object) -> tuple[dict[str, Any], str]:
    """The numbers and the page that a benchmark writes about a tiny corpus."""
    (folder / "natural").mkdir(exist_ok=True)
    for part, path in texts.items():
        (folder / "natural" / f"tiny.{part}.txt.xz").write_bytes(lzma.compress(path.read_bytes()))
    paths = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH", ""))))
    command = [sys.executable, ROOT / "benchmarks" / script, "--data", folder, *READING, *given]
    command += ["--json", folder / "numbers.json", "--out", folder / "page.md"]
    settings = os.environ | {"PYTHONPATH": paths, "MODLM_CACHE": str(folder / "cache")}
    done = subprocess.run([*map(str, command)], env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "numbers.json").read_text()), (folder / "page.md").read_text(encoding="utf-8")


def adapted(model: Path, texts: dict[str, Path], folder: Path) -> tuple[dict[str, Any], str]:
    given = ("--corpora", "tiny", "--order", "2", "--online", "2", "--epochs", "2")
    return run("adapt.py", texts, folder, "--hf", model, *given)


def test_the_page_has_a_line_for_every_mixture(model_folder: Path, texts: dict[str, Path], tmp_path: Path) -> None:
    numbers, page = adapted(model_folder, texts, tmp_path)
    for mixture in ("lm alone", "static, lm and orders", "learned", "learned, with the text so far"):
        assert f"| {mixture} | {numbers['tiny']['test'][mixture]['perplexity']:.2f} |" in page
    assert "generate(), one prompt" in page


def test_lora_goes_on_and_its_merged_model_can_be_adapted(
    model_folder: Path, texts: dict[str, Path], tmp_path: Path
) -> None:
    pytest.importorskip("peft", reason="benchmarks/lora.py needs peft")
    given = ("--corpus", "tiny", "--train-window", 32, "--rank", 2, "--rate", 0.01, "--work", tmp_path / "work")
    begun, _ = run("lora.py", texts, tmp_path, "--hf", model_folder, *given, "--points", 0, 0.005)
    found, _ = adapted(tmp_path / "work" / "merged", texts, tmp_path)
    last = begun["curve"][-1]
    assert found["tiny"]["test"]["lm alone"]["bits_per_byte"] == pytest.approx(last["test"], rel=1e-4)
    shutil.copy(tmp_path / "numbers.json", tmp_path / "both.json")
    beside = ("--points", 0, 0.005, 0.01, "--both", tmp_path / "both.json")
    longer, page = run("lora.py", texts, tmp_path, "--hf", model_folder, *given, *beside)
    assert longer["curve"][:2] == begun["curve"]
    assert longer["curve"][2]["steps"] > last["steps"] > 0
    assert f"| learned | {found['tiny']['test']['learned']['bits_per_byte']:.4f} |" in page
