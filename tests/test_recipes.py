"""The recipes that come with the package: they parse at both scales, and every number has its source."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from modlm.experiments.reproduce.recipe import SCALES
from modlm.experiments.reproduce.recipe_folder import ORDER, Recipes
from modlm.training.config_file import find_table, merged, run_config

FOLDER = Path(__file__).parents[1] / "recipes" / "neubig2016"
PUBLISHED = tomllib.loads((FOLDER / "published.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module", params=SCALES)
def recipes(request: pytest.FixtureRequest) -> Recipes:
    return Recipes.open(FOLDER, request.param)


def test_every_table_and_figure_of_the_paper_has_a_recipe(recipes: Recipes) -> None:
    assert tuple(recipes.tables) == ORDER


def test_every_recipe_answers_in_one_sentence_whether_it_reproduced(recipes: Recipes) -> None:
    for recipe in recipes.tables.values():
        assert recipe.answer.endswith(".") and "\n" not in recipe.answer, recipe.name


def test_every_row_has_a_published_number_or_a_reason_and_a_source(recipes: Recipes) -> None:
    for recipe in recipes.tables.values():
        said = PUBLISHED[recipe.name]
        for row in recipe.rows:
            reason = said.get(row.corpus, {}).get(row.row, said.get("unprinted"))
            assert row.source and (row.published is not None or (isinstance(reason, str) and reason))


def test_every_published_number_is_asked_for(recipes: Recipes) -> None:
    said = {
        (recipe, corpus, row)
        for recipe, table in PUBLISHED.items()
        for corpus, rows in table.items()
        if isinstance(rows, dict)
        for row in rows
    }
    assert said <= set(numbers(recipes))


def numbers(recipes: Recipes) -> dict[tuple[str, str, str], float | None]:
    return {(one.name, row.corpus, row.row): row.published for one in recipes.tables.values() for row in one.rows}


def test_a_number_that_stands_in_several_tables_is_the_same_in_all(recipes: Recipes) -> None:
    values = numbers(recipes)
    assert values["table2", "ptb", "KN/C HEUR"] == values["table3", "ptb", "1"] == 140.8
    assert values["table3", "ptb", "5"] == values["table4", "ptb", "LSTM, δ+PTB"] == 95.3
    assert values["table2", "aspec", "KN/CR LSTM"] == values["table3", "aspec", "3"] == 149.1


def test_the_settings_of_every_run_are_settings_of_training(recipes: Recipes) -> None:
    for run in recipes.runs.values():
        if run.kind == "train":
            table = merged(find_table(run.preset), run.settings)
            sources = [columns.get("source", 1) for columns in table.get("columns", {}).values()]
            texts = {"text": ["text"] * max([1, *sources]), "valid": "valid", "test": "test"}
            config = run_config(merged(table, texts), where=run.name)
            assert config.net.context == "sentence"
            assert not set(run.columns) & set(find_table(run.preset).get("columns", {}))


def test_every_run_is_used_and_comes_behind_what_it_is_made_of(recipes: Recipes) -> None:
    used = recipes.in_order(run for recipe in recipes.tables.values() for run in recipe.runs)
    assert [run.name for run in used] == list(recipes.runs)
    places = list(recipes.runs)
    for run in used:
        assert all(places.index(name) < places.index(run.name) for name in run.members)


def test_no_run_here_is_planned_for_more_than_three_hours_and_all_for_two_days() -> None:
    estimates = {run.name: run.estimate for run in Recipes.open(FOLDER, "here").runs.values()}
    assert max(estimates.values()) <= 180
    assert sum(estimates.values()) <= 48 * 60


def test_a_net_trained_on_all_data_never_predicts_a_sentence_from_its_own_counts() -> None:
    recipes = Recipes.open(FOLDER, "here")
    for name in ("all-hybrid-wsj", "all-hybrid-wsj-gw"):
        run = recipes.runs[name]
        seen = {part for part in recipes.texts[run.text].of if part != "ptb"}
        counted = recipes.texts[run.columns["rest"]]
        parts = {counted.name} if counted.without_every else set(counted.of)
        for sample in seen:
            rest = recipes.texts[sample.replace("-sample", "-rest")]
            assert rest.name in parts
            assert (rest.of, rest.without_every) == (recipes.texts[sample].of, recipes.texts[sample].every)


def test_committed_results_are_of_runs_that_are_still_there() -> None:
    for path in (FOLDER / "results").glob("*/*.json"):
        recipes = Recipes.open(FOLDER, path.parent.name)
        name, _, corpora = path.stem.partition("#seed")[0].partition("@")
        assert name in recipes.runs and set(corpora.split("+")) <= set(recipes.corpora), path.name
