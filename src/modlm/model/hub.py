"""Models put on the Hugging Face Hub: a model folder as it is, and README.md, the card with a header for the Hub."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modlm.model.folder import CARD, default_card, save
from modlm.store.hub import asked, hub

if TYPE_CHECKING:
    from modlm.model.language_model import LanguageModel

MEASURED = re.compile(r"(?im)^- perplexity o[nf] (?P<text>.+?)(?: \((?:validation|test)\))?: (?P<value>\d[\d,.]*\d)")
README = "README.md"


def push(
    model: LanguageModel, name: str, *, card: str = "", private: bool | None = None, revision: str | None = None,
    message: str = "", **about: Any,
) -> str:  # fmt: skip
    """Put a model into a repository, which is made if need be; the address of what was written there."""
    api = hub().HfApi()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        known = Path(model.folder or "", CARD)
        own = known.read_text(encoding="utf-8") if model.folder and known.is_file() else ""
        text = card or own or default_card(model)
        save(model, folder, card=text)
        head = header(model, name, text, **about)
        (folder / README).write_text(f"---\n{head}\n---\n\n{text}", encoding="utf-8")

        def upload() -> Any:
            api.create_repo(name, private=private, exist_ok=True)
            return api.upload_folder(
                repo_id=name,
                folder_path=folder,
                revision=revision,
                commit_message=message or f"A {type(model).__name__}",
            )

        return str(asked(f"hf://{name}", upload))


def header(
    model: LanguageModel, name: str, card: str, *, licence: str = "", language: Sequence[str] = (),
    datasets: Sequence[str] = (), perplexities: Mapping[str, float] | None = None,
) -> str:  # fmt: skip
    """The YAML before a card: what the Hub shows, searches by and compares; perplexities also from the card itself."""
    package = hub()
    measured = {found["text"]: float(found["value"].replace(",", "")) for found in MEASURED.finditer(card)}
    results = [
        package.EvalResult(
            task_type="text-generation", dataset_type=re.sub(r"[^\w./-]+", "-", text), dataset_name=text,
            metric_type="perplexity", metric_value=float(value),
        )
        for text, value in {**measured, **(perplexities or {})}.items()
    ]  # fmt: skip
    about = model.described()
    tags = ["modlm", "language-model", *(str(about[key]) for key in ("smoothing", "body") if about.get(key))]
    data = package.ModelCardData(
        language=list(language) or None, license=licence or None, library_name="modlm", tags=tags,
        datasets=list(datasets) or None, metrics=["perplexity"] if results else None, pipeline_tag="text-generation",
        model_name=name.rpartition("/")[2], eval_results=results or None,
    )  # fmt: skip
    return str(data.to_yaml())
