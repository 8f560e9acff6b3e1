"""What `import modlm` offers is a list somebody decided on, and costs little."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import modlm

PUBLIC = [
    "Attention", "Block", "Cache", "Corpus", "Counts", "Delta", "FeedForward", "FunctionBlock", "Gru", "Kind",
    "LanguageModel", "Lstm", "Mixture", "Model", "ModlmError", "Ngram", "NgramLM", "Online", "Rnn", "Sampling",
    "TextIndex", "Transformer", "Uniform", "Unknown", "Vocabulary",
    "__version__", "certify", "index_text", "load", "register", "save", "train",
]  # fmt: skip
SLOW = ["matplotlib", "numba", "rich", "torch", "typer"]


def test_the_public_names_are_the_decided_ones() -> None:
    assert sorted(modlm.__all__) == PUBLIC


def test_every_public_name_is_there() -> None:
    for name in modlm.__all__:
        assert hasattr(modlm, name), name


def test_the_version_is_the_one_in_the_metadata() -> None:
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    declared = re.search(r'^version = "(.+)"$', text, re.MULTILINE)
    assert declared and modlm.__version__ == declared[1]
    try:
        installed = version("modlm")
    except PackageNotFoundError:
        pytest.skip("modlm runs from its sources here, without installed metadata")
    assert installed == modlm.__version__


def test_importing_the_package_imports_nothing_slow() -> None:
    script = f"import sys, modlm; print([name for name in {SLOW!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
