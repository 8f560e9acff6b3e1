"""Schemathesis asks whatever the OpenAPI description allows, and what it forbids: no answer is a failure of ours."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx2", reason="httpx2, which asks the server, is not installed")

from hypothesis import HealthCheck, Phase, given, settings

pytest.importorskip("schemathesis", reason="schemathesis is not installed")

import schemathesis
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from modlm.serve.app import make_app
from modlm.serve.library import Library

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
BODIES = [
    ("POST", f"/{name}")
    for name in "score next generate rescore translate observe forget explain why compare tokenize".split()
]
BODIES += [("POST", "/v1/completions")]
BARE = [("GET", f"/{path}") for path in "models runs health metrics v1/models v1/models/{name} tokenizer_info".split()]
RUN = ("GET", "/runs/{name}")
TRIED = [(*operation, mode) for operation in [*BODIES, RUN] for mode in GenerationMode]
TRIED += [(*operation, GenerationMode.POSITIVE) for operation in BARE]  # nothing in them could be wrong


@pytest.fixture(scope="module")
def description(library: Library) -> Any:
    return schemathesis.openapi.from_asgi("/openapi.json", make_app(library), headers={"Host": "localhost"})


def test_all_operations_are_tried(description: Any) -> None:
    found = {(method.upper(), path) for path in description for method in description[path]}
    assert found == {(method, path) for method, path, _ in TRIED}


@pytest.mark.parametrize(("method", "path", "mode"), TRIED)
def test_no_request_makes_the_server_fail(description: Any, method: str, path: str, mode: GenerationMode) -> None:
    @settings(max_examples=25, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
    @given(case=description[path][method].as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        case.call_and_validate(checks=CHECKS, headers={"Host": "localhost"})

    ask()
