"""One part of a folder, a model, block or mixer: its settings, checked as they are asked for, and its files.

What classes write with `parts` they read back from a `Stored`. Nothing that a folder says is believed: a setting of the
wrong kind, or an array that does not fit, is an error that names the folder.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from modlm.errors import ModelFolderError
from modlm.families import Family
from modlm.formats.folder import Folder
from modlm.formats.vocabulary_files import vocabulary_in
from modlm.text.vocabulary import Vocabulary

COLUMNS = "columns"
DEEPEST = 16  # models inside models


@dataclass(frozen=True)
class Parts:
    """A model, block or mixer as data: settings, arrays and texts, as they stand in a folder."""

    settings: dict[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    texts: Mapping[str, str | bytes] = field(default_factory=dict)

    def within(self, place: str) -> Parts:
        """The same with its files in a folder inside."""
        arrays = {place + name: array for name, array in self.arrays.items()}
        return Parts(self.settings, arrays, {place + name: text for name, text in self.texts.items()})


class Stored:
    """What a folder says of one part, asked for with what it must be; `place` is where its files are."""

    def __init__(self, folder: Folder, about: object, place: str = "") -> None:
        if not isinstance(about, dict):
            raise folder.damaged("its description is not a list of settings")
        if place.count(f"{COLUMNS}/") > DEEPEST:
            raise folder.damaged(f"models stand inside models more than {DEEPEST} deep")
        self.folder, self.about, self.place = folder, about, place

    def part(self, name: str, place: str = "") -> Stored:
        """A group of settings, with its files in a folder inside if it has one."""
        return Stored(self.folder, self.about.get(name), self.place + place)

    def damaged(self, reason: str) -> ModelFolderError:
        """The error for a folder that contradicts itself."""
        return self.folder.damaged(reason)

    # ---- settings --------------------------------------------------------------------------------------------------

    def member(self, family: Family, name: str = "kind") -> Any:
        """The class of a family that a setting names."""
        value = self.about.get(name)
        if isinstance(value, str) and value in family:
            return family[value]
        raise self.damaged(
            f"{name} is {str(value)[:60]!r}, which this version does not know. If it is the {family.what} of another "
            f"package, install that"
        )

    def choice(self, known: Container[str], name: str) -> str:
        """A setting that is one of some names."""
        value = self.about.get(name)
        if not isinstance(value, str) or value not in known:
            raise self.damaged(f"{name} is {str(value)[:60]!r}, which this version does not know")
        return value

    def word(self, name: str) -> str:
        """A setting that is text."""
        value = self.about.get(name)
        if not isinstance(value, str):
            raise self.damaged(f"{name} must be text, but is {str(value)[:60]}")
        return value

    def words(self, name: str) -> tuple[str, ...]:
        """A list of such settings."""
        value = self.about.get(name)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.damaged(f"{name} must be a list of texts")
        return tuple(value)

    def number(self, name: str, *, whole: bool = False) -> Any:
        """A number that is not negative; no larger than any count could be."""
        return self._number(name, self.about.get(name), whole=whole)

    def numbers(self, name: str, *, whole: bool = False) -> tuple[Any, ...]:
        """A list of such numbers."""
        return self._numbers(name, self.about.get(name), whole=whole)

    def table(self, name: str, rows: int) -> tuple[tuple[float, ...], ...]:
        """So many lists of such numbers."""
        value = self.about.get(name)
        if not isinstance(value, list) or len(value) != rows:
            raise self.damaged(f"{name} must hold {rows} lists of numbers")
        return tuple(self._numbers(name, row) for row in value)

    def _number(self, name: str, value: object, *, whole: bool = False) -> Any:
        wanted = int if whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, wanted) or not 0 <= value < 2**63:
            raise self.damaged(f"{name} must be a number from 0 up, but is {str(value)[:60]}")
        return value if whole else float(value)

    def _numbers(self, name: str, value: object, *, whole: bool = False) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise self.damaged(f"{name} must be a list of numbers")
        return tuple(self._number(name, item, whole=whole) for item in value)

    # ---- files -----------------------------------------------------------------------------------------------------

    def array(self, name: str, dtype: Any, *, length: int | None = None) -> np.ndarray:
        """One of its arrays, of this type and length."""
        return self.folder.array(self.place + name, dtype, length=length)

    def dtype(self, name: str) -> np.dtype[Any] | None:
        """The type of one of its arrays, if it is there."""
        found = self.folder.arrays.get(self.place + name)
        return None if found is None else found.dtype

    def unchanged(self, name: str) -> Path:
        """The path of one of its other files, compared with its sum."""
        return self.folder.unchanged(self.place + name)

    def size(self, name: str) -> int:
        """The bytes of such a file."""
        return self.folder.file(self.place + name).stat().st_size

    def vocabulary(self) -> Vocabulary:
        """Its vocabulary."""
        return vocabulary_in(self.folder, self.about, inside=self.place, what="model was")

    def checked(self, make: Callable[[], Any], error: type[Exception] | tuple[type[Exception], ...]) -> Any:
        """What `make` makes of the settings; what it raises says that the folder is damaged."""
        try:
            return make()
        except error as reason:
            raise self.damaged(str(reason)) from reason


def frequencies(stored: Stored, name: str, length: int) -> np.ndarray:
    """Frequencies, in 32 or 64 bits."""
    return stored.array(name, np.uint64 if stored.dtype(name) == np.uint64 else np.uint32, length=length)
