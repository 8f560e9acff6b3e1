"""Links between the pages of the repository lead somewhere, as they are read there, without a built site."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = [
    *ROOT.glob("*.md"),
    *(path for folder in ("benchmarks", "recipes", "examples") for path in (ROOT / folder).rglob("*.md")),
    *(path for path in (ROOT / "docs").rglob("*.md") if not {"_build", "reports"} & set(path.parts)),
]
BLOCK = re.compile(r"^(```+).*?^\1$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def slug(heading: str) -> str:
    """The name under which a heading is linked to."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("path", sorted(SOURCES), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_of_the_page_leads_to_a_file_and_a_heading(path: Path) -> None:
    text = CODE.sub("", BLOCK.sub("", path.read_text(encoding="utf-8")))
    for target in (first or second for first, second in LINK.findall(text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        assert file.exists(), f"{path}: {target} leads nowhere"
        assert file.is_relative_to(ROOT), f"{path}: {target} leads out of the repository"
        if anchor:
            headings = HEADING.findall(BLOCK.sub("", file.read_text(encoding="utf-8")))
            assert anchor in map(slug, headings), f"{path}: {target} names no heading there"


def test_every_page_of_the_documentation_is_named_in_its_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^[\w/-]+$", index, re.MULTILINE))
    pages = {path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in SOURCES if "docs" in path.parts}
    assert pages - {"index"} <= listed
