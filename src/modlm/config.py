"""Choosing members of families by name, with mistakes answered by the nearest right name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from modlm.errors import ConfigError, nearest

T = TypeVar("T")


def choose(table: Mapping[str, T], name: str, *, what: str) -> T:
    """The table's entry, or an error that lists the names there are."""
    if name in table:
        return table[name]
    raise ConfigError(f"There is no {what} {name!r}.{nearest(name, table)} Known: {', '.join(table)}.")
