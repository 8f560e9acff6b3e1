"""What docs/serving.md shows works, and it names every path, option and code."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx2", reason="httpx2, which asks the server, is not installed")

from fastapi.testclient import TestClient

from modlm.serve.limits import Limits
from serve.small_models import model_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
SOURCES = [path.read_text(encoding="utf-8") for path in (ROOT / "src" / "modlm" / "serve").glob("*.py")]


def test_the_commands_are_answered(client: TestClient) -> None:
    commands = [shlex.split(line) for line in PAGE.splitlines() if line.startswith("curl ")]
    assert len(commands) >= 4
    for _, address, _, body in commands:
        answer = client.post(address.removeprefix("localhost:8765"), json=json.loads(body, strict=False))
        assert answer.status_code == 200, answer.text


def test_the_script_asks_as_it_should(client: TestClient, capsys: pytest.CaptureFixture[str]) -> None:
    script = next(block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "urlopen" in block)

    def urlopen(request):
        return client.stream("POST", request.full_url.partition("8765")[2], content=request.data)

    script = script.replace("from urllib.request import Request, urlopen", "from urllib.request import Request")
    exec(script.replace("json.load(answer)", "json.loads(answer.read())"), {"urlopen": urlopen})
    assert re.fullmatch(r"\[-\d+\.\d+, -\d+\.\d+\] \d+\.\d+\n", capsys.readouterr().out)


def test_the_application_can_be_had_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model_of(["a b"], order=2).save(tmp_path / "models" / "kn")
    monkeypatch.chdir(tmp_path)
    script = next(block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "make_app" in block)
    names: dict[str, object] = {}
    exec(script, names)
    with TestClient(names["app"], base_url="http://localhost") as client:
        assert client.get("/models").json()["models"][0]["name"] == "kn"


def test_every_path_and_every_code_is_named(client: TestClient) -> None:
    for path in client.get("/openapi.json").json()["paths"]:
        assert path.replace("{name}", "NAME") in PAGE, path
    codes = {code for text in SOURCES for code in re.findall(r'(?:bad|too_large)\(\s*"(\w+)"', text)}
    codes |= {code for text in SOURCES for code in re.findall(r'RefusedError\(\s*\d+,\s*"(\w+)"', text)}
    assert len(codes) > 10
    assert [code for code in sorted(codes) if f"`{code}`" not in PAGE] == ["bad_request", "internal"]


def test_the_defaults_are_those_of_the_program() -> None:
    defaults = Limits()
    for option, value in (("max-words", defaults.max_words), ("max-body", defaults.max_body)):
        assert f"| `--{option}` | {value:,} |" in PAGE
    assert f"| `--max-concurrent` | {defaults.max_concurrent} |" in PAGE
    assert f"| `--max-connections` | {defaults.max_connections:,} |" in PAGE
    for name in ("timeout", "header_timeout", "idle_timeout"):
        assert f"| `--{name.replace('_', '-')}` | {getattr(defaults, name):g} |" in PAGE
