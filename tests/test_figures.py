"""Figures are drawn from committed numbers, and those that are committed are what is drawn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("matplotlib", reason="figures are drawn with the extra figures")

import matplotlib
import numpy as np
from tools import figures as drawn

from modlm.experiments.reproduce import figures

ROOT = Path(__file__).parents[1]
PINNED = "matplotlib==" + matplotlib.__version__ + "\n" in (ROOT / "constraints.txt").read_text("utf-8")


def test_the_example_of_the_mixture_is_one() -> None:
    table = np.column_stack([*drawn.NGRAMS.values(), np.eye(len(drawn.WORDS))])
    assert np.allclose(table.sum(axis=0), 1) and np.isclose(sum(drawn.LAMBDA), 1)
    assert drawn.mixture() == (drawn.IMAGES / "mixture.svg").read_text("utf-8")


@pytest.mark.parametrize("name", ["speed", "pruning", "online", "translation"])
def test_a_committed_figure_is_what_the_reports_say(name: str) -> None:
    with matplotlib.rc_context(figures.STYLE):
        text = getattr(drawn, name)()
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert "#ffffff" not in text  # no background of its own, which would glare where pages are dark
    if PINNED:
        assert text == (drawn.IMAGES / f"{name}.svg").read_text("utf-8"), "run: make figures"


def test_a_row_that_a_report_does_not_have_is_named() -> None:
    with pytest.raises(SystemExit, match=r"no row build \| nothing"):
        drawn.measured(drawn.BUILD, "build", "nothing")


def test_pruning_is_measured(tmp_path: Path) -> None:
    lines = ["the cat sat on the mat", "the dog sat on the rug", "a cat saw the dog", "a dog saw a cat"] * 3
    for name in ("train.txt", "test.txt"):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    paths = os.pathsep.join((str(ROOT / "src"), str(ROOT / "benchmarks"), os.environ.get("PYTHONPATH", "")))
    command = [sys.executable, ROOT / "benchmarks" / "pruning.py", "--ptb", "train.txt", "test.txt", "--order", "3"]
    done = subprocess.run(
        [*command, "--quick", "--json", "found.json"],
        env=os.environ | {"PYTHONPATH": paths}, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    whole, pruned = json.loads((tmp_path / "found.json").read_text())["models"]
    assert (
        pruned["options"] == "--prune 0,2,3" and pruned["ngrams"] < whole["ngrams"] and pruned["bytes"] < whole["bytes"]
    )
    assert done.stdout.count("\n") == 4
