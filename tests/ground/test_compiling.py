"""Kernels compiled beforehand: the list names kernels that are there, and compiling them fills the cache."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

from modlm.ground.compiling import kernels

SOURCE = Path(__file__).parents[2] / "src"


def test_the_list_names_kernels_of_the_program() -> None:
    gone = [(module, name) for module, name, _ in kernels() if not hasattr(importlib.import_module(module), name)]
    assert not gone, "write the list anew: python tools/kernels.py"


def test_what_is_compiled_is_kept(tmp_path: Path) -> None:
    code = (
        "from modlm.ground.compiling import compile_kernels, kernels\n"
        "compile_kernels([one for one in kernels('ngram') if one[1] == 'count_newlines'] or kernels('ngram')[:1])\n"
    )
    own = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(SOURCE)}
    assert subprocess.run([sys.executable, "-c", code], env=own, check=False).returncode == 0
    assert list(tmp_path.rglob("*.nbi"))
