"""Folders of ours on disk, readable without us: a manifest `<kind>.json`, arrays as `.npy`, texts as they are.

The manifest lists every file with its size and sha256, arrays with dtype and shape too. Folders are written aside and
renamed. Opening maps the arrays and believes nothing: the manifest must be as it was written, each name must stay
inside the folder, each file must be there with the listed size, each array must have the listed header;
`verify="full"` compares the sha256 of everything as well. Files may be links (caches keep them so), and files that are
not listed are nobody's business.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from modlm.errors import ConfigError, ModelFolderError
from modlm.families import Family
from modlm.ground.arrays import in_parallel
from modlm.ground.files import new_folder, sha256
from modlm.store.manifest import (
    FILE_NAME,
    Record,
    Verify,
    contents_of,
    damaged,
    manifest_name,
    read_manifest,
    shown,
    write_manifest,
)
from modlm.store.npy import AnyArray, dtype_of, open_npy, write_npy

T = TypeVar("T")
ARRAY = ".npy"
COLUMNS = "columns"
LARGEST = 2**63 - 1
DEEPEST = 16  # models inside models


@dataclass(frozen=True)
class Parts:
    """A model, block or mixer as data: settings, arrays and texts, as they stand in a folder."""

    settings: dict[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, AnyArray] = field(default_factory=dict)
    texts: Mapping[str, str | bytes] = field(default_factory=dict)

    def within(self, place: str) -> Parts:
        """The same with its files in a folder inside."""
        arrays = {place + name: array for name, array in self.arrays.items()}
        return Parts(self.settings, arrays, {place + name: text for name, text in self.texts.items()})


@dataclass(frozen=True, slots=True)
class Folder:
    """An opened folder, or a part of one: settings, and the files in a folder inside it.

    Whoever asks for something says what it must be, and gets it or a `ModelFolderError`.
    """

    path: Path
    kind: str
    about: dict[str, Any]
    arrays: dict[str, AnyArray]
    texts: tuple[str, ...]
    sums: dict[str, object] = field(default_factory=dict)
    """The listed sha256 of each file."""
    inside: str = ""
    """What names of files begin with: that of the folder inside, with a slash."""
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """Functions that whoever opens the folder gives for columns by their names."""

    def part(self, name: str, *, inside: str = "") -> Folder:
        """A group of settings in `about`, with files in a folder inside this one."""
        about = self.about.get(name)
        if not isinstance(about, dict):
            raise self.damaged(f"{name} is not a list of settings")
        if (self.inside + inside).count(f"{COLUMNS}/") > DEEPEST:
            raise self.damaged(f"models stand inside models more than {DEEPEST} deep")
        return replace(self, about=about, inside=self.inside + inside)

    # ---- files ---------------------------------------------------------------------------------------------------

    def array(self, name: str, *dtypes: DTypeLike, length: int | None = None) -> AnyArray:
        """An array that must be one-dimensional, of one of the dtypes and, when given, of this length."""
        name = self.inside + name
        if name not in self.arrays:
            raise self.damaged(f"the array {name!r} is missing")
        array = self.arrays[name]
        if array.dtype not in [np.dtype(dtype) for dtype in dtypes] or array.ndim != 1:
            raise self.damaged(f"{name}{ARRAY} holds {array.dtype} {array.shape}, not a row of {np.dtype(dtypes[0])}")
        if length is not None and len(array) != length:
            raise self.damaged(f"{name}{ARRAY} has {len(array)} entries, but the rest of the folder asks for {length}")
        return array

    def file(self, name: str) -> Path:
        """The path of a listed file that is not an array."""
        name = self.inside + name
        if name not in self.texts:
            raise self.damaged(f"the file {name} is missing")
        return self.path / name

    def unchanged(self, name: str) -> Path:
        """The same for a file that is about to be read whole: so its sum costs little, and is compared."""
        path = self.file(name)
        if (found := sha256(path)) != self.sums.get(self.inside + name):
            raise self.damaged(f"{self.inside}{name}: its contents have changed: its sha256 is now {found}")
        return path

    # ---- settings ------------------------------------------------------------------------------------------------

    def whole(self, name: str, *, high: int = LARGEST) -> int:
        """A whole number from 0 up."""
        return self._whole(name, self.about.get(name), high)

    def wholes(self, name: str, *, high: int = LARGEST) -> tuple[int, ...]:
        """A list of them."""
        return tuple(self._whole(name, item, high) for item in self.list_of(name, object))

    def real(self, name: str) -> float:
        """A number from 0 up."""
        return self._real(name, self.about.get(name))

    def reals(self, name: str) -> tuple[float, ...]:
        """A list of them."""
        return tuple(self._real(name, item) for item in self.list_of(name, object))

    def _whole(self, name: str, value: object, high: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= high:
            raise self.damaged(f"{name} must be a whole number from 0 up to {high}, but is {shown(value)}")
        return value

    def _real(self, name: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST:
            raise self.damaged(f"{name} must be a number from 0 up, but is {shown(value)}")
        return float(value)

    def list_of(self, name: str, kind: type) -> list[Any]:
        """A list of things of one kind."""
        value = self.about.get(name)
        if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
            raise self.damaged(f"{name} must be a list, but is {shown(value)}")
        return value

    def word(self, name: str, known: Iterable[str]) -> str:
        """One of the known strings."""
        value = self.about.get(name)
        if not isinstance(value, str) or value not in (known := tuple(known)):
            raise self.damaged(f"{name} is {shown(value)}, which this version does not know: {', '.join(known)}")
        return value

    def member(self, family: Family, name: str = "kind") -> Any:
        """The class of a family that a setting names."""
        value = self.about.get(name)
        if isinstance(value, str) and value in family:
            return family[value]
        raise self.damaged(
            f"{name} is {shown(value)}, which this version does not know; if it is a {family.what} of another package, "
            f"install that"
        )

    def checked(self, make: Callable[[], T], errors: tuple[type[Exception], ...] = (ConfigError,)) -> T:
        """What `make` makes of the settings; what it raises says that the folder is damaged."""
        try:
            return make()
        except errors as error:
            raise self.damaged(str(error).rstrip(".")) from error

    def damaged(self, reason: str) -> ModelFolderError:
        """The error for a folder that contradicts itself."""
        return damaged(self.path, self.kind, reason)


# ---- writing ---------------------------------------------------------------------------------------------------------


def write_folder(
    target: str | os.PathLike[str],
    *,
    kind: str,
    about: Mapping[str, Any],
    arrays: Mapping[str, AnyArray],
    texts: Mapping[str, str | bytes],
    overwrite: bool = False,
) -> None:
    """Write a folder; an array `columns/ngram/words` becomes the file `columns/ngram/words.npy`.

    Nothing of the machine or the time is written, so the same contents give the same bytes.
    """
    with new_folder(Path(target), overwrite=overwrite) as place:
        tasks = [partial(_write_array, place, name, array) for name, array in arrays.items()]
        tasks += [partial(_write_text, place, name, text) for name, text in texts.items()]
        write_manifest(place, kind=kind, about=about, files=dict(in_parallel(tasks)))


def _write_array(place: Path, name: str, array: AnyArray) -> tuple[str, Record]:
    return name + ARRAY, write_npy(_place_of(place, name + ARRAY), array)


def _write_text(place: Path, name: str, text: str | bytes) -> tuple[str, Record]:
    assert not name.endswith(ARRAY), "arrays are written as arrays"
    data = text.encode() if isinstance(text, str) else text
    _place_of(place, name).write_bytes(data)
    return name, {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _place_of(place: Path, name: str) -> Path:
    assert FILE_NAME.fullmatch(name), f"{name!r} is no file name of ours"
    path = place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


# ---- opening ---------------------------------------------------------------------------------------------------------


def open_folder(path: str | os.PathLike[str], *, kind: str, verify: Verify = "fast", version: int = 1) -> Folder:
    """The folder's contents, arrays mapped read-only, after the checks that `verify` asks for."""
    place = Path(path)
    manifest = read_manifest(place, kind=kind, version=version, verify=verify)
    about, files = contents_of(manifest, place, kind=kind)
    checks = [partial(_checked, place, kind, name, record, verify) for name, record in files.items()]
    opened = dict(zip(files, in_parallel(checks, workers=None if verify == "full" else 1), strict=True))
    arrays = {name.removesuffix(ARRAY): array for name, array in opened.items() if array is not None}
    texts = tuple(name for name, array in opened.items() if array is None)
    return Folder(place, kind, about, arrays, texts, {name: record.get("sha256") for name, record in files.items()})


def _checked(place: Path, kind: str, name: str, record: Record, verify: Verify) -> AnyArray | None:
    """A listed file, there with its listed size and, if asked, its sum: an array, or None for anything else."""
    path = place / name
    try:
        if not path.is_file():
            raise ValueError("it is not there")
        size = path.stat().st_size
        if size != record.get("bytes"):
            raise ValueError(f"it has {size} bytes, but {manifest_name(kind)} lists {shown(record.get('bytes'))}")
        array = _mapped(path, record) if name.endswith(ARRAY) else None
        if verify == "full" and (found := sha256(path)) != record.get("sha256"):
            listed = shown(record.get("sha256"))
            raise ValueError(f"its contents have changed: sha256 {found} is not the listed {listed}")
        return array
    except (OSError, ValueError) as error:
        raise damaged(place, kind, f"{name}: {getattr(error, 'strerror', None) or error}") from error


def _mapped(path: Path, record: Record) -> AnyArray:
    dtype, shape = dtype_of(record.get("dtype")), record.get("shape")
    if not isinstance(shape, list) or not 1 <= len(shape) <= 8:
        raise ValueError(f"its shape is {shown(shape)}, not a short list of lengths")
    if any(isinstance(n, bool) or not isinstance(n, int) or not 0 <= n < 2**60 for n in shape):
        raise ValueError(f"its shape is {shown(shape)}, not a list of lengths")
    return open_npy(path, dtype=dtype, shape=tuple(shape))
