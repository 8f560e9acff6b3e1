"""Manifests: `<kind>.json` says what a folder is (`format`, `version`) and what it holds (`about`, `files`).

Its own sha256 stands first, so that a changed byte is noticed; who edits a manifest on purpose leaves the sum out.
Nothing in a manifest is believed before it was checked.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from modlm.errors import ConfigError, ModelFolderError

Verify: TypeAlias = Literal["fast", "full"]
"""How much is checked on opening: sizes, dtypes and shapes, or every byte as well."""
Record: TypeAlias = dict[str, Any]

MANIFEST_BYTES = 1 << 23  # no manifest of ours comes near this; as many brackets take a hundred times as much memory
LONGEST_NAME = 1000
ENTRIES = {"sha256", "format", "version", "about", "files"}
SIGNED = re.compile(rb'\{\n "sha256": "([^"\n]*)",\n')
FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")


def manifest_name(kind: str) -> str:
    """`counts.json`, `model.json`, …"""
    return f"{kind}.json"


def is_folder(path: str | os.PathLike[str], *, kind: str) -> bool:
    """Whether there is a folder of this kind, by its manifest's name alone."""
    return (Path(path) / manifest_name(kind)).is_file()


def damaged(path: Path, kind: str, reason: str) -> ModelFolderError:
    """The error for a folder that is incomplete or was edited."""
    return ModelFolderError(
        f"The {kind} folder {path} cannot be used: {reason}. It is incomplete, damaged or was edited; "
        f"copy it again from where it came from, or make it anew."
    )


def shown(value: object) -> str:
    """A value from a manifest, short enough for a message."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def write_manifest(
    place: Path, *, kind: str, about: Mapping[str, Any], files: Mapping[str, Record], version: int = 1
) -> None:
    """Write what a folder is and holds; the same contents give the same bytes."""
    manifest = {
        "format": f"modlm {kind}",
        "version": version,
        "about": dict(about),
        "files": dict(sorted(files.items())),
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    rest = text.encode().removeprefix(b"{\n")
    own_sum = b'{\n "sha256": "%s",\n' % _sha256(rest)
    (place / manifest_name(kind)).write_bytes(own_sum + rest)


def read_manifest(place: Path, *, kind: str, version: int = 1, verify: Verify = "fast") -> dict[str, Any]:
    """The manifest of a folder, of this kind and no newer than this version."""
    if verify not in ("fast", "full"):
        raise ConfigError(f'verify must be "fast" or "full", but is {verify!r}.')
    name = manifest_name(kind)
    if not place.exists():
        raise ModelFolderError(f"There is no folder {place}. Give the folder in which {name} lies.")
    if not is_folder(place, kind=kind):
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
        raise damaged(place, kind, f"{name} has no proper version, but {shown(found)}")
    if found > version:
        raise ModelFolderError(
            f"{place} was made by a newer modlm: it has version {found} of the {kind} format, and this one reads up to "
            f"{version}. Update with: pip install --upgrade modlm"
        )
    return manifest


def _sha256(data: bytes) -> bytes:
    import hashlib  # brings OpenSSL, which `modlm --help` does without

    return hashlib.sha256(data).hexdigest().encode()


def _check_sum(data: bytes, manifest: object, verify: Verify) -> None:
    """That nothing changed since we wrote it."""
    signed = SIGNED.match(data)
    if signed and _sha256(data[signed.end() :]) != signed[1]:
        raise ValueError("its contents have changed: they do not have the sha256 that its first line gives")
    if verify == "full" and not signed and isinstance(manifest, dict) and "sha256" in manifest:
        raise ValueError("it was edited, but its sha256 was left as it was")


def contents_of(manifest: dict[str, Any], place: Path, *, kind: str) -> tuple[dict[str, Any], dict[str, Record]]:
    """What a manifest says `about` the folder, and its `files`, all of them inside the folder."""
    name, about, files = manifest_name(kind), manifest.get("about"), manifest.get("files")
    if odd := sorted(set(manifest) - ENTRIES):
        raise damaged(place, kind, f"{name} has an entry {odd[0][:60]!r}, which this version does not know")
    if not isinstance(about, dict) or not isinstance(files, dict):
        raise damaged(place, kind, f"{name} lacks 'about' or 'files'")
    for file, record in files.items():
        if len(file) > LONGEST_NAME or not FILE_NAME.fullmatch(file):
            raise damaged(place, kind, f"{name} lists a file {file[:200]!r}, which is no name inside the folder")
        if not isinstance(record, dict):
            raise damaged(place, kind, f"{name} does not say what {file} is")
    return about, files
