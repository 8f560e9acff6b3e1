"""The wheel has all that a user needs, and works where there is nothing else of the repository.

Clean environments with packages of their own are `make wheel-check`; here the wheel borrows those of the tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("build", reason="needs modlm[release]")
pytest.importorskip("hatchling", reason="needs modlm[release]")

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(place), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = place.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    return place


def files_below(folder: Path) -> set[str]:
    skipped = ("__pycache__", ".DS_Store")
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not any(part in path.parts for part in skipped)
    }


def test_the_wheel_has_every_file_of_the_package_and_all_recipes(unpacked: Path) -> None:
    package = files_below(ROOT / "src" / "modlm")
    recipes = {f"recipes/{name}" for name in files_below(ROOT / "recipes")}
    assert files_below(unpacked / "modlm") == package | recipes
    assert {"py.typed", "recipes/neubig2016/corpora.toml"} <= package | recipes
    kinds = {Path(name).suffix for name in package}
    assert {".py", ".toml", ".html", ".js", ".css"} <= kinds  # presets and the pages of the explorer


def test_the_wheel_says_what_it_is(unpacked: Path) -> None:
    (about,) = unpacked.glob("modlm-*.dist-info")
    text = (about / "METADATA").read_text(encoding="utf-8")
    for line in ("License-Expression: Apache-2.0", "Requires-Python: >=3.11", "Classifier: Typing :: Typed"):
        assert f"\n{line}\n" in text
    assert "modlm = modlm.cli:main" in (about / "entry_points.txt").read_text(encoding="utf-8")
    assert (about / "licenses" / "LICENSE").is_file()


def test_commands_run_from_the_wheel_alone(unpacked: Path, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("the cat sat\nthe dog sat on the cat\n" * 9)
    settings = os.environ | {"PYTHONPATH": str(unpacked), "MODLM_CACHE": str(tmp_path / "cache")}
    for command in (
        ["ngram", "train.txt", "-o", "model", "--order", "2"],
        ["eval", "model", "train.txt"],
        ["reproduce", "--list"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "modlm", *command], cwd=tmp_path, env=settings, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    where = "import modlm; print(modlm.__file__)"
    done = subprocess.run([sys.executable, "-c", where], cwd=tmp_path, env=settings, capture_output=True, text=True)
    assert Path(done.stdout.strip()).is_relative_to(unpacked)
