"""Kernels compiled beforehand: the list names kernels that are there, and compiling them fills the cache."""

from __future__ import annotations

import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

from numba.core import types
from tools.kernels import TEXT, noted

from modlm.ground.compiling import kernels

SOURCE = Path(__file__).parents[2] / "src"


def test_the_list_names_kernels_of_the_program() -> None:
    gone = [(module, name) for module, name, _ in kernels() if not hasattr(importlib.import_module(module), name)]
    assert not gone, "write the list anew: python tools/kernels.py"


def test_the_list_has_a_type_for_each_argument() -> None:
    names = {**vars(types), "bool": types.boolean}
    for module, name, signature in kernels():
        wanted = inspect.signature(getattr(importlib.import_module(module), name).py_func).parameters.values()
        if all(parameter.kind is parameter.POSITIONAL_OR_KEYWORD for parameter in wanted):
            assert len(eval(signature, names)) == len(wanted), f"{module}.{name}: write the list anew"


def test_what_a_command_asks_for_is_in_its_list(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(TEXT, encoding="utf-8")
    asked = noted(["ngram", "text", "-o", "model"], tmp_path)
    assert "sort_suffixes" in {name for _, name, _ in asked}  # which runs on threads
    assert set(asked) == set(kernels("ngram")), "write the list anew: python tools/kernels.py"


def test_what_is_compiled_is_kept(tmp_path: Path) -> None:
    code = (
        "from modlm.ground.compiling import compile_kernels, kernels\n"
        "compile_kernels([one for one in kernels('ngram') if one[1] == 'count_newlines'] or kernels('ngram')[:1])\n"
    )
    own = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(SOURCE)}
    assert subprocess.run([sys.executable, "-c", code], env=own, check=False).returncode == 0
    assert list(tmp_path.rglob("*.nbi"))
