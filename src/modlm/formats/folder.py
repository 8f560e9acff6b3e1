"""Folders of ours on disk, readable without us: a manifest `<kind>.json`, arrays as `.npy`, texts as they are.

The manifest says what the folder is (`format`, `version`), what it holds (`about`, as its kind defines it), and lists
every file with its size and sha256, arrays with dtype and shape too; its own sha256 stands first. Folders are written
aside and renamed. Opening maps the arrays and believes nothing: the manifest must be as it was written, each name must
stay inside the folder, each file must be there with the listed size, each array must have the listed header;
`verify="full"` compares the sha256 of everything as well. Files may be links (caches keep them so), and files that are
not listed are nobody's business.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from modlm.arrays import in_parallel
from modlm.errors import ConfigError, ModelFolderError
from modlm.files import new_folder, sha256
from modlm.formats.npy import AnyArray, dtype_name, dtype_of, open_npy, write_npy

Verify: TypeAlias = Literal["fast", "full"]
"""How much is checked on opening: sizes, dtypes and shapes, or every byte as well."""

T = TypeVar("T")
ARRAY = ".npy"
MANIFEST_BYTES = 1 << 23  # no manifest of ours comes near this; as many brackets take a hundred times as much memory
LONGEST_NAME = 1000
ENTRIES = {"sha256", "format", "version", "about", "files"}
SIGNED = re.compile(rb'\{\n "sha256": "([^"\n]*)",\n')
FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")


@dataclass(frozen=True, slots=True)
class Folder:
    """An opened folder. Whoever asks for a part says what it must be, and gets it or a `ModelFolderError`."""

    path: Path
    kind: str
    about: dict[str, Any]
    arrays: dict[str, AnyArray]
    texts: tuple[str, ...]
    sums: dict[str, object] = field(default_factory=dict)
    """The listed sha256 of each file."""

    def array(self, name: str, dtype: DTypeLike, *, length: int | None = None) -> AnyArray:
        """An array that must be one-dimensional, of this dtype and, when given, this length."""
        if name not in self.arrays:
            raise self.damaged(f"the array {name!r} is missing")
        array = self.arrays[name]
        if array.dtype != np.dtype(dtype) or array.ndim != 1:
            raise self.damaged(f"{name}{ARRAY} holds {array.dtype} {array.shape}, not a row of {np.dtype(dtype)}")
        if length is not None and len(array) != length:
            raise self.damaged(f"{name}{ARRAY} has {len(array)} entries, but the rest of the folder asks for {length}")
        return array

    def file(self, name: str) -> Path:
        """The path of a listed file that is not an array."""
        if name not in self.texts:
            raise self.damaged(f"the file {name} is missing")
        return self.path / name

    def unchanged(self, name: str) -> Path:
        """The same for a file that is about to be read whole: so its sum costs little, and is compared."""
        path = self.file(name)
        if (found := sha256(path)) != self.sums.get(name):
            raise self.damaged(f"{name}: its contents have changed: its sha256 is now {found}")
        return path

    def text(self, name: str) -> str:
        """A text file's contents."""
        try:
            return self.file(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise self.damaged(f"{name} cannot be read: {error}") from error

    def whole(self, name: str, *, low: int = 0, high: int = 2**63 - 1) -> int:
        """A whole number of `about`."""
        value = self.about.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.damaged(f"{name!r} must be a whole number from {low} to {high}, but is {_shown(value)}")
        return value

    def wholes(self, name: str, *, low: int = 0, high: int = 2**63 - 1) -> tuple[int, ...]:
        """A list of whole numbers of `about`."""
        value = self.about.get(name)
        if not isinstance(value, list):
            raise self.damaged(f"{name!r} must be a list of whole numbers, but is {_shown(value)}")
        for item in value:
            if isinstance(item, bool) or not isinstance(item, int) or not low <= item <= high:
                raise self.damaged(f"{name!r} must hold whole numbers from {low} to {high}, but has {_shown(item)}")
        return tuple(value)

    def word(self, name: str, *, known: tuple[str, ...] = ()) -> str:
        """A string of `about`, one of the known ones if there are any."""
        value = self.about.get(name)
        if not isinstance(value, str) or (known and value not in known):
            rule = f"one of {', '.join(known)}" if known else "a string"
            raise self.damaged(f"{name!r} must be {rule}, but is {_shown(value)}")
        return value

    def damaged(self, reason: str) -> ModelFolderError:
        """The error for a folder that contradicts itself."""
        return damaged(self.path, self.kind, reason)


def damaged(path: Path, kind: str, reason: str) -> ModelFolderError:
    """The error for a folder that is incomplete or was edited."""
    return ModelFolderError(
        f"The {kind} folder {path} cannot be used: {reason}. It is incomplete, damaged or was edited; "
        f"copy it again from where it came from, or make it anew."
    )


def write_folder(
    target: str | os.PathLike[str],
    *,
    kind: str,
    about: Mapping[str, Any],
    arrays: Mapping[str, AnyArray],
    texts: Mapping[str, str | bytes],
    version: int = 1,
    overwrite: bool = False,
    workers: int | None = None,
) -> None:
    """Write a folder; an array `columns/ngram/words` becomes the file `columns/ngram/words.npy`.

    Nothing of the machine or the time is written, so the same contents give the same bytes.
    """
    with new_folder(Path(target), overwrite=overwrite) as place:
        tasks = [partial(_write_array, place, name, array) for name, array in arrays.items()]
        tasks += [partial(_write_text, place, name, text) for name, text in texts.items()]
        files = dict(sorted(in_parallel(tasks, workers=workers)))
        manifest = {"format": f"modlm {kind}", "version": version, "about": dict(about), "files": files}
        text = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        (place / manifest_name(kind)).write_bytes(_signed(text.encode()))


def _signed(manifest: bytes) -> bytes:
    """The manifest with a first entry that is the sum of all behind it."""
    rest = manifest.removeprefix(b"{\n")
    return b'{\n "sha256": "%s",\n' % hashlib.sha256(rest).hexdigest().encode() + rest


def _write_array(place: Path, name: str, array: AnyArray) -> tuple[str, dict[str, Any]]:
    path = _place_of(place, name + ARRAY)
    size, digest = write_npy(path, array)
    return name + ARRAY, {"bytes": size, "sha256": digest, "dtype": dtype_name(array), "shape": list(array.shape)}


def _write_text(place: Path, name: str, text: str | bytes) -> tuple[str, dict[str, Any]]:
    assert not name.endswith(ARRAY), "arrays are written as arrays"
    data = text.encode() if isinstance(text, str) else text
    _place_of(place, name).write_bytes(data)
    return name, {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _place_of(place: Path, name: str) -> Path:
    assert FILE_NAME.fullmatch(name), f"{name!r} is no file name of ours"
    path = place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def manifest_name(kind: str) -> str:
    """`counts.json`, `model.json`, …"""
    return f"{kind}.json"


def is_folder(path: str | os.PathLike[str], *, kind: str) -> bool:
    """Whether there is a folder of this kind, by its manifest's name alone."""
    return (Path(path) / manifest_name(kind)).is_file()


def open_folder(
    path: str | os.PathLike[str], *, kind: str, verify: Verify = "fast", version: int = 1, workers: int | None = None
) -> Folder:
    """The folder's contents, arrays mapped read-only, after the checks that `verify` asks for."""
    if verify not in ("fast", "full"):
        raise ConfigError(f'verify must be "fast" or "full", but is {verify!r}.')
    place = Path(path)
    about, files = _read_manifest(place, kind=kind, version=version, verify=verify)
    arrays = {
        name.removesuffix(ARRAY): _open_file(place, kind, name, record, _open_array)
        for name, record in files.items()
        if name.endswith(ARRAY)
    }
    texts = tuple(name for name in files if not name.endswith(ARRAY))
    for name in texts:
        _open_file(place, kind, name, files[name], lambda path, record: None)
    if verify == "full":
        check = [partial(_open_file, place, kind, name, record, _compare_sha256) for name, record in files.items()]
        in_parallel(check, workers=workers)
    return Folder(place, kind, about, arrays, texts, {name: record.get("sha256") for name, record in files.items()})


def _read_manifest(
    place: Path, *, kind: str, version: int, verify: Verify
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    name = manifest_name(kind)
    if not place.exists():
        raise ModelFolderError(f"There is no folder {place}. Give the folder in which {name} lies.")
    if not (place / name).is_file():
        raise ModelFolderError(
            f"{place} is not a {kind} folder: it has no {name}. Give the folder in which {name} lies."
        )
    try:
        if (place / name).stat().st_size > MANIFEST_BYTES:
            raise ValueError("it is far too large")
        data = (place / name).read_bytes()
        manifest = json.loads(data)
        _check_sum(data, manifest, verify)
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(place, kind, f"{name} cannot be read ({error})") from error
    if not isinstance(manifest, dict) or manifest.get("format") != f"modlm {kind}":
        raise damaged(place, kind, f"{name} does not describe modlm {kind}")
    found = manifest.get("version")
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise damaged(place, kind, f"{name} has no proper version, but {_shown(found)}")
    if found > version:
        raise ModelFolderError(
            f"{place} was made by a newer modlm: it has version {found} of the {kind} format, and this one reads up to "
            f"{version}. Update with: pip install --upgrade modlm"
        )
    if odd := sorted(set(manifest) - ENTRIES):
        raise damaged(place, kind, f"{name} has an entry {odd[0][:60]!r}, which this version does not know")
    about, files = manifest.get("about"), manifest.get("files")
    if not isinstance(about, dict) or not isinstance(files, dict):
        raise damaged(place, kind, f"{name} lacks 'about' or 'files'")
    for file, record in files.items():
        if len(file) > LONGEST_NAME or not FILE_NAME.fullmatch(file):
            raise damaged(place, kind, f"{name} lists a file {file[:200]!r}, which is no name inside the folder")
        if not isinstance(record, dict):
            raise damaged(place, kind, f"{name} does not say what {file} is")
    return about, files


def _check_sum(data: bytes, manifest: object, verify: Verify) -> None:
    """That nothing changed since we wrote it. Who edits a manifest on purpose leaves out its sum."""
    signed = SIGNED.match(data)
    if signed and hashlib.sha256(data[signed.end() :]).hexdigest().encode() != signed[1]:
        raise ValueError("its contents have changed: they do not have the sha256 that its first line gives")
    if verify == "full" and not signed and isinstance(manifest, dict) and "sha256" in manifest:
        raise ValueError("it was edited, but its sha256 was left as it was")


def _open_file(
    place: Path, kind: str, name: str, record: dict[str, Any], opened: Callable[[Path, dict[str, Any]], T]
) -> T:
    """What `opened` makes of the file, once it is there with its listed size."""
    path = place / name
    try:
        if not path.is_file():
            raise ValueError("it is not there")
        size = path.stat().st_size
        if size != record.get("bytes"):
            raise ValueError(f"it has {size} bytes, but {manifest_name(kind)} lists {_shown(record.get('bytes'))}")
        return opened(path, record)
    except (OSError, ValueError) as error:
        raise damaged(place, kind, f"{name}: {getattr(error, 'strerror', None) or error}") from error


def _open_array(path: Path, record: dict[str, Any]) -> AnyArray:
    dtype, shape = dtype_of(record.get("dtype")), record.get("shape")
    if not isinstance(shape, list) or not 1 <= len(shape) <= 8:
        raise ValueError(f"its shape is {_shown(shape)}, not a short list of lengths")
    if any(isinstance(n, bool) or not isinstance(n, int) or not 0 <= n < 2**60 for n in shape):
        raise ValueError(f"its shape is {_shown(shape)}, not a list of lengths")
    return open_npy(path, dtype=dtype, shape=tuple(shape))


def _compare_sha256(path: Path, record: dict[str, Any]) -> None:
    found = sha256(path)
    if found != record.get("sha256"):
        raise ValueError(f"its contents have changed: sha256 {found} is not the listed {_shown(record.get('sha256'))}")


def _shown(value: object) -> str:
    """A value from a manifest, short enough for a message."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
