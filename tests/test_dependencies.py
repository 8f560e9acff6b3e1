"""Every package that modlm, its extras and its development need is pinned, and the list of licences is up to date."""

from __future__ import annotations

import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

pytest.importorskip("packaging", reason="comes with pytest")

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tools.dependencies import (
    BUILD,
    PAGE,
    asked_for,
    closure,
    licence,
    needed,
    page,
    pins,
    rows,
    rows_of_page,
    unpinned,
)

ROOT = Path(__file__).parents[1]
WITHOUT_DEPENDENCIES = {"pyctcdecode", "pygtrie"}  # which CI installs with --no-deps: pyctcdecode asks for numpy < 2


def installed(name: str) -> str:
    """The version here without what follows +, or nothing."""
    try:
        return metadata.version(name).partition("+")[0]
    except metadata.PackageNotFoundError:
        return ""


def test_everything_needed_is_pinned_to_one_version() -> None:
    assert unpinned() == []


def test_everything_asked_for_is_pinned_within_its_range() -> None:
    for extra, requirements in asked_for().items():
        for need in requirements:
            _, version = pins()[canonicalize_name(need.name)]
            assert need.specifier.contains(version, prereleases=True), f"{extra}: {need}, pinned to {version}"


def test_nothing_is_pinned_that_nobody_needs() -> None:
    asked = {canonicalize_name(need.name) for listed in asked_for().values() for need in listed}
    if not all(installed(name) for name in asked):
        pytest.skip("not all extras are installed here, so what they need is not known")
    assert set(pins()) - set(needed()) - WITHOUT_DEPENDENCIES == set()


def test_what_is_installed_has_the_pinned_version() -> None:
    different = {
        name: (installed(name), version)
        for name, (_, version) in pins().items()
        if installed(name) not in ("", version)
    }
    if different and not (ROOT / ".venv").exists():
        pytest.skip(f"this is not the environment of make: {different}")
    assert different == {}


def test_what_builds_the_wheel_is_among_the_requirements() -> None:
    assert {need.name for need in asked_for()[BUILD]} == {"hatchling"}


def test_the_list_of_licences_has_every_pin() -> None:
    listed = {name: row.version for name, row in rows_of_page().items()}
    assert listed == {name: version for name, (_, version) in pins().items()}, "run: make licences"


def test_the_list_of_licences_says_what_the_packages_say() -> None:
    for name, row in rows_of_page().items():
        if installed(name) == row.version:
            assert row.licence == licence(name), f"{name}: run make licences"


def test_the_page_written_anew_is_the_page() -> None:
    if not all(installed(name) == version for name, (_, version) in pins().items()):
        pytest.skip("not all pinned packages are installed here")
    if sys.version_info[:2] != (3, 11):
        pytest.skip("the list is that of Python 3.11, in which other packages are needed")
    assert page(rows(rows_of_page())) == PAGE.read_text(encoding="utf-8")


def test_closures_follow_extras_and_markers() -> None:
    assert closure([Requirement("nothing-of-this-name ; python_version < '3'")]) == set()
    assert "numpy" in closure([Requirement("numba")])  # which numba needs, and we say nothing of
    assert closure([Requirement("not-installed-anywhere")]) == {"not-installed-anywhere"}


@pytest.mark.parametrize("text", ["numpy>=2", "numpy", "numpy==2.*"])
def test_a_constraint_that_is_not_exact_is_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "constraints.txt").write_text(f"# pins\n{text}\n")
    with pytest.raises(ValueError, match=r"line 2: .* is not NAME==VERSION"):
        pins(tmp_path / "constraints.txt")


def test_the_supported_pythons_are_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [text.rpartition(" ")[2] for text in project["classifiers"] if "Python :: 3." in text]
    assert named == ["3.11", "3.12", "3.13"]
    assert project["requires-python"] == ">=3.11"
