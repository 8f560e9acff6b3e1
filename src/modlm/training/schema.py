"""The JSON schema of the TOML files of runs, made from the configuration itself: its types, docstrings and checks."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
import textwrap
from typing import Any, get_args, get_origin

from modlm.nets.setting_values import fields_of
from modlm.training.config import ColumnsConfig, RunConfig

Schema = dict[str, Any]
SIMPLE = {int: "integer", float: "number", str: "string", bool: "boolean"}
RULES: dict[str, Schema] = {
    "POSITIVE": {"exclusiveMinimum": 0},
    "NOT_NEGATIVE": {"minimum": 0},
    "AT_LEAST_1": {"minimum": 1},
    "SHARE": {"minimum": 0, "maximum": 1},
    "PART": {"minimum": 0, "exclusiveMaximum": 1},
}


def run_schema() -> Schema:
    """For `modlm train FILE`; what flags may give too is not required."""
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A run of modlm train"}
    return about | schema_of(RunConfig)


def schema_of(config: type[Any]) -> Schema:
    """An object with the fields of a configuration, and no others."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(config))).body
    assert isinstance(tree, ast.ClassDef)
    told, rules = descriptions(tree), checks(tree, vars(sys.modules[config.__module__]))
    usual = {field.name: field.default for field in dataclasses.fields(config)}
    properties: dict[str, Schema] = {}
    for name, kind in fields_of(config).items():
        own = type_schema(kind)
        items = own["items"] if own.get("type") == "array" else own
        items |= rules.get(name, {})
        if own.get("type") == "array" and items.get("type") == "string":
            own = {"anyOf": [own, dict(items)]}  # one may stand alone
        own |= {"description": told[name]} if name in told else {}
        own |= {"default": usual[name]} if isinstance(usual[name], str | int | float) else {}
        properties[name] = own
    return {
        "type": "object",
        "description": inspect.getdoc(config),
        "properties": properties,
        "additionalProperties": False,
    }


def type_schema(kind: Any) -> Schema:
    if dataclasses.is_dataclass(kind):
        return schema_of(kind)  # type: ignore[arg-type]  # a class, never an instance
    if get_origin(kind) is tuple:
        return {"type": "array", "items": type_schema(get_args(kind)[0])}
    if get_origin(kind) is dict:
        inside = get_args(kind)[1]
        return {"type": "object", "additionalProperties": schema_of(inside) if inside is ColumnsConfig else True}
    return {"type": SIMPLE[kind]}


def descriptions(tree: ast.ClassDef) -> dict[str, str]:
    """What is said below each field."""
    pairs = zip(tree.body, tree.body[1:], strict=False)
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairs
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }  # fmt: skip


def checks(tree: ast.ClassDef, names: dict[str, Any]) -> dict[str, Schema]:
    """What `one_of` and `check_numbers` hold the fields to, read from the calls."""
    found: dict[str, Schema] = {}
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        arguments: list[Any] = call.args
        if call.func.id == "one_of":
            known = eval(compile(ast.Expression(arguments[2]), "", "eval"), names)
            found[arguments[0].value.rpartition(".")[2]] = {"enum": list(known)}
        elif call.func.id == "check_numbers":
            constants: list[Any] = [field.value for field in arguments[3:] if isinstance(field, ast.Constant)]
            found |= dict.fromkeys(constants, RULES[arguments[2].id])
    return found
