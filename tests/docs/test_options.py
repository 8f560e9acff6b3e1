"""Options that pages name after a command, or anywhere, are options of it, or of any."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main

from modlm.cli.app import program

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *(path for path in sorted((ROOT / "docs").rglob("*.md")) if "reports" not in path.parts)]
PROGRAM = typer.main.get_command(program())
OPTIONS = {
    name: {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    for name, command in PROGRAM.commands.items()  # type: ignore[attr-defined]
}
CALL = re.compile(
    r"(?:^\$ |^|`|&& |\| )(?:\.venv/bin/|torchrun .*? -m )?modlm ([a-z]+)\b((?:\\\n|[^`\n|&#])*)", re.MULTILINE
)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
EVERYWHERE = {"--help", "--debug", "--version", "--install-completion"}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_option_after_a_command_is_one_of_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    calls = [(command, rest) for command, rest in CALL.findall(text) if command in OPTIONS]
    wrong = [(command, option) for command, rest in calls for option in OPTION.findall(rest)
             if option not in OPTIONS[command] | EVERYWHERE]  # fmt: skip
    assert wrong == []


def test_an_option_that_is_none_is_found() -> None:
    (found,) = CALL.findall("`modlm ngram text -o lm --vocabulary words`")
    assert found[0] == "ngram" and OPTION.findall(found[1]) == ["--vocabulary"]
    assert "--vocabulary" not in OPTIONS["ngram"] and "--vocab" in OPTIONS["ngram"]


def test_the_options_of_kenlms_page_exist() -> None:
    """Its tables name them in a column of their own, without the command."""
    text = (ROOT / "docs/how-to/from-kenlm.md").read_text(encoding="utf-8")
    rows = [line.split("|")[2] for line in text.split("\n## build_binary")[0].splitlines() if line.startswith("| `")]
    named = {option for row in rows for option in OPTION.findall(row)}
    assert named and named <= OPTIONS["ngram"], named - OPTIONS["ngram"]
