"""Values of settings, typed by the fields of the configuration: from TOML, from `--set a.b=c`, and back to TOML.

A field is text, a whole number, a number, true or false, a list of texts or of whole numbers, or a list of lists of
texts. Whatever does not fit is answered with the name of the setting, the value found and what belongs there.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
import typing
from typing import Any

from modlm.errors import ConfigError

TEXTS = tuple[str, ...]
WHOLES = tuple[int, ...]
GROUPS = tuple[tuple[str, ...], ...]
FREE = dict[str, Any]
RULES: dict[Any, str] = {
    str: 'text in quotes, such as "word"',
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    TEXTS: 'a list of texts, such as ["counts", "word"]',
    WHOLES: "a list of whole numbers, such as [4, 3, 2]",
    GROUPS: 'a list of lists of texts, such as [["news"], ["web", "mail"]]',
    FREE: "a table",
}


def fields_of(config: type[Any]) -> dict[str, Any]:
    """Names and types of the settings in a table."""
    hints = typing.get_type_hints(config)
    return {field.name: hints[field.name] for field in dataclasses.fields(config)}


# ---- from TOML -------------------------------------------------------------------------------------------------------


def checked(value: object, kind: Any, *, path: str) -> Any:
    """A value that TOML gave, as the type of its field; one text may stand for a list of one, an empty one for none."""
    if kind is Any:
        return value
    try:
        return _converted([value] * bool(value) if kind == TEXTS and isinstance(value, str) else value, kind)
    except (TypeError, OverflowError):
        raise ConfigError(f"{path} must be {RULES[kind]}, but is {_shown(value)}.") from None


def _converted(value: object, kind: Any) -> Any:
    if typing.get_origin(kind) is tuple:
        if not isinstance(value, list | tuple):
            raise TypeError
        return tuple(_converted(item, typing.get_args(kind)[0]) for item in value)
    plain = typing.get_origin(kind) or kind
    if not isinstance(value, int | float if plain is float else plain) or (
        isinstance(value, bool) and kind is not bool
    ):
        raise TypeError
    return float(value) if plain is float else value


# ---- from the command line -------------------------------------------------------------------------------------------


def parsed(text: str, kind: Any, *, path: str) -> Any:
    """What stands behind `a.b=`, as the type of its field: lists with commas between, groups with / between."""
    return checked(_plain(text.strip(), kind), kind, path=path)


def _plain(text: str, kind: Any) -> object:
    if kind is str:
        return _toml(text) if text[:1] in ("'", '"') else text
    if text.startswith("["):
        return _toml(text)
    if kind == TEXTS:
        return _items(text, ",")
    if kind == GROUPS:
        return [_items(group, ",") for group in _items(text, "/")]
    found = _toml(f"[{text}]" if kind == WHOLES else text)
    return text if kind is Any and isinstance(found, _Unparsed) else found


def _items(text: str, sign: str) -> list[str]:
    return [item.strip() for item in text.split(sign) if item.strip()]


def _toml(text: str) -> object:
    """The TOML value, or the text itself if it is none: the check that follows names it."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # not TOML, a number beyond all bounds, brackets without end
        return _Unparsed(text)


@dataclasses.dataclass(frozen=True, slots=True)
class _Unparsed:
    """Text that is no TOML value, so of no type."""

    text: str


def _shown(value: object) -> str:
    shown = repr(value.text) if isinstance(value, _Unparsed) else toml_value(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."


# ---- to TOML ---------------------------------------------------------------------------------------------------------


def toml_value(value: object) -> str:
    """A value as TOML; texts may hold anything but bytes that are no characters."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_value(str(key))} = {toml_value(item)}" for key, item in value.items()) + "}"
    return repr(value) if isinstance(value, int | float) else str(value)  # dates are never settings, but may be found
