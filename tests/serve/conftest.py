"""A server in this process with a model of each kind and one that reads sources, and a client that asks it.

Nothing of the extra `serve` is imported here: modules that need it skip by themselves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from modlm.model.language_model import LanguageModel
from serve.small_models import MODELS
from small_pairs import conditional

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

    from modlm.serve.library import Library

BASE = "http://localhost:8765"


@pytest.fixture(scope="session")
def models() -> dict[str, LanguageModel]:
    return {name: make() for name, make in MODELS.items()} | {"ja-en": conditional()[0]}


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with two evaluations, and a third that is being written."""
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    folder.mkdir()
    lines = [json.dumps({"words": 100 * n, "valid_perplexity": 10.0 / n, "best": True}) for n in (1, 2)]
    (folder / "journal.jsonl").write_text("\n".join([*lines, '{"words": 3']), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def library(models: dict[str, LanguageModel], run_folder: Path) -> Library:
    from modlm.serve.library import Library

    return Library(models, {"tiny": run_folder})


@pytest.fixture(scope="session")
def client(library: Library) -> Iterator[TestClient]:
    from fastapi.testclient import TestClient

    from modlm.serve.app import make_app
    from modlm.serve.limits import Limits

    limits = Limits(timeout=300)  # kernels may have to be compiled while a request waits
    with TestClient(make_app(library, limits=limits), base_url=BASE) as client:
        yield client


@pytest.fixture
def ask(client: TestClient) -> Callable[..., Any]:
    """The answer to a request that must succeed."""

    def call(path: str, **body: Any) -> Any:
        answer = client.post(path, json=body) if body else client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    return call


@pytest.fixture(params=MODELS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)
