"""Models on the Hugging Face Hub: `hf://user/name` is loaded from there, and `push_to_hub` puts a model there.

A repository holds a model folder as it is, and README.md, the card with the header that the Hub reads. Only files that
the folder's manifest lists are downloaded, into the Hub's own cache, and each is compared with its sha256.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from modlm.errors import ModelFolderError, require
from modlm.model.folder import CARD, KIND, default_card, save
from modlm.store.manifest import manifest_name, read_manifest

if TYPE_CHECKING:
    from modlm.model.language_model import LanguageModel

T = TypeVar("T")
ADDRESS = re.compile(r"hf:/{1,2}(?P<name>[^@]*)(@(?P<revision>.+))?")  # paths lose the second stroke
MEASURED = re.compile(r"(?im)^- perplexity o[nf] (?P<text>.+?)(?: \((?:validation|test)\))?: (?P<value>\d[\d,.]*\d)")
README = "README.md"
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


def _hub() -> Any:
    return require("huggingface_hub", extra="hub", purpose="The Hugging Face Hub")


def download(address: str) -> Path:
    """The folder in the Hub's cache with the model of `hf://user/name` or `hf://user/name@revision`."""
    found = ADDRESS.fullmatch(address)
    assert found is not None
    hub, name, revision = _hub(), found["name"], found["revision"]
    manifest = Path(_asked(address, lambda: hub.hf_hub_download(name, manifest_name(KIND), revision=revision)))
    files = [manifest.name, *read_manifest(manifest.parent, kind=KIND)["files"]]
    return Path(_asked(address, lambda: hub.snapshot_download(name, revision=revision, allow_patterns=files)))


def push(
    model: LanguageModel,
    name: str,
    *,
    card: str = "",
    licence: str = "",
    language: Sequence[str] = (),
    datasets: Sequence[str] = (),
    perplexities: Mapping[str, float] | None = None,
    private: bool | None = None,
    revision: str | None = None,
    message: str = "",
) -> str:
    """Put a model into a repository, which is made if need be; the address of what was written there."""
    api = _hub().HfApi()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        text = card or _own_card(model) or default_card(model)
        save(model, folder, card=text)
        head = header(model, name, text, licence, language, datasets, perplexities or {})
        (folder / README).write_text(f"---\n{head}\n---\n\n{text}", encoding="utf-8")

        def upload() -> Any:
            api.create_repo(name, private=private, exist_ok=True)
            return api.upload_folder(
                repo_id=name,
                folder_path=folder,
                revision=revision,
                commit_message=message or f"A {type(model).__name__}",
            )

        return str(_asked(f"hf://{name}", upload))


def _own_card(model: LanguageModel) -> str:
    path = Path(model.folder or "") / CARD
    return path.read_text(encoding="utf-8") if model.folder and path.is_file() else ""


def header(
    model: LanguageModel, name: str, card: str, licence: str, language: Sequence[str], datasets: Sequence[str],
    perplexities: Mapping[str, float],
) -> str:  # fmt: skip
    """The YAML before a card: what the Hub shows, searches by and compares; perplexities also from the card itself."""
    hub = _hub()
    measured = {found["text"]: float(found["value"].replace(",", "")) for found in MEASURED.finditer(card)}
    results = [
        hub.EvalResult(
            task_type="text-generation", dataset_type=re.sub(r"[^\w./-]+", "-", text), dataset_name=text,
            metric_type="perplexity", metric_value=float(value),
        )
        for text, value in {**measured, **perplexities}.items()
    ]  # fmt: skip
    about = model.described()
    tags = ["modlm", "language-model", *(str(about[key]) for key in ("smoothing", "body") if about.get(key))]
    data = hub.ModelCardData(
        language=list(language) or None, license=licence or None, library_name="modlm", tags=tags,
        datasets=list(datasets) or None, metrics=["perplexity"] if results else None, pipeline_tag="text-generation",
        model_name=name.rpartition("/")[2], eval_results=results or None,
    )  # fmt: skip
    return str(data.to_yaml())


def _asked(address: str, ask: Callable[[], T]) -> T:
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
