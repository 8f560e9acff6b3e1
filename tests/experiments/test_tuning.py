"""A search draws settings, judges them by the validation text, keeps the best, and goes on where it was cut off."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from modlm.errors import ConfigError, OutputError
from modlm.experiments.tuning import BEST, Search, Variation, variation, variations
from modlm.training.config_file import Table, read_config
from modlm.training.signals import Interrupted
from tiny_runs import write_texts

pytest.importorskip("optuna", reason="the extra `tune` is not installed")
VARIED = ["optimiser.learning_rate=0.001:0.1:log", "net.hidden=3:9", "net.body=rnn,lstm"]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    write_texts(tmp_path)
    texts = {name: str(tmp_path / f"{name}.txt") for name in ("valid", "test")}
    schedule = {"epochs": 2.0, "batch_words": 40}
    return {"kind": "neural", "text": str(tmp_path / "train.txt"), **texts, "schedule": schedule}


def search(table: Table, folder: Path, vary: list[str] = VARIED, **settings: Any) -> Search:
    return Search(table, variations(vary), folder, "cpu", **settings)


def test_what_vary_says() -> None:
    assert variation("net.dropout=0.2:0.6") == Variation("net.dropout", 0.2, 0.6)
    assert variation("optimiser.learning_rate = 1e-3:1e-2:log") == Variation(
        "optimiser.learning_rate", 1e-3, 1e-2, True
    )
    assert variation("net.hidden=50:400") == Variation("net.hidden", 50, 400, whole=True)
    assert variation("net.tied=true,false") == Variation("net.tied", choices=("true", "false"))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("net.dropout", "NAME=LOW:HIGH"),
        ("net.droput=0.1:0.2", "net.dropout"),
        ("net.dropout=0.4:0.2", "less than HIGH"),
        ("net.dropout=0:0.2:log", "above 0 with :log"),
        ("net.dropout=0.1:0.2:0.3", "only :log"),
        ("net.hidden=1.5:3", "whole number"),
        ("net.tied=true", "nothing to choose"),
        ("net.tied=true,maybe", "true or false"),
    ],
)
def test_mistakes_in_vary_are_told(text: str, rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        variation(text)


def test_a_setting_varies_once_and_something_varies() -> None:
    with pytest.raises(ConfigError, match="twice"):
        variations(["net.dropout=0.1:0.2", "net.dropout=0.3:0.4"])
    with pytest.raises(ConfigError, match="There is nothing to vary"):
        variations([])


def test_the_best_trial_is_that_with_the_lowest_validation_perplexity(table: Table, tmp_path: Path) -> None:
    folder = tmp_path / "search"
    found = search(table, folder).run(4)
    assert [one.state for one in found] == ["complete"] * 4  # too few to give one up
    assert [one.valid for one in found] == sorted(one.valid for one in found)
    for one in found:
        result = json.loads((folder / one.folder / "result.json").read_text())
        assert one.valid == result["valid_perplexity"] and result["test_perplexity"] is None
        used = read_config(folder / one.folder / "config.toml")
        assert (used.net.hidden, used.net.body) == (one.settings["net.hidden"], one.settings["net.body"])
        assert 3 <= used.net.hidden <= 9 and 0.001 <= used.optimiser.learning_rate <= 0.1
    assert (folder / BEST).read_text() == (folder / found[0].folder / "config.toml").read_text()


def test_a_search_that_was_stopped_goes_on_with_its_trial(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from modlm.training.trainer import Trainer

    whole = search(table, tmp_path / "whole").run(2)
    real = Trainer.step

    def stopped(self: Trainer) -> tuple[bool, bool, bool]:
        if self.run_state.step == 12:
            raise Interrupted
        return real(self)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Trainer, "step", stopped)
        search(table, tmp_path / "cut").run(2)
    found = search(table, tmp_path / "cut").run(2)
    assert sorted(one.folder for one in found) == ["trial-0000", "trial-0002"]
    first = {one.folder: one for one in found}["trial-0000"]
    assert first.settings == {one.folder: one for one in whole}["trial-0000"].settings
    assert math.isclose(first.valid, {one.folder: one for one in whole}["trial-0000"].valid)


def test_a_finished_search_tries_no_more_and_a_longer_one_does(table: Table, tmp_path: Path) -> None:
    first = search(table, tmp_path / "search").run(1)
    assert search(table, tmp_path / "search").run(1) == first
    assert len(search(table, tmp_path / "search").run(2)) == 2


def test_a_trial_that_fails_is_told_and_the_search_goes_on(table: Table, tmp_path: Path) -> None:
    said: list[str] = []
    found = search(
        table, tmp_path / "search", ["net.hidden=2,5", "net.word_size=2,5", "net.tied=true,false"], say=said.append
    )
    tried = found.run(6)
    failed = [one for one in tried if one.state == "failed"]
    assert failed and len(tried) == 6
    assert all(one.settings["net.hidden"] != one.settings["net.word_size"] for one in failed)
    assert any("word_size" in message for message in said)


def test_another_search_needs_another_folder(table: Table, tmp_path: Path) -> None:
    search(table, tmp_path / "search").run(1)
    with pytest.raises(OutputError, match="other settings"):
        search(table, tmp_path / "search", ["net.hidden=3:5"]).run(1)
    with pytest.raises(OutputError, match="holds no search"):
        search(table, tmp_path).run(1)
