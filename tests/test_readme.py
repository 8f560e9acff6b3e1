"""The examples of README and docs run, and give what they show."""

from __future__ import annotations

import doctest
import re
import shutil
from pathlib import Path

import pytest
from tests.docs.blocks import blocks_of, commands_of
from tests.docs.running import Runner

from modlm.cli.app import main

ROOT = Path(__file__).parents[1]


def test_the_python_session_gives_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    session = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert session is not None
    assert session[1].count(">>> ") <= 8
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    runner.run(parser.get_doctest(session[1], {}, "README.md", "README.md", 0))
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.filterwarnings("ignore")  # a command on a terminal shows them once, and goes on
def test_a_stranger_gets_from_a_text_to_a_served_model_by_the_readme_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = [block for block in blocks_of(ROOT / "README.md") if block.kind == "console"]
    steps = [command.split()[1] for block in blocks for command, _ in commands_of(block.body) if "modlm" in command]
    assert steps == ["demo", "ngram", "eval", "next", "serve"]
    assert "curl" in blocks[-1].body
    pytest.importorskip("fastapi", reason="serving needs the extra serve")
    monkeypatch.chdir(tmp_path)
    runner = Runner(tmp_path, quick=True)
    try:
        for block in blocks:
            runner.run(block)
    finally:
        runner.close()
    assert not runner.left_out or shutil.which("curl") is None, runner.left_out


def test_every_command_that_the_readme_names_exists(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in sorted(set(re.findall(r"(?:^|[`$] ?|bin/)modlm ([a-z]+)\b", text, re.MULTILINE))):
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0, command
        assert "Usage" in capsys.readouterr().out


def test_the_tree_names_every_folder_of_the_package() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for folder in (ROOT / "src" / "modlm").iterdir():
        if folder.is_dir() and any(folder.glob("*.py")):
            assert f"  {folder.name}/" in text, folder.name
