"""What cannot be run here is at least true of this repository: workflows and Dockerfile name what there is."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer.main

from modlm.cli.app import COMMANDS, program

yaml = pytest.importorskip("yaml", reason="comes with the extra hf")

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in (ROOT / ".github/workflows").glob("*.yml")}
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")


def commands(workflow: dict[str, Any]) -> str:
    """All that a workflow runs."""
    return "\n".join(step["run"] for job in workflow["jobs"].values() for step in job.get("steps", ()) if "run" in step)


def test_tests_run_on_three_systems_and_every_python_that_the_metadata_names() -> None:
    matrix = WORKFLOWS["tests"]["jobs"]["test"]["strategy"]["matrix"]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    named = [text.rpartition(" :: ")[2] for text in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", text)]
    assert matrix["python"] == named


@pytest.mark.parametrize("name", sorted(WORKFLOWS))
def test_extras_files_and_commands_of_a_workflow_exist(name: str) -> None:
    text = commands(WORKFLOWS[name])
    for listed in re.findall(r"'\.\[([a-z,-]+)\]'", text):
        assert set(listed.split(",")) <= set(PROJECT["optional-dependencies"]), listed
    for path in re.findall(r"(?:python |^)((?:tools|\.ci)/[\w./]+)", text, re.MULTILINE):
        assert (ROOT / path).is_file(), path
    for command in re.findall(r"\bmodlm ([a-z]+)", text):
        assert command in COMMANDS, command


def test_tests_have_the_extras_of_a_developers_environment() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    named = re.findall(r"\.\[([a-z,]+)\]", makefile.partition("$(VENV)/.dev:")[2])
    workflow = {"jobs": {"test": WORKFLOWS["tests"]["jobs"]["test"]}}
    assert re.findall(r"\.\[([a-z,]+)\]", commands(workflow)) == named[:1]


def test_a_release_needs_all_tests_and_no_token() -> None:
    jobs = WORKFLOWS["release"]["jobs"]
    assert set(jobs["publish"]["needs"]) == {"tests", "docs", "build"}
    for name in ("tests", "docs"):
        assert jobs[name]["uses"] == f"./.github/workflows/{name}.yml"
        assert "workflow_call" in WORKFLOWS[name][True]  # YAML reads `on` as true
    asked = WORKFLOWS["docs"]["jobs"]["publish"]
    assert asked["permissions"].items() <= jobs["docs"]["permissions"].items() and "refs/heads/main" in asked["if"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text("utf-8")


def test_the_image_is_made_of_what_is_here_and_ends_as_a_user_without_rights() -> None:
    for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE):
        for name in line.split():
            assert (ROOT / name).exists(), name
            assert f"!{name}\n" in (ROOT / ".dockerignore").read_text("utf-8"), name
    last = DOCKERFILE.split("FROM ")[-1]
    assert re.findall(r"^USER (\w+)$", last, re.MULTILINE) == ["modlm"]
    assert last.index("\nUSER modlm") < last.index("ENTRYPOINT")
    for command in re.findall(r"^RUN modlm (\w+)", last, re.MULTILINE):
        assert command in COMMANDS, command


RUN = re.compile(r"^(?:#   )?docker run .* modlm (serve .+)$", re.MULTILINE)
SHOWN = RUN.findall(DOCKERFILE) + RUN.findall((ROOT / "docs/serving.md").read_text("utf-8"))


@pytest.mark.parametrize("words", [*SHOWN, " ".join(json.loads(DOCKERFILE.split("\nCMD ")[-1]))])
def test_a_server_in_a_container_listens_beyond_it(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(SHOWN) == 2 and DOCKERFILE.endswith(f'ENTRYPOINT ["modlm"]\nCMD {DOCKERFILE.split("CMD ")[-1]}')
    for name, value in re.findall(r"(MODLM_\w+)=(\S+)", DOCKERFILE.split("FROM ")[-1]):
        monkeypatch.setenv(name, value)
    command, *rest = words.split()
    serve = typer.main.get_command(program()).commands[command]  # type: ignore[attr-defined]
    assert serve.make_context(command, rest).params["host"] == "0.0.0.0"
