"""The JSON schema of run files says yes to every preset and no to what the configuration refuses."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jsonschema_rs", reason="jsonschema-rs, which checks by the schema, is not installed")

import jsonschema_rs

from modlm.cli.app import run
from modlm.errors import ConfigError
from modlm.training.config_file import PRESETS, preset_names, run_config, settings
from modlm.training.schema import run_schema


@pytest.fixture(scope="module")
def schema() -> Any:
    return jsonschema_rs.validator_for(run_schema())


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_is_valid(schema: Any, name: str) -> None:
    schema.validate(tomllib.loads((PRESETS / f"{name}.toml").read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "table",
    [
        {"colour": 1}, {"net": {"hiden": 100}}, {"kind": "hybird"}, {"net": {"hidden": "100"}}, {"net": {"hidden": 0}},
        {"columns": {"kn": {"ordre": 5}}}, {"optimiser": {"kind": "adma"}}, {"block_dropout": {"rate": 1.5}},
        {"net": {"dropout": 1.0}}, {"extra": ["uniformly"]}, {"tracking": "mlfow"}, {"net": {"inputs": ["words"]}},
    ],
)  # fmt: skip
def test_what_the_configuration_refuses_is_invalid(schema: Any, table: dict[str, Any]) -> None:
    assert not schema.is_valid(table)
    with pytest.raises(ConfigError):
        run_config({"text": "t", "valid": "v", **table})


def test_one_text_or_several(schema: Any) -> None:
    assert schema.is_valid({"text": "a.txt", "valid": "b.txt"}) and schema.is_valid(
        {"text": ["a", "b"], "tracking": "wandb"}
    )
    assert not schema.is_valid({"text": 3})


def test_every_setting_is_there_with_its_default_and_what_is_said_of_it() -> None:
    found = run_schema()["properties"]
    for path in settings():
        place = found
        for part in path.split("."):
            place = (
                place["additionalProperties"]["properties"]
                if part == "*"
                else place[part].get("properties", place[part])
            )
    assert found["net"]["properties"]["hidden"] == {
        "type": "integer", "minimum": 1, "description": "Units in each layer.", "default": 200
    }  # fmt: skip
    assert "lstm" in found["net"]["properties"]["body"]["enum"]
    assert found["folds"]["description"].startswith("Parts of the training text")


def test_the_command_prints_it_or_writes_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(run_schema()))
    target = tmp_path / "modlm.schema.json"
    assert run(["schema", "-o", str(target)]) == 0 and run(["schema", "-o", str(target)]) == 1
    assert json.loads(target.read_text(encoding="utf-8"))["title"] == "A run of modlm train"
