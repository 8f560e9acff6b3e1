"""The shipped recipes drawn from results that are made up: tables, figures and the page, without a run or a corpus."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

from modlm.cli.app import run
from modlm.experiments.reproduce.corpora import Corpora
from modlm.experiments.reproduce.recipe_folder import Recipes
from modlm.experiments.reproduce.results import Results, RunResult

FOLDER = Path(__file__).parents[2] / "recipes" / "neubig2016"
JOURNAL = [
    {
        "words": 500_000 * step,
        "epoch": step / 2,
        "test_perplexity": 300.0 / step,
        "test_dense_mass": 1 / step,
        "best": True,
    }
    for step in (1, 2, 3)
]


@pytest.fixture
def recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shipped recipes in which every run has a result; the PTB ones are the paper's."""
    monkeypatch.delenv("MODLM_DATA", raising=False)
    monkeypatch.setenv("MODLM_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "recipes"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("results"))
    found = Recipes.open(folder)
    results = Results(found.results, Corpora(found, tmp_path / "texts", given={}))
    paper = {
        row.run: row.published
        for recipe in found.tables.values()
        for row in recipe.rows
        if row.published and row.measure == "test"
    }
    values = {
        row.measure.partition(".")[2]: row.published or 1.0
        for recipe in reversed(found.tables.values())
        for row in reversed(recipe.rows)
        if row.measure.startswith("values")
    }
    for entry in found.runs.values():
        number = paper.get(entry.name) or 100.0
        result = RunResult(
            run=entry.name,
            scale="here",
            kind=entry.kind,
            digest=results.digest(entry),
            corpora={},
            valid=number,
            test=number,
            dense_mass={"test": 0.25},
            by_frequency={key: {"perplexity": number, "predictions": 10} for key in ("10", "100", "1000", "all")},
            values=values if entry.kind in ("sizes", "speed") else {},
            training={"words": 1000, "seconds": 60.0, "parameters": 1_000_000} if entry.kind == "train" else {},
            journal=JOURNAL if entry.kind == "train" else [],
            made={"machine": "a machine", "seconds": 60.0, "date": "2026-01-02"},
        )
        results.write(entry, result)
        assert results.find(entry) == result
    return folder


def test_a_row_of_table_3_for_a_program(recipes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "table3", "--row", "5", "--json", "--recipes", str(recipes)]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["paper"], row["ours"], row["corpus"]) for row in rows] == [
        (95.3, 95.3, "PTB"),
        (104.5, 104.5, "abstracts"),
    ]
    assert [row["difference"] for row in rows] == [0, None]


def test_a_table_for_people_has_three_columns_and_verdicts(recipes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "table2", "--recipes", str(recipes)]) == 0
    out = capsys.readouterr().out
    assert "paper" in out and "ours" in out and "difference" in out
    assert "abstracts for ASPEC" in out and "yes      every cell on PTB" in out and "NO " not in out


def test_speeds_are_shown_as_shares(recipes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "speed", "--json", "--recipes", str(recipes)]) == 0
    rows = {row["row"]: row["paper"] for row in json.loads(capsys.readouterr().out)}
    assert rows == pytest.approx(
        {"LSTM LM": 0.01, "LSTM-interpolated": 11 / 140, "FF-interpolated": 58 / 140, "heuristic KN": 1}
    )


def test_all_writes_the_page_and_its_figures(recipes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert run(["reproduce", "all", "--redraw", "--recipes", str(recipes), "-o", str(tmp_path / "docs")]) == 0
    page = (tmp_path / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert "## Table 3" in page and "**newswire** stands in" in page
    assert "hours in all, on a machine (2026-01-02).\n" in page and "| paper | ours | difference |\n" in page
    assert "Not run yet" not in page
    for name in ("convergence", "low-frequency", "larger-data"):
        figure = tmp_path / "docs" / "reproduction" / f"{name}.svg"
        assert f"(reproduction/{name}.svg)" in page
        assert ElementTree.fromstring(figure.read_text(encoding="utf-8")).tag.endswith("svg")
    before = (tmp_path / "docs" / "reproduction" / "convergence.svg").read_bytes()
    assert run(["reproduce", "convergence", "--recipes", str(recipes), "-o", str(tmp_path / "docs")]) == 0
    assert (tmp_path / "docs" / "reproduction" / "convergence.svg").read_bytes() == before


def test_the_page_shows_seeds_and_every_machine_with_its_days(recipes: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = Recipes.open(recipes)
    results = Results(found.results, Corpora(found, tmp_path / "texts", given={}))
    first, second = (found.runs["ptb-hybrid"].with_seed(seed) for seed in (1, 2))
    shown = results.find(first)
    assert shown is not None and shown.test == 95.3
    made = {"machine": "another", "seconds": 60.0}  # as results were before days were recorded
    results.write(second, replace(shown, digest=results.digest(second), test=97.3, made=made))
    assert run(["reproduce", "all", "--redraw", "--recipes", str(recipes), "-o", str(tmp_path / "docs")]) == 0
    page = (tmp_path / "docs" / "reproduction.md").read_text(encoding="utf-8")
    # The mean of 95.3 and 97.3, and the root of 1 + 1 over 2 - 1.
    assert "| (5) KN and δ, LSTM +BlDO | PTB | 95.3 | 96.3 ± 1.4 (2 seeds) | +1.0 % |\n" in page
    assert "| ptb-hybrid, seed 2 | ptb | 95.30 | 97.30 |" in page
    assert "on a machine (2026-01-02); another (days not recorded).\n" in page


def test_a_page_of_reruns_has_the_shipped_numbers_beside_them(recipes: Path, tmp_path: Path) -> None:
    again = ["reproduce", "all", "--redraw", "--rerun", "--recipes", str(recipes), "-o", str(tmp_path / "docs")]
    assert run(again) == 0
    page = (tmp_path / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert "`modlm reproduce all --rerun`" in page
    assert "| | data | paper | ours | difference | shipped |\n|---|---|--:|--:|--:|--:|\n" in page
    assert "| (5) KN and δ, LSTM +BlDO | PTB | 95.3 | – | – | 95.3 |\n" in page


def test_a_page_without_results_says_what_is_missing(recipes: Path, tmp_path: Path) -> None:
    shutil.rmtree(recipes / "results")
    assert run(["reproduce", "all", "--redraw", "--recipes", str(recipes), "-o", str(tmp_path / "docs")]) == 0
    page = (tmp_path / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert "Not run yet" in page and "not yet" in page and "svg" not in page
