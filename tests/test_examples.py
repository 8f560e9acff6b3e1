"""Every file in examples/ runs as its docstring says."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def texts(tmp_path: Path) -> list[str]:
    """Three small texts."""
    rng, paths = random.Random(1), []
    for name, lines in (("train", 120), ("valid", 20), ("test", 20)):
        words = [
            " ".join(rng.choices("the cat dog saw sat on a mat rug".split(), k=rng.randint(2, 8))) for _ in range(lines)
        ]
        paths.append(tmp_path / f"{name}.txt")
        paths[-1].write_text("\n".join(words) + "\n")
    return [str(path) for path in paths]


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_it_runs(name: str, texts: list[str], tmp_path: Path) -> None:
    environment = {**os.environ, "MODLM_CACHE": str(tmp_path / "cache"), "MODLM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *texts], capture_output=True, text=True, env=environment, cwd=tmp_path
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "perplexity" in done.stdout or "the column" in done.stdout
