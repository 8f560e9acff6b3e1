"""The examples of docs/decoders.md run, in their order."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "decoders.md"
PACKAGES = {"pyctcdecode": "pyctcdecode", "flashlight": "flashlight.lib.text.decoder"}


def test_the_examples_run() -> None:
    """Those that need a package which is not here are left out."""
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 4
    logging.disable(logging.WARNING)
    left_out = []
    try:
        for block in blocks:
            needed = [
                package for name, package in PACKAGES.items() if re.search(rf"^(from|import) {name}\b", block, re.M)
            ]
            try:
                for package in needed:
                    __import__(package)
            except ImportError:
                left_out += needed
                continue
            exec(compile(block, str(PAGE), "exec"), names)
    finally:
        logging.disable(logging.NOTSET)
    if left_out:
        pytest.skip(f"not installed: {', '.join(left_out)}")
