"""Recipes from end to end on a small text: runs are done once, stand-ins are told, claims are checked."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from modlm.cli.app import run
from modlm.errors import ConfigError, InputError
from modlm.experiments.reproduce.compared_rows import (
    ComparedRow,
    compared_rows,
    holds,
    in_the_same_order,
    significant,
)
from modlm.experiments.reproduce.corpora import kept
from modlm.experiments.reproduce.recipe import Claim, Row, TextEntry
from modlm.experiments.reproduce.recipe_folder import Recipes
from modlm.experiments.reproduce.runs import Runs
from tiny_recipes import MINI, PUBLISHED, RUNS, Reproduce, runs_in

# ---- the command -----------------------------------------------------------------------------------------------------


def test_what_is_missing_is_run_once(place: Path, reproduce: Reproduce, monkeypatch: pytest.MonkeyPatch) -> None:
    first = reproduce("mini")
    assert {"label", "paper", "ours"} <= set(first[0])
    assert (first[0]["paper"], first[0]["ours"]) == (200, 200)
    assert first[1]["difference"] == pytest.approx(first[1]["ours"] / 20 - 1)
    runs = runs_in(place)
    valid = {entry.name: runs.results.find(entry).valid for entry in runs.recipes.in_order(["mixed"])}
    assert valid["mixed"] <= min(valid["kn"], valid["wsj-kn"])  # that is what the weights were tuned for
    monkeypatch.setattr(Runs, "carry_out", None)
    assert reproduce("mini") == first
    monkeypatch.delenv("MODLM_DATA")
    assert reproduce("mini") == first  # drawn again without any corpus


def test_a_dry_run_says_what_is_missing_and_how_long_it_takes(reproduce: Reproduce) -> None:
    assert [need["run"] for need in reproduce("mini", "--dry-run")] == ["sizes", "kn", "wsj-kn", "mixed"]
    reproduce("mini", "--row", "1")
    needs = reproduce("mini", "--dry-run")
    assert [need["run"] for need in needs] == ["sizes", "wsj-kn", "mixed"]
    assert needs[1]["minutes"] == 90 and needs[1]["why"] == "missing"


def test_runs_that_would_end_too_late_are_left_and_so_is_what_mixes_them(reproduce: Reproduce) -> None:
    rows = reproduce("mini", "--minutes", "30")
    assert [row["ours"] is None for row in rows] == [False, False, True, True]


def test_redraw_runs_nothing(reproduce: Reproduce) -> None:
    assert all(row["ours"] is None for row in reproduce("mini", "--redraw"))


def test_changed_settings_make_a_result_out_of_date(place: Path, reproduce: Reproduce) -> None:
    reproduce("mini", "--row", "1")
    path = place / "recipes" / "runs.toml"
    path.write_text(RUNS.replace("modified-kneser-ney", "witten-bell"), encoding="utf-8")
    needs = {need["run"]: need["why"] for need in reproduce("mini", "--dry-run")}
    assert needs["kn"] == "its settings changed" and "sizes" in needs


def test_the_list_names_every_recipe(reproduce: Reproduce) -> None:
    (entry,) = reproduce("--list")
    assert (entry["name"], entry["runs"], entry["missing"]) == ("mini", 4, 4)


def test_wrong_words_are_answered(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = ["--recipes", str(place / "recipes"), "--runs", str(place / "runs")]
    for words, said in (
        (["minni"], "mini"),
        ([], "--list"),
        (["mini", "--row", "9"], "Kneser-Ney"),
        (["mini", "--corpus", "wsj"], "NAME=PATH"),
        (["mini", "--corpus", "wjs=x"], "wsj"),
        (["mini", "--scale", "huge"], "full"),
    ):
        assert run(["reproduce", *words, *own]) == 1
        assert said in capsys.readouterr().err


# ---- corpora ---------------------------------------------------------------------------------------------------------


def test_a_stand_in_is_told_and_not_compared(place: Path, reproduce: Reproduce) -> None:
    rows = reproduce("mini")
    assert rows[2]["stand_ins"] == rows[3]["stand_ins"] == {"WSJ": "newswire"}
    assert rows[3]["paper"] == 15.0 and rows[3]["difference"] is None
    assert (place / "recipes/results/here/wsj-kn@ptb+newswire.json").is_file()


def test_the_original_is_another_run_than_its_stand_in(place: Path, reproduce: Reproduce) -> None:
    reproduce("mini")
    shutil.copy(place / "data/train.txt", place / "wsj.txt")
    given = ("--corpus", f"wsj={place / 'wsj.txt'}")
    assert [need["run"] for need in reproduce("mini", "--dry-run", *given)] == ["wsj-kn", "mixed"]
    rows = reproduce("mini", *given)
    assert rows[2]["ours"] == pytest.approx(rows[1]["ours"], rel=1e-6) and rows[2]["stand_ins"] == {}


def test_a_sample_and_the_rest_are_the_whole() -> None:
    lines = [b"%d\n" % number for number in range(10)]
    sample = list(kept(TextEntry(name="s", of=("x",), every=4), iter(lines)))
    rest = list(kept(TextEntry(name="r", of=("x",), without_every=4), iter(lines)))
    assert sample == [b"0\n", b"4\n", b"8\n"] and sorted(sample + rest) == lines
    assert list(kept(TextEntry(name="f", of=("x",), first=3), iter(lines))) == lines[:3]


def test_a_sample_of_stretches_keeps_neighbours_together() -> None:
    lines = [b"%d\n" % number for number in range(10)]
    sample = list(kept(TextEntry(name="s", of=("x",), every=2, stretch=3), iter(lines)))
    rest = list(kept(TextEntry(name="r", of=("x",), without_every=2, stretch=3), iter(lines)))
    assert sample == [*lines[:3], *lines[6:9]] and rest == [*lines[3:6], lines[9]]
    with pytest.raises(ConfigError, match="stretch must be at least 1 sentence, but is 0"):
        TextEntry(name="s", of=("x",), every=2, stretch=0)


def test_a_text_is_known_by_what_its_entry_says() -> None:
    entry = TextEntry(name="s", of=("x",), every=2, stretch=1)
    assert entry.stated() == {"name": "s", "of": ("x",), "every": 2}
    assert replace(entry, stretch=3).stated() == {**entry.stated(), "stretch": 3}


def test_texts_differ_by_scale(place: Path) -> None:
    for scale, lines in (("here", 200 + 38), ("full", 200 + 150)):
        files = runs_in(place, scale).corpora.files("both")
        assert sum(len(path.read_bytes().splitlines()) for path in files) == lines


def test_a_corpus_that_is_nowhere_says_how_to_give_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MODLM_DATA")
    with pytest.raises(InputError, match=r"MODLM_DATA.*--corpus newswire=PATH"):
        runs_in(place).corpora.files("wsj")


def test_a_folder_gives_all_parts_of_a_corpus(place: Path) -> None:
    corpora = runs_in(place, given={"ptb": place / "data"}).corpora
    assert [corpora.one("ptb", part).name for part in ("train", "valid", "test")] == [
        "train.txt",
        "valid.txt",
        "test.txt",
    ]


# ---- trained runs ----------------------------------------------------------------------------------------------------


def test_a_trained_run_is_collected_and_its_folder_used_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    runs = runs_in(place)
    entry = runs.recipes.runs["hybrid"]
    config = runs.config(entry)
    assert list(config.columns) == ["kn", "wsj"] and config.columns["wsj"].edge == "repeat"
    assert config.vocabulary.file.endswith(".vocabulary.txt")
    result = runs.carry_out(entry)
    assert result.by_frequency["all"]["perplexity"] == pytest.approx(result.test, rel=1e-4)
    assert 0 < result.dense_mass["test"] < 1 and result.journal[-1]["words"] == result.training["words"]
    assert runs.results.find(entry) == result

    runs.beside.path(entry).unlink()
    runs.own.path(entry).unlink()
    monkeypatch.setattr("modlm.training.run.train", None)
    again = runs.carry_out(entry)
    assert (again.test, again.journal) == (result.test, result.journal)


# ---- claims ----------------------------------------------------------------------------------------------------------


def answer(name: str, paper: float | None, ours: float | None, **stand_ins: str) -> ComparedRow:
    row = Row(row=name, corpus="ptb", run="kn")
    return ComparedRow(row, paper, ours, stand_ins, "PTB", 1)


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        (Claim(says="", lower=("b",), than=("a",), by=0.1), True),
        (Claim(says="", lower=("b",), than=("a",), by=0.3), False),
        (Claim(says="", rows=("a",), at_most=100.0), True),
        (Claim(says="", rows=("a",), at_most=99.0), False),
        (Claim(says="", rows=("a",), within=0.007), True),
        (Claim(says="", rows=("b",), within=0.007), False),
        (Claim(says="", rows=("a",), decimals=0), True),
        (Claim(says="", rows=("b",), significant=1), False),
        (Claim(says="", rows=("a", "b"), order=True), True),
        (Claim(says="", rows=("c",), at_most=1.0), None),
        (Claim(says="", rows=("d",), within=0.1), None),
    ],
)
def test_claims(claim: Claim, found: bool | None) -> None:
    rows = [
        answer("a", 99.6, 100.0),
        answer("b", 70.0, 80.0),
        answer("c", 5.0, None),
        answer("d", 5.0, 5.0, WSJ="news"),
    ]
    assert holds(claim, rows) is found


def test_orders_and_digits() -> None:
    assert in_the_same_order([(3.0, 30.0), (1.0, 10.0), (2.0, 20.0)])
    assert not in_the_same_order([(1.0, 10.0), (2.0, 9.0)])
    assert [significant(value, 2) for value in (887_521, 3_370, 0.0)] == [890_000, 3_400, 0]


def test_a_row_without_a_published_number_is_refused(place: Path) -> None:
    published = place / "recipes" / "published.toml"
    published.write_text(PUBLISHED.replace('unprinted = "made up for a test"\n', ""), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"published.toml.*'2'"):
        Recipes.open(place / "recipes")


def test_a_run_is_like_another_in_its_settings_only(place: Path) -> None:
    path = place / "recipes" / "runs.toml"
    like = '[lstm]\nkind = "train"\nlike = "hybrid"\npreset = "paper/ptb-lstm"\ncorpus = "ptb"\n'
    own = "settings = { net = { hidden = 8 } }\n"
    path.write_text(RUNS + like + own, encoding="utf-8")
    found = Recipes.open(place / "recipes").runs["lstm"]
    assert found.settings == {"folds": 2, "net": {"hidden": 8}, "schedule": {"epochs": 1.0}}
    assert (found.preset, found.text, dict(found.columns)) == ("paper/ptb-lstm", "", {})
    chained = '[again]\nkind = "train"\nlike = "lstm"\npreset = "paper/ptb-lstm"\ncorpus = "ptb"\n'
    path.write_text(RUNS + like + own + chained, encoding="utf-8")
    assert Recipes.open(place / "recipes").runs["again"].settings == found.settings
    path.write_text(RUNS + like.replace("hybrid", "again") + chained, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"runs.toml: runs are like each other in a circle: lstm -> again -> lstm"):
        Recipes.open(place / "recipes")
    path.write_text(RUNS + like.replace("hybrid", "hybird"), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"runs.toml: lstm.like: 'hybird' is unknown. Did you mean 'hybrid'"):
        Recipes.open(place / "recipes")


@pytest.mark.parametrize(("schedule", "other_run"), [("constant", False), ("cosine", True)])
def test_more_epochs_are_the_same_run_unless_the_rate_falls_with_them(
    place: Path, schedule: str, other_run: bool
) -> None:
    """A rate that falls to the end of a run depends on where that is, so such a run cannot go on to another end."""
    marks = set()
    for epochs in (1.0, 2.0):
        settings = f"optimiser = {{ schedule = '{schedule}' }}, schedule = {{ epochs = {epochs} }}"
        (place / "recipes" / "runs.toml").write_text(RUNS.replace("schedule = { epochs = 1.0 }", settings))
        runs = runs_in(place)
        marks.add(runs.results.digest(runs.recipes.runs["hybrid"], limits=False))
    assert len(marks) == (2 if other_run else 1)


def test_answers_divide_by_another_row(place: Path) -> None:
    recipe = place / "recipes" / "mini.toml"
    recipe.write_text(MINI.replace('run = "mixed"', 'run = "kn"\nover = "1"'), encoding="utf-8")
    runs = runs_in(place)
    runs.carry_out(runs.recipes.runs["kn"])
    last = compared_rows(runs.recipes.table("mini"), runs)[-1]
    assert (last.paper, last.ours) == (15.0 / 20.0, 1.0)
