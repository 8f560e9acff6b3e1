"""`examples/third_party` installed beside modlm: all four members train, evaluate, explain, serve, save and load."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "examples" / "third_party"
Run = Callable[..., str]

PROGRAM = """
import modlm, modlm.testing
from modlm_example.body import Average
from modlm_example.column import Recent
from modlm_example.mixer import Equal
from modlm_example.smoother import Pseudocounts
from modlm.blocks.block import ColumnLayout

modlm.testing.check_body(Average)
modlm.testing.check_smoother(Pseudocounts())
columns = {
    "ngram": modlm.Ngram(order=2, smoothing="pseudocounts:weight=5"),
    "recent": modlm.Kind("recent", length=3),
    "uniform": modlm.Uniform(),
}
lm = modlm.train("train.txt", "valid.txt", mixer="equal", columns=columns)
modlm.testing.check_block(Recent(lm.vocabulary, length=2))
modlm.testing.check_mixer(Equal(4), ColumnLayout(lm.blocks))
lm.save("equal", overwrite=True)
again = modlm.load("equal")
assert again.blocks["recent"].length == 3 and again.blocks["ngram"].estimates.smoother.weight == 5
assert abs(again.score("the cat sat") - lm.score("the cat sat")) < 1e-9
columns["delta"] = modlm.Delta()
net = modlm.train("train.txt", "valid.txt", mixer="average", epochs=1, net={"hidden": 8}, columns=columns)
net.save("net", overwrite=True)
assert abs(modlm.load("net").score("the cat sat") - net.score("the cat sat")) < 1e-6
print(repr(again), repr(net))
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package installed in `site`, texts and settings."""
    pytest.importorskip("hatchling", reason="needs modlm[release]")
    place = tmp_path_factory.mktemp("third-party")
    shutil.copytree(PACKAGE, place / "package")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--target", str(place / "site"), str(place / "package")], check=True)
    words = ["the cat sat on the mat", "a dog saw the cat", "the dog sat", "a cat saw a dog on the mat"]
    (place / "train.txt").write_text("\n".join(words * 20) + "\n")
    (place / "valid.txt").write_text("\n".join(words[::-1]) + "\n")
    shutil.copy(PACKAGE / "run.toml", place)
    return place


@pytest.fixture(scope="module")
def run(place: Path) -> Run:
    """Runs a command there; `installed=False` without the package."""

    def ran(*arguments: str, installed: bool = True, code: int = 0) -> str:
        paths = [str(place / "site")] if installed else []
        environment = {**os.environ, "MODLM_CACHE": str(place / "cache"), "MODLM_THREADS": "1"}
        environment["PYTHONPATH"] = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd=place)
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    return ran


@pytest.fixture(scope="module")
def said(run: Run) -> str:
    """What the program prints; the models that it saves are in the folder."""
    return run("-c", PROGRAM)


def test_families_names_the_package(run: Run) -> None:
    found = {one["name"]: one for one in json.loads(run("-m", "modlm", "families", "--json"))}
    for name in ("recent", "equal", "pseudocounts", "average"):
        assert found[name]["from"] == "modlm-example"
    assert found["recent"]["settings"] == ["length", "share"]
    assert found["pseudocounts"]["settings"] == ["weight"]


def test_from_python(said: str) -> None:
    assert "recent (1)" in said and "weights: equal" in said and "average of 1 x 8 units" in said


def test_from_toml_on_the_command_line(run: Run, place: Path) -> None:
    run("-m", "modlm", "train", "run.toml", "-o", "run")
    perplexity = json.loads(run("-m", "modlm", "eval", "run", "valid.txt", "--json"))
    assert "perplexity" in json.dumps(perplexity)
    assert "recent" in run("-m", "modlm", "next", "run", "the cat")
    missing = run("-m", "modlm", "eval", "run", "valid.txt", installed=False, code=1)
    assert re.search(r"'(recent|average|pseudocounts)'.*of another package, install that", missing.replace("\n", " "))


def test_served(said: str, place: Path) -> None:
    pytest.importorskip("uvicorn", reason="needs modlm[serve]")
    environment = {**os.environ, "MODLM_CACHE": str(place / "cache"), "MODLM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(place / "site"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "modlm", "serve", "equal", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=place) as server:
        try:
            assert server.stdout is not None
            address = next(found[0] for line in server.stdout if (found := re.search(r"http://[\d.]+:\d+", line)))
            body = json.dumps({"sentences": ["the cat sat"]}).encode()
            request = urllib.request.Request(f"{address}/score", body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=60) as answer:
                assert json.load(answer)
        finally:
            server.terminate()
