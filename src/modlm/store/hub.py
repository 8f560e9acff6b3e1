"""What the Hugging Face Hub keeps: folders of ours in repositories, `hf://user/name` or `hf://user/name@revision`.

Only files that the folder's manifest lists are downloaded, into the Hub's own cache.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from modlm.errors import ModelFolderError, require
from modlm.store.manifest import manifest_name, read_manifest

T = TypeVar("T")
ADDRESS = re.compile(r"hf:/{1,2}(?P<name>[^@]*)(@(?P<revision>.+))?")  # paths lose the second stroke
FAILURES = {
    "HFValidationError": "{address} is no name on the Hub: {error}. Say user/name or user/name@revision.",
    "GatedRepoError": "{address} is there, but its owner has to let you in. Ask on its page, then hf auth login.",
    "RepositoryNotFoundError": "There is no {address} on the Hub, or it is private. Check its name, or hf auth login.",
    "RevisionNotFoundError": "{address}: there is no such revision. Give a branch, a tag or a commit.",
    "LocalEntryNotFoundError": "{address} is not in the Hub's cache here, and the Hub cannot be reached: {error}",
    "EntryNotFoundError": "{address} holds no model of modlm: there is no model.json in it.",
    "HfHubHTTPError": "{address}: the Hub refused: {error}",
    "ConnectionError": "{address}: the Hub cannot be reached: {error}",
    "TransportError": "{address}: the Hub cannot be reached: {error}",
}
"""By the kind of the Hub's error, the more special first."""


def hub() -> Any:
    """The package."""
    return require("huggingface_hub", extra="hub", purpose="The Hugging Face Hub")


def download(address: str, *, kind: str) -> Path:
    """The folder in the Hub's cache with the model of `hf://user/name` or `hf://user/name@revision`."""
    found = ADDRESS.fullmatch(address)
    assert found is not None
    package, name, revision = hub(), found["name"], found["revision"]
    wanted = {"filename": manifest_name(kind), "revision": revision}
    cached = asked(address, lambda: package.try_to_load_from_cache(name, **wanted))
    if not isinstance(cached, str):  # asked for once beforehand: a download would be tried five times, for 23 seconds
        asked(address, lambda: package.get_hf_file_metadata(package.hf_hub_url(name, **wanted)))
    manifest = Path(asked(address, lambda: package.hf_hub_download(name, **wanted)))
    files = [manifest.name, *read_manifest(manifest.parent, kind=kind)["files"]]
    return Path(asked(address, lambda: package.snapshot_download(name, revision=revision, allow_patterns=files)))


def asked(address: str, ask: Callable[[], T]) -> T:
    """What the Hub answers, or one message about what went wrong."""
    try:
        return ask()
    except Exception as error:
        kinds = {name for kind in type(error).__mro__ for name in [kind.__name__]}
        told = next((told for name, told in FAILURES.items() if name in kinds), None)
        if told is None:
            raise
        first = (str(error.__cause__ or error).strip() or type(error).__name__).splitlines()[0]
        raise ModelFolderError(told.format(address=address, error=first)) from error
