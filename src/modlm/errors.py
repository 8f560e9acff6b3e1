"""Everything that can go wrong and is not our mistake, as one tree.

    ModlmError
    ├── InputError            text, count file or ARPA file that breaks its format (carries file and line)
    ├── VocabularyError       reserved names, words that are not there, two vocabularies that differ
    ├── EstimationError       counts from which the asked-for model cannot be estimated
    ├── ConfigError           a setting that is out of range or unknown
    ├── ModelFolderError      a model, counts or corpus folder that is damaged, edited or of an unknown version
    ├── EngineError           a counting engine that broke off: Java missing, cluster out of reach, work lost
    ├── OutputError           a target that cannot be written (exists, read-only, disk full)
    ├── MissingPackageError   an optional package that is not installed; names the extra
    └── LostProcessError      one of several processes that train together is gone

A message says what was found, the rule, and the way out, in that order. The command line prints it and exits with 1.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


class ModlmError(Exception):
    """Base of all errors that are about the user's input or machine."""


class InputError(ModlmError):
    """A file that breaks the rules of its format; `line` counts from 1, 0 means the file as a whole."""

    def __init__(self, message: str, *, path: object = "", line: int = 0) -> None:
        self.path, self.line = str(path), line
        place = f"{path}, line {line}: " if line else f"{path}: " if path else ""
        super().__init__(place + message)


class VocabularyError(ModlmError):
    """A word or vocabulary that cannot be used here."""


class EstimationError(ModlmError):
    """Counts that do not determine the asked-for model."""


class ConfigError(ModlmError):
    """A setting that is unknown or out of range."""


class ModelFolderError(ModlmError):
    """A folder of ours that is incomplete, edited or from another version."""


class EngineError(ModlmError):
    """A counting engine that cannot begin or broke off, for reasons outside the text and the settings."""


class OutputError(ModlmError):
    """A target that cannot be written."""


class MissingPackageError(ModlmError):
    """An optional package that is not installed."""


class LostProcessError(ModlmError):
    """Processes that train together and have lost one of them; `told`: another has said already what happened."""

    def __init__(self, message: str, *, told: bool = False) -> None:
        self.told = told
        super().__init__(message)


def require(package: str, *, extra: str, purpose: str) -> ModuleType:
    """The imported package, or an error that names the extra to install."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingPackageError(
            f"{purpose} needs the package {package.partition('.')[0]!r}, which is not installed. "
            f"It comes with the extra {extra!r}: in a clone of modlm, pip install '.[{extra}]'"
        ) from error


def nearest(name: str, known: Iterable[str]) -> str:
    """', did you mean X?' for the known name closest to a wrong one, or nothing."""
    close = difflib.get_close_matches(name[:100], list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def choose(table: Mapping[str, T], name: str, *, what: str) -> T:
    """The entry of a table of members, or an error that lists the names there are."""
    if name in table:
        return table[name]
    raise ConfigError(f"There is no {what} {name!r}.{nearest(name, table)} Known: {', '.join(table)}.")
