"""The script of the first day takes its steps in order, each command first without kernels; a stub plays `modlm`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STUB = """#!/bin/sh
echo "$NUMBA_CACHE_DIR $1" >> "$LOG"
"""


@pytest.mark.skipif(os.name == "nt", reason="the stub is a shell script")
def test_first_commands_find_no_kernels_and_second_ones_do(tmp_path: Path) -> None:
    stub, log, out = tmp_path / "modlm", tmp_path / "log", tmp_path / "report.md"
    stub.write_text(STUB)
    stub.chmod(0o755)
    command = [sys.executable, ROOT / "benchmarks" / "first_day.py", "--installed", stub, "--busy", "1", "--out", out]
    paths = {"PYTHONPATH": str(ROOT / "src"), "LOG": str(log)}
    subprocess.run(command, env=os.environ | paths, check=True, capture_output=True)
    kernels, names = zip(*(line.split() for line in log.read_text().splitlines()), strict=True)
    assert names == ("demo", "ngram", "ngram", "eval", "eval", "demo")
    assert kernels[1] == kernels[2] and kernels[3] == kernels[4] and len(set(kernels)) == 4
    rows = [line for line in out.read_text("utf-8").splitlines() if line.startswith("| ") and "`" in line]
    assert [row.split()[1] for row in rows] == ["first", "second", "first", "second", "`modlm"]
