"""Commands run in this process, on a small text and models of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from modlm.cli.app import run

GOLDEN = Path(__file__).parents[1] / "golden" / "small.txt"


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Modlm = Callable[..., Outcome]


@pytest.fixture
def modlm(capsys: pytest.CaptureFixture[str]) -> Modlm:
    """Runs a command and gives its exit code and what it printed."""

    def call(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return call


@pytest.fixture
def ok(modlm: Modlm) -> Modlm:
    """The same for commands that must succeed, silently on standard error."""

    def call(*arguments: object) -> Outcome:
        outcome = modlm(*arguments)
        assert (outcome.code, outcome.err) == (0, "")
        return outcome

    return call


@dataclass(frozen=True)
class Files:
    train: Path
    valid: Path
    test: Path
    model: Path
    """Modified Kneser-Ney of order 3, with its counts."""
    other: Path
    """Witten-Bell of order 2."""
    arpa: Path
    counts: Path


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    place = tmp_path_factory.mktemp("commands")
    lines = GOLDEN.read_text(encoding="utf-8").splitlines(keepends=True)
    parts = {"train": lines[:200], "valid": lines[200:250], "test": lines[250:]}
    for name, part in parts.items():
        (place / f"{name}.txt").write_text("".join(part), encoding="utf-8")
    found = Files(
        *(place / f"{name}.txt" for name in parts),
        place / "model",
        place / "other",
        place / "model.arpa",
        place / "counts",
    )
    first = ["ngram", found.train, "-o", found.model, "--order", 3, "--arpa", found.arpa, "--counts", found.counts]
    assert run([str(word) for word in first]) == 0
    second = ["ngram", found.train, "-o", found.other, "--order", 2, "--smoothing", "witten-bell"]
    assert run([str(word) for word in second]) == 0
    return found
