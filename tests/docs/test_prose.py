"""Pages, help texts and the explorer say things as one says them aloud: what the house used to write stays away."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from modlm.cli.app import COMMANDS, main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += [*sorted((ROOT / "docs" / "how-to").glob("*.md")), *sorted((ROOT / "src/modlm/serve/page").glob("*.[jh]*"))]
UNITS = "bytes|bits|words|tokens|sentences|documents|lines|columns?|predictions|requests|ends?"
TRANSLATED = re.compile(
    rf"(?<!\*)\b(?:{UNITS}) an? (?:second|byte|word|sentence|n-gram|token|request)\b"  # words per second
    r"|\bthat Python carries|\bapart by\b|\bHere stands?\b|\bmay stand\b"
    r"|\b(?:un)?packed (?:files|or not)|\bmay be packed|\bwho has\b"
    r"|\bstands? (?:above|before|behind|below|beside|in the|near|there|under)\b|\bstands \["  # is, comes
    r"|\bone an order\b|\bas ever\b|\banew\b|\bthe last so many\b|\bcosts its time\b"
)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_page_reads_as_english(path: Path) -> None:
    text = "\n".join(re.sub(r"\s*//.*|/\*\*.*", "", line) for line in path.read_text(encoding="utf-8").split("\n"))
    assert TRANSLATED.findall(text) == []


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_a_help_page_reads_as_english(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*filter(None, [command]), "--help"])
    assert TRANSLATED.findall(" ".join(capsys.readouterr().out.split())) == []


@pytest.mark.parametrize(
    "text",
    ["4.9M words a second", "text that Python carries", "packed or not", "bits a byte", "stands [below](#what)",
     "references stand in the lists", "begin anew each", "n-grams, one an order", "the same bits as ever"],
)  # fmt: skip
def test_what_is_looked_for_is_found(text: str) -> None:
    assert TRANSLATED.search(text)
