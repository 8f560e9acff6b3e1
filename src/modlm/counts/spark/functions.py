"""Spark's functions on columns, imported when the first one is asked for: Spark is an extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(import_module("pyspark.sql.functions"), name)
