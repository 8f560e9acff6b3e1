"""Imports point one way along the walk; torch stays out of the counting half, numba out of all but kernel modules."""

from __future__ import annotations

import ast
import graphlib
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from modlm.ground.deferred import KERNELS

PACKAGE = Path(__file__).parents[1] / "src" / "modlm"
LAYERS = (
    "errors families ground store text formats counts smoothing blocks mixers "
    "model evaluation nets testing training compat integrations experiments serve cli"
).split()
FIRST_WITH_TORCH = "nets"
MODULES = sorted(PACKAGE.rglob("*.py"))


def names_in(node: ast.AST) -> list[str]:
    """What an import statement imports, as dotted names; nothing for other nodes."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "write imports from the package root, not relative ones"
        return [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def imported_names(path: Path) -> list[str]:
    return [name for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) for name in names_in(node)]


def imported_on_import(path: Path) -> list[str]:
    """Names imported when the module itself is: not inside functions, not for type checkers only."""

    def walk(node: ast.AST) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            for_types = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
            if for_types or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                continue
            yield from names_in(child)
            yield from walk(child)

    return list(walk(ast.parse(path.read_text(encoding="utf-8"))))


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def label(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=label)
def test_imports_point_down_the_walk(path: Path) -> None:
    own = layer_of(path)
    if own.startswith("__"):  # the public face, above everything
        return
    assert own in LAYERS, f"{own} has no place in the walk; give it one in {Path(__file__).name}"
    height = LAYERS.index(own)
    for name in imported_names(path):
        root, _, rest = name.partition(".")
        other = rest.split(".")[0]
        if root == "modlm" and other in LAYERS:
            assert LAYERS.index(other) <= height, f"{own} must not import {other}: it comes later in the walk"
        if root == "torch":
            assert height >= LAYERS.index(FIRST_WITH_TORCH), f"{own} must not import torch"


@pytest.mark.parametrize("path", MODULES, ids=label)
def test_only_kernel_modules_import_numba(path: Path) -> None:
    """`modlm --help` must not wait for numba: kernel modules import it, and others take no names out of those."""
    if path.stem.endswith(KERNELS):
        return
    for name in imported_on_import(path):
        assert name.split(".")[0] != "numba", (
            f"{label(path)} imports numba; move kernels to a module named *{KERNELS}.py"
        )
        assert not any(part.endswith(KERNELS) for part in name.split(".")[:-1]), (
            f"{label(path)} takes {name} on import, which runs the module; import the module and ask it when needed"
        )


@pytest.mark.parametrize("path", MODULES, ids=label)
def test_only_the_table_of_families_names_later_modules(path: Path) -> None:
    """A dotted string is an import in disguise; `families.py` alone may name everything."""
    own = layer_of(path)
    if own.startswith("__") or own == "families":
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = re.fullmatch(r"modlm\.(\w+)(\.\w+)*(:\w+)?", node.value)
            if found and found[1] in LAYERS:
                assert LAYERS.index(found[1]) <= LAYERS.index(own), f"{label(path)} names {node.value}"


def module_of(path: Path) -> str:
    """Its dotted name."""
    parts = ("modlm", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_at_run_time(path: Path) -> set[str]:
    """The modules of ours that it imports, anywhere in it, but for type checkers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guards = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    for_types = {id(inner) for guard in guards for inner in ast.walk(guard)}
    names = {name for node in ast.walk(tree) if id(node) not in for_types for name in names_in(node)}
    deepest = {name for name in names if name in NAMES}
    return {name for name in deepest if not any(other.startswith(f"{name}.") for other in deepest)} - {module_of(path)}


NAMES = {module_of(path) for path in MODULES}


def test_no_modules_import_one_another_in_a_ring() -> None:
    """Imports inside functions count: what is put off is still a ring."""
    graph = {
        module_of(path): imports_at_run_time(path) for path in MODULES if path.stem not in ("__init__", "__main__")
    }
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(f"a ring: {' -> '.join(error.args[1])}")


ALWAYS_THERE = {"modlm", "numpy", "typer", "numba", "llvmlite", *sys.stdlib_module_names}
START_UP = {"cli", "serve", "__init__", "__main__"}  # a command waits for its own modules alone, a server for no model
SELDOM = {"modlm.ground.compiling", "modlm.model.hub", "modlm.model.translation", "modlm.store.hub"}
"""What start-up does not wait for either: modules that few calls need, with all that they import."""
PATHS = {module_of(path): path for path in MODULES}


own_imports = cache(imported_on_import)


@cache
def brought_by(module: str) -> set[str]:
    """The optional packages that a module of ours imports when it is imported, with all that it imports of ours."""
    seen, ahead, packages = {module, "modlm"}, [module], set[str]()
    while ahead:
        names = set(own_imports(PATHS[ahead.pop()]))
        packages |= {name.split(".")[0] for name in names} - ALWAYS_THERE
        ahead += (names & set(PATHS)) - seen
        seen |= names
    return packages


@pytest.mark.parametrize("path", [path for path in MODULES if layer_of(path) not in START_UP], ids=label)
def test_functions_import_our_modules_only_for_optional_packages(path: Path) -> None:
    """What is put off is not seen at the head of the module; only the package's own version cannot stand there."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
        for name in {name for node in ast.walk(function) for name in names_in(node)} & set(PATHS) - {"modlm"} - SELDOM:
            put_off = brought_by(name) - brought_by(module_of(path))
            assert put_off, f"{function.name} imports {name}; import it at the head of the module"


def test_no_module_name_stands_three_times() -> None:
    times = Counter(path.stem for path in MODULES)
    assert not [name for name, count in times.items() if count > 2 and name != "__init__"]


@pytest.mark.parametrize("path", MODULES, ids=label)
def test_functions_take_eight_parameters_at_most(path: Path) -> None:
    """But for kernels, commands, and `modlm.train`, which is one."""
    if path.stem.endswith(KERNELS) or layer_of(path) == "cli" or path.stem == "from_python":
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            assert len([name for name in names if name not in ("self", "cls")]) <= 8, f"{node.name}: {', '.join(names)}"
