"""Which results were shipped and which were made here; doing it all again here; several seeds."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from modlm.cli.app import run
from modlm.experiments.reproduce import runs as running
from modlm.experiments.reproduce.compared_rows import compared_rows, holds
from modlm.experiments.reproduce.recipe import Claim, RunEntry
from modlm.experiments.reproduce.results import RunResult, days
from modlm.experiments.reproduce.runs import Runs
from tiny_recipes import MINI, Reproduce, runs_in

HYBRID = '[[rows]]\nrow = "4"\nwhat = "trained"\ncorpus = "ptb"\nrun = "hybrid"\n'
INTERRUPTED = 130

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def command(place: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command as people call it: its exit code and what it prints."""

    def call(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        code = run(["reproduce", *words, "--recipes", str(place / "recipes"), "--runs", str(place / "runs")])
        return code, capsys.readouterr().out

    return call


@pytest.fixture
def shipped(place: Path) -> dict[str, bytes]:
    """Every run of the small table has a result of January 2, made elsewhere; the files by name."""
    runs = runs_in(place, today=lambda: date(2026, 1, 2))
    for need in runs.needs(["sizes", "mixed"]):
        runs.carry_out(need.run)
    shutil.rmtree(place / "runs")
    return contents(place / "recipes" / "results")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*.json")}


def made_up(runs: Runs, entry: RunEntry, test: float) -> None:
    """A result beside the recipes that nobody made."""
    result = RunResult(run=entry.name, scale="here", kind=entry.kind, digest=runs.results.digest(entry), test=test)
    runs.beside.write(entry, result)


def with_a_trained_row(place: Path) -> None:
    (place / "recipes" / "mini.toml").write_text(MINI + HYBRID, encoding="utf-8")


# ---- shipped, or made here -------------------------------------------------------------------------------------------


def test_shipped_results_are_said_to_be(shipped: dict[str, bytes], command: Command) -> None:
    _, out = command("mini")
    # The estimates of runs.toml: 90 minutes, and three times the 0.2 that is meant where nothing stands.
    assert "4 results of 2026-01-02, shipped with the recipes; --rerun trains here, about 91m on two cores\n" in out
    _, out = command("mini", "--row", "1")
    assert "1 result of 2026-01-02, shipped with the recipes; --rerun trains here, about 12s on two cores\n" in out


def test_what_was_made_just_now_needs_no_line_and_later_it_was_made_here(command: Command) -> None:
    _, out = command("mini", "--row", "1")
    assert "(1) Kneser-Ney" in out and "shipped" not in out and "made here" not in out
    _, out = command("mini", "--row", "1")
    assert f"1 result of {date.today().isoformat()}, made here before\n" in out and "shipped" not in out


def test_programs_are_told_where_and_when(shipped: dict[str, bytes], reproduce: Reproduce, place: Path) -> None:
    (row,) = reproduce("mini", "--row", "1")
    assert (row["made"], row["date"]) == ("shipped", "2026-01-02") and row["machine"].endswith("cores")
    (place / "recipes/results/here/kn@ptb.json").unlink()
    (row,) = reproduce("mini", "--row", "1", "--redraw")
    assert (row["made"], row["date"], row["machine"], row["seeds"]) == (None, None, None, 0)
    (row,) = reproduce("mini", "--row", "1")
    assert (row["made"], row["date"]) == ("here", date.today().isoformat())


def test_a_result_without_a_day_gets_none(shipped: dict[str, bytes], command: Command, place: Path) -> None:
    path = place / "recipes/results/here/kn@ptb.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    del found["made"]["date"]
    path.write_text(json.dumps(found), encoding="utf-8")
    assert "\n1 result, shipped with the recipes; " in command("mini", "--row", "1")[1]
    assert "\n4 results of 2026-01-02 and days not recorded, shipped with the recipes; " in command("mini")[1]


def test_days_from_the_first_to_the_last() -> None:
    def on(*dates: str) -> Iterator[RunResult]:
        return (RunResult(run="", scale="", kind="", digest="", made={"date": day} if day else {}) for day in dates)

    assert days(on("2026-03-01", "2025-12-31", "2026-01-02")) == "2025-12-31 to 2026-03-01"
    assert [days(on("2026-03-01", "2026-03-01")), days(on("")), days(on())] == ["2026-03-01", "", ""]


# ---- again, here -----------------------------------------------------------------------------------------------------


def test_a_rerun_shows_both_numbers_and_leaves_what_was_shipped(
    place: Path, shipped: dict[str, bytes], reproduce: Reproduce, command: Command
) -> None:
    true = json.loads(shipped["kn@ptb.json"])["test"]
    path = place / "recipes/results/here/kn@ptb.json"
    path.write_text(re.sub(r'("test": )[\d.]+', r"\g<1>7.0", path.read_text(encoding="utf-8")), encoding="utf-8")
    before = contents(place / "recipes")
    rows = reproduce("mini", "--rerun")
    assert contents(place / "recipes") == before
    assert sorted(contents(place / "runs" / "results")) == sorted(before)
    assert (rows[1]["ours"], rows[1]["shipped"], rows[1]["made"]) == (true, 7.0, "here")
    _, out = command("mini", "--rerun", "--row", "1")
    name, *_, ours, percent, _, beside = out.splitlines()[3].split()
    assert (name, ours, beside) == ("(1)", f"{true:.1f}", "7.0") and percent[0] in "+−"
    (row,) = reproduce("mini", "--row", "1")
    assert (row["ours"], row["shipped"], row["made"]) == (7.0, None, "shipped")
    assert "--rerun shows those made here" in command("mini", "--row", "1")[1]


def test_a_dry_rerun_lists_everything_with_times(shipped: dict[str, bytes], reproduce: Reproduce) -> None:
    assert reproduce("mini", "--dry-run") == []
    needs = reproduce("mini", "--dry-run", "--rerun")
    assert [(need["run"], need["minutes"]) for need in needs] == [
        ("sizes", 0.2),
        ("kn", 0.2),
        ("wsj-kn", 90.0),
        ("mixed", 0.2),
    ]
    assert {need["why"] for need in needs} == {"not made here yet"}


def test_an_interrupted_rerun_goes_on(
    shipped: dict[str, bytes], command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def watched(doing: Any) -> Any:
        def call(runs: Runs, entry: RunEntry) -> Any:
            done.append(entry.name)
            if entry.name == "wsj-kn" and done.count("wsj-kn") == 1:
                raise KeyboardInterrupt
            return doing(runs, entry)

        return call

    monkeypatch.setattr(running, "DOING", {kind: watched(doing) for kind, doing in running.DOING.items()})
    assert command("mini", "--rerun")[0] == INTERRUPTED
    assert command("mini", "--rerun")[0] == 0
    assert done == ["sizes", "kn", "wsj-kn", "wsj-kn", "mixed"]
    assert command("mini", "--rerun")[0] == 0
    assert len(done) == 5
    assert "All of it was made here" in command("mini", "--rerun", "--dry-run")[1]


def test_a_training_that_was_interrupted_in_a_rerun_goes_on(
    place: Path, reproduce: Reproduce, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from modlm.training import run as training

    with_a_trained_row(place)
    made_up(runs_in(place), runs_in(place).recipes.runs["hybrid"], 7.0)
    begun: list[bool] = []
    real = training.train

    def interrupted_at_first(*places: Any, resume: bool, **options: Any) -> Any:
        def stop(line: Any) -> None:
            if len(begun) == 1:
                raise KeyboardInterrupt

        begun.append(resume)
        return real(*places, resume=resume, watch=stop, **options)

    monkeypatch.setattr(training, "train", interrupted_at_first)
    assert command("mini", "--row", "4", "--rerun")[0] == INTERRUPTED
    (need,) = reproduce("mini", "--row", "4", "--rerun", "--dry-run")
    assert need["why"] == "goes on"
    (row,) = reproduce("mini", "--row", "4", "--rerun")
    assert begun == [False, True] and row["shipped"] == 7.0 != row["ours"]


def test_what_a_rerun_made_is_taken_where_the_recipes_lack_it(
    shipped: dict[str, bytes], place: Path, reproduce: Reproduce, monkeypatch: pytest.MonkeyPatch
) -> None:
    reproduce("mini", "--row", "1", "--rerun")
    (place / "recipes/results/here/kn@ptb.json").unlink()
    monkeypatch.setattr(running, "DOING", {})
    (row,) = reproduce("mini", "--row", "1")
    assert (row["made"], row["ours"]) == ("here", json.loads(shipped["kn@ptb.json"])["test"])


# ---- seeds -----------------------------------------------------------------------------------------------------------


def with_three_seeds(place: Path) -> None:
    """10, 12 and 17: their mean is 13, their deviations from it -3, -1 and 4, whose squares sum to 26, halved 13."""
    with_a_trained_row(place)
    runs = runs_in(place)
    for seed, test in ((1, 10.0), (2, 12.0), (3, 17.0)):
        made_up(runs, runs.recipes.runs["hybrid"].with_seed(seed), test)


def test_seeds_that_are_there_are_shown_as_mean_and_deviation(
    place: Path, reproduce: Reproduce, command: Command
) -> None:
    with_three_seeds(place)
    (row,) = reproduce("mini", "--row", "4")
    assert (row["ours"], row["seeds"]) == (13.0, 3) and row["sd"] == pytest.approx(math.sqrt(13))
    assert " 13.0 ± 3.6 (3 seeds) " in command("mini", "--row", "4")[1]
    assert "\n3 results, shipped with the recipes; " in command("mini", "--row", "4")[1]


def test_claims_are_judged_on_means(place: Path) -> None:
    with_three_seeds(place)
    runs = runs_in(place)
    rows = compared_rows(runs.recipes.table("mini"), runs)
    assert holds(Claim(says="", rows=("4",), at_most=13.0), rows) is True
    assert holds(Claim(says="", rows=("4",), at_most=12.9), rows) is False


def test_a_seed_of_other_settings_does_not_count(place: Path, reproduce: Reproduce) -> None:
    with_three_seeds(place)
    folder = place / "recipes/results/here"
    shutil.copy(folder / "hybrid@ptb+newswire.json", folder / "hybrid@ptb+newswire#seed3.json")
    (row,) = reproduce("mini", "--row", "4")
    assert (row["ours"], row["seeds"], row["sd"]) == (11.0, 2, pytest.approx(math.sqrt(2)))


def test_only_what_is_trained_is_done_from_several_seeds(place: Path, reproduce: Reproduce) -> None:
    with_a_trained_row(place)
    needs = reproduce("mini", "--seeds", "3", "--dry-run")
    assert [(need["run"], need["seed"]) for need in needs] == [
        *(("sizes", 1), ("kn", 1), ("wsj-kn", 1), ("mixed", 1)),
        *(("hybrid", 1), ("hybrid", 2), ("hybrid", 3)),
    ]


def test_a_static_mixture_needs_one_seed_of_its_members(place: Path, reproduce: Reproduce) -> None:
    path = place / "recipes" / "runs.toml"
    text = path.read_text(encoding="utf-8").replace('members = ["kn", "wsj-kn"]', 'members = ["kn", "hybrid"]')
    path.write_text(text, encoding="utf-8")
    needs = reproduce("mini", "--row", "3", "--seeds", "3", "--dry-run")
    assert [(need["run"], need["seed"]) for need in needs] == [("kn", 1), ("mixed", 1), ("hybrid", 1)]


def test_a_seed_is_trained_in_a_folder_of_its_own(place: Path, command: Command, reproduce: Reproduce) -> None:
    pytest.importorskip("torch")
    with_a_trained_row(place)
    rows = reproduce("mini", "--row", "4", "--seeds", "2")
    folder = place / "recipes/results/here"
    found = [
        json.loads((folder / f"hybrid@ptb+newswire{seed}.json").read_text(encoding="utf-8"))["test"]
        for seed in ("", "#seed2")
    ]
    assert rows[0]["ours"] == pytest.approx(sum(found) / 2) and rows[0]["sd"] > 0
    runs = runs_in(place)
    entry = runs.recipes.runs["hybrid"]
    assert [runs.config(entry.with_seed(seed)).seed for seed in (1, 2)] == [1, 2]
    assert runs.folder(entry) != runs.folder(entry.with_seed(2)) and runs.folder(entry.with_seed(2)).is_dir()
