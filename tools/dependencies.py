"""What modlm depends on, directly and by others: names from pyproject.toml and the metadata of what is installed,
versions from constraints.txt, licences from metadata.

    python tools/dependencies.py            # write docs/dependencies.md anew; `make licences`
    python tools/dependencies.py --check    # say what is not pinned, and whether the page is up to date

A package that is not installed here keeps the licence that the page has for the same version of it.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "dependencies.md"
BUILD = "build-system"
INSTALLER = "pip"  # every environment brings its own
UNKNOWN = "not installed where this list was made"
TABLE = "| package | version | licence | needed by |\n|---|---|---|---|\n"

# Licences of packages whose metadata name none, or only a family; read from the files that they install.
READ_BY_HAND = {
    "axe-playwright-python": "MIT AND MPL-2.0", "kenlm": "LGPL-2.1-or-later", "pyctcdecode": "Apache-2.0",
    "word2number": "MIT",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the page."""

    name: str
    version: str
    licence: str
    needed_by: str


def pins(path: Path = ROOT / "constraints.txt") -> dict[str, tuple[str, str]]:
    """By canonical name: the name as written and its exact version; anything but NAME==VERSION is an error."""
    found: dict[str, tuple[str, str]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        pin = re.fullmatch(r"([A-Za-z0-9._-]+)==([A-Za-z0-9._+!-]+)", text)
        if pin is None:
            raise ValueError(f"{path.name}, line {number}: {text!r} is not NAME==VERSION.")
        name = canonicalize_name(pin[1])
        if name in found:
            raise ValueError(f"{path.name}, line {number}: {pin[1]} is there twice.")
        found[name] = (pin[1], pin[2])
    return found


def asked_for(path: Path = ROOT / "pyproject.toml") -> dict[str, list[Requirement]]:
    """The requirements of pyproject.toml by extra; those that everybody needs under ""."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    groups = {"": table["project"]["dependencies"], **table["project"]["optional-dependencies"]}
    groups[BUILD] = table["build-system"]["requires"]
    return {extra: [Requirement(text) for text in listed] for extra, listed in groups.items()}


def closure(requirements: Iterable[Requirement]) -> set[str]:
    """Canonical names of everything that these need here; what is not installed is named but not looked into."""
    waiting = [(canonicalize_name(need.name), frozenset(need.extras)) for need in requirements if applies(need, {""})]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, extras = item = waiting.pop()
        if item in seen:
            continue
        seen.add(item)
        try:
            listed = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        for need in map(Requirement, listed):
            if applies(need, extras | {""}):
                waiting.append((canonicalize_name(need.name), frozenset(need.extras)))
    return {name for name, _ in seen}


def applies(need: Requirement, extras: Iterable[str]) -> bool:
    """Whether a requirement holds for this Python and system, with one of the extras."""
    if need.marker is None:
        return True
    here = {name: str(value) for name, value in default_environment().items()}
    return any(need.marker.evaluate(here | {"extra": extra}) for extra in extras)


def needed() -> dict[str, list[str]]:
    """For every package needed here, the extras that need it, "" first."""
    found: dict[str, list[str]] = {}
    for extra, requirements in asked_for().items():
        for name in closure(requirements):
            found.setdefault(name, []).append(extra)
    return found


def licence(name: str) -> str:
    """As the package itself says it: an SPDX expression, a short field, or classifiers."""
    if name in READ_BY_HAND:
        return READ_BY_HAND[name]
    fields = metadata.metadata(name)
    expression = fields.get("License-Expression") or ""
    free = (fields.get("License") or "").strip()
    named = [text.rpartition(" :: ")[2] for text in fields.get_all("Classifier") or () if text.startswith("License ::")]
    named = [text for text in named if text != "OSI Approved"]
    if not expression and 0 < len(free) <= 60 and "\n" not in free and free.upper() != "UNKNOWN":
        expression = free
    return (expression or ", ".join(named) or "not named in its metadata").replace("|", "/")


def rows(before: Mapping[str, Row]) -> list[Row]:
    """All pinned packages in order of name."""
    by = needed()
    found = []
    for name, (written, version) in sorted(pins().items()):
        try:
            here = metadata.version(name).partition("+")[0] == version
        except metadata.PackageNotFoundError:
            here = False
        old = before.get(name)
        if here:
            extras = ", ".join(extra or "modlm itself" for extra in by.get(name, ()))
            found.append(Row(written, version, licence(name), extras or "see constraints.txt"))
        elif old is not None and old.version == version:
            found.append(old)
        else:
            found.append(Row(written, version, UNKNOWN, "see constraints.txt"))
    return found


def rows_of_page(path: Path = PAGE) -> dict[str, Row]:
    """What the page lists, by canonical name."""
    if not path.exists():
        return {}
    _, _, table = path.read_text(encoding="utf-8").partition(TABLE)
    listed = [Row(*(cell.strip() for cell in line.strip("|").split("|"))) for line in table.splitlines() if line]
    return {canonicalize_name(row.name): row for row in listed}


def page(listed: Iterable[Row], path: Path = PAGE) -> str:
    """The page with its prose as it is and a new table."""
    prose, _, _ = path.read_text(encoding="utf-8").partition(TABLE)
    lines = [f"| {row.name} | {row.version} | {row.licence} | {row.needed_by} |\n" for row in listed]
    return prose + TABLE + "".join(lines)


def unpinned() -> list[str]:
    """What is needed here, or built with, and has no pin."""
    return sorted(set(needed()) - set(pins()) - {INSTALLER})


def main(arguments: list[str]) -> int:
    """Write or check."""
    text = page(rows(rows_of_page()))
    missing = unpinned()
    if missing:
        print(f"Not pinned in constraints.txt: {', '.join(missing)}.", file=sys.stderr)
    if "--check" in arguments:
        stale = text != PAGE.read_text(encoding="utf-8")
        if stale:
            print(f"{PAGE.name} is out of date. Write it anew with: make licences", file=sys.stderr)
        return int(bool(missing) or stale)
    PAGE.write_text(text, encoding="utf-8")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
