"""The benchmark of cost against size still runs, on tiny texts; what it measures is not looked at."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.counts.spark_here import why_not

pytest.importorskip("matplotlib")

ROOT = Path(__file__).parents[1]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH", ""))))
    settings = os.environ | {"MODLM_DATA": "", "PYTHONPATH": paths}
    command = [sys.executable, ROOT / "benchmarks" / "scale.py", *map(str, arguments)]
    return subprocess.run(command, env=settings, capture_output=True, text=True)


def tiny_text(path: Path, sentences: int) -> Path:
    rng = random.Random(sentences)
    words = ["<unk>", *(f"w{i}" for i in range(30))]
    path.write_text("".join(" ".join(rng.choices(words, k=rng.randrange(1, 9))) + "\n" for _ in range(sentences)))
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with report, numbers and figure of one run."""
    place = tmp_path_factory.mktemp("scale")
    texts = tiny_text(place / "a.txt", 300), tiny_text(place / "b.txt", 90)
    done = run("--texts", *texts, "--sizes", "400", "0.8k", "--engines", "memory", "disk", "--out", place / "report.md")
    assert done.returncode == 0, done.stderr
    return place


def test_all_engines_are_measured_at_all_sizes_and_write_the_same(place: Path) -> None:
    runs = json.loads((place / "report.json").read_text(encoding="utf-8"))["runs"]
    assert [one["engine"] for one in runs] == ["memory", "disk"] * 2
    assert all(one["peak_bytes"] > 0 and one["output_bytes"] > 0 for one in runs)
    assert 400 <= runs[0]["words"] < 410 and 800 <= runs[2]["words"] < 810
    assert runs[0]["sha256"] == runs[1]["sha256"] != runs[2]["sha256"] == runs[3]["sha256"]


def test_the_report_names_exponents_and_shows_the_figure(place: Path) -> None:
    report = (place / "report.md").read_text(encoding="utf-8")
    assert "## Exponents" in report and "(report.svg)" in report and "**no**" not in report
    assert str(place) not in report and str(ROOT) not in report
    assert (place / "report.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_what_was_measured_is_kept_and_not_measured_again(tmp_path: Path) -> None:
    text, work = tiny_text(tmp_path / "a.txt", 100), tmp_path / "work"
    command = [
        "--texts",
        text,
        "--sizes",
        "300",
        "--engines",
        "memory",
        "--work",
        work,
        "--out",
        tmp_path / "report.md",
    ]
    assert run(*command).returncode == 0
    kept = work / "memory-300.json"
    kept.write_text(json.dumps(json.loads(kept.read_text()) | {"seconds": 12345.0}))
    for order, seconds_are_kept in ((5, True), (2, False)):
        assert run(*command, "--order", order).returncode == 0
        runs = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["runs"]
        assert (runs[0]["seconds"] == 12345.0) is seconds_are_kept


def test_without_texts_it_says_how_to_name_them() -> None:
    done = run()
    assert done.returncode == 2 and "--texts" in done.stderr and "MODLM_DATA" in done.stderr


def numbers_of_spark(*sizes: int) -> dict[str, Any]:
    """As if n-grams grew with the square root of the words, 100 of them at 10,000 words."""
    job = {"tasks": 1, "cpu_seconds": 0.36, "spilled_bytes": 0}
    job["peak_memory_bytes"] = 6e8
    runs = [
        {
            "engine": "spark", "words": size, "seconds": 1.0, "text_bytes": 6 * size, "vocabulary": 50,
            "ngrams": [int(size**0.5)], "output_bytes": 16 * int(size**0.5), "sha256": "",
            "jobs": {"counting": {**job, "shuffle_bytes": 20 * size, "written_bytes": 8 * size}},
        }
        for size in sizes
    ]  # fmt: skip
    return {"date": "today", "order": 5, "machine": ["a machine"], "runs": runs, "failed": []}


def test_a_page_is_filled_between_its_marks(tmp_path: Path) -> None:
    (tmp_path / "numbers.json").write_text(json.dumps(numbers_of_spark(10**4, 10**6)))
    page = tmp_path / "page.md"
    page.write_text((ROOT / "docs" / "scale.md").read_text(encoding="utf-8"), encoding="utf-8")
    for _ in range(2):  # a second time, in place of the first
        assert run("--read", tmp_path / "numbers.json", "--page", page).returncode == 0
    text = page.read_text(encoding="utf-8")
    assert text.count("**Constants**") == 1 and text.startswith("# Texts larger than a machine")
    assert "n-grams of all orders ≈ 1 · words^0.500 (from 2 sizes)" in text
    assert "| n-grams | 100 k | 1 M |" in text  # the square roots of 10^10 and 10^12
    assert "| shuffle bytes, all jobs | 200 GB | 20 TB |" in text
    # 0.36 core seconds a million words are 3,600 for 10^10
    assert "| core hours, without waiting for disks and network | 1 | 100 |" in text
    assert "| executor memory per core, if tasks stay as large | 1.3 GB | 1.3 GB |" in text  # 0.6 GB / 0.6 + 0.3 GB


@pytest.mark.skipif(bool(why_not()), reason=why_not())
@pytest.mark.xdist_group("spark")
def test_the_event_log_of_spark_is_read_by_the_titles_of_jobs(tmp_path: Path) -> None:
    text, out = tiny_text(tmp_path / "a.txt", 90), tmp_path / "report.md"
    done = run("--texts", text, "--sizes", "200", "--engines", "spark", "--master", "local[2]", "--out", out)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["runs"]
    assert {"counting words", "encoding", "checking", "counting n-grams"} <= set(found["jobs"])
    assert found["jobs"]["counting n-grams"]["shuffle_bytes"] > 0
