"""What browsers load: the explorer's files and nothing beside them, the documentation without scripts, the counters."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx2", reason="httpx2, which asks the server, is not installed")

from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from modlm.serve import answers, openai_shapes
from modlm.serve.app import EXAMPLES, make_app
from modlm.serve.docs_page import STYLE, STYLE_HASH
from modlm.serve.library import Library
from modlm.serve.metrics import Metrics


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A folder of the page with a file beside it that nobody may read."""
    folder = tmp_path / "page"
    (folder / "inner").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>explorer</title>")
    (folder / "app.js").write_text("export {}")
    (folder / "notes.txt").write_text("secret")
    (folder / "inner" / "deep.js").write_text("secret")
    (tmp_path / "outside.js").write_text("secret")
    monkeypatch.setattr("modlm.serve.app.PAGE", folder)
    return folder


def test_the_explorer_loads_only_its_own(client: TestClient, page) -> None:
    answer = client.get("/")
    assert answer.status_code == 200 and "explorer" in answer.text
    policy = dict(rule.split(" ", 1) for rule in answer.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'" and policy["script-src"] == "'self'" and policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert answer.headers["cache-control"] == "no-cache"
    script = client.get("/static/app.js")
    assert script.headers["content-type"].startswith("text/javascript")


@pytest.mark.parametrize(
    "name",
    [
        "..", "%2e%2e", "../outside.js", "..%2foutside.js", "%2e%2e%2foutside.js", "..%5coutside.js", "inner%2fdeep.js",
        "inner/deep.js", "inner", ".", "", "notes.txt", "app.js%00", "%00", "nothing.js", "~root", "%2fetc%2fpasswd",
    ],
)  # fmt: skip
def test_no_other_file_can_be_read(client: TestClient, page, name: str) -> None:
    answer = client.get(f"/static/{name}")
    assert answer.status_code == 404 or "explorer" in answer.text  # the client itself makes / of some of these
    assert "secret" not in answer.text


def test_without_the_explorer_its_place_is_empty(client: TestClient, page) -> None:
    (page / "index.html").unlink()
    assert client.get("/").status_code == 404


# ---- documentation ---------------------------------------------------------------------------------------------------


def test_the_documentation_needs_nothing_from_elsewhere(client: TestClient) -> None:
    answer = client.get("/docs")
    assert "http://localhost" in answer.text
    links = re.findall(r'(?:src|href)="([^"]*)"', answer.text)
    assert links and all(link.startswith(("#", "/")) for link in links)
    assert "<script" not in answer.text
    assert f"<style>{STYLE}</style>" in answer.text and STYLE_HASH in answer.headers["content-security-policy"]


def test_the_documentation_shows_every_endpoint_with_a_command(client: TestClient) -> None:
    page, schema = client.get("/docs").text, client.get("/openapi.json").json()
    for path in schema["paths"]:
        assert f"curl http://localhost:8765{path.replace('{name}', 'NAME')}" in page


def test_the_examples_of_the_documentation_are_answered(client: TestClient) -> None:
    schema = client.get("/openapi.json").json()
    for path, methods in schema["paths"].items():
        for method, about in methods.items():
            if method != "post":
                continue
            name = about["requestBody"]["content"]["application/json"]["schema"]["$ref"].rsplit("/")[-1]
            for example in schema["components"]["schemas"][name]["examples"]:
                told = example | ({"models": ["ngram", "arpa"]} if "models" in example else {})
                told |= {"model": "online"} if "session" in example else {}
                assert client.post(path, json=told).status_code == 200, (path, example)


def test_the_example_answers_have_the_shape_of_answers(client: TestClient) -> None:
    posts = {path for path, methods in client.get("/openapi.json").json()["paths"].items() if "post" in methods}
    assert set(EXAMPLES) == posts
    for path, example in EXAMPLES.items():
        name = f"{path.rpartition('/')[2].capitalize()}Answer"
        (getattr(answers, name, None) or getattr(openai_shapes, name)).model_validate(example)


def test_every_field_of_a_request_is_described(client: TestClient) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    for name, schema in schemas.items():
        if name.endswith("Request"):
            for field, about in schema["properties"].items():
                assert about.get("description") or field in ("nbest",), f"{name}.{field}"


# ---- counters --------------------------------------------------------------------------------------------------------


def value_of(text: str, line: str) -> float:
    return float(next(found for found in text.splitlines() if found.startswith(line)).rsplit(" ", 1)[1])


def test_requests_and_words_are_counted(library: Library) -> None:
    with TestClient(make_app(library), base_url="http://localhost") as client:
        for _ in range(3):
            client.post("/score", json={"sentences": ["a b", "c"]})
        client.post("/score", json={})
        client.post("/generate", json={"max_words": 1, "seed": 1})
        client.get("/nothing")
        answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    text = answer.text
    assert value_of(text, 'modlm_requests_total{route="/score",status="200"}') == 3
    assert value_of(text, 'modlm_requests_total{route="/score",status="422"}') == 1
    assert value_of(text, 'modlm_requests_total{route="other",status="404"}') == 1
    assert value_of(text, 'modlm_sentences_total{model="ngram"}') == 6
    assert value_of(text, 'modlm_words_total{model="ngram"}') == 9
    assert value_of(text, 'modlm_batches_total{model="ngram"}') == 3
    assert value_of(text, 'modlm_request_seconds_count{route="/score"}') == 4
    assert value_of(text, "modlm_requests_in_flight") == 1  # this one
    assert value_of(text, "process_resident_memory_bytes") > 1e6


def test_the_counters_are_in_prometheus_text_format() -> None:
    metrics = Metrics()
    metrics.answered('/odd"\\\n', 200, 0.004)
    metrics.answered('/odd"\\\n', 200, 99.0)
    metrics.scored("m", 2, 3, 4)
    found = {family.name: family for family in text_string_to_metric_families(metrics.text().decode())}
    assert {
        "modlm_requests", "modlm_request_seconds", "modlm_batches", "modlm_batched_requests", "modlm_sentences",
        "modlm_words", "modlm_generated_words", "modlm_requests_in_flight", "process_start_time_seconds",
        "process_resident_memory_bytes",
    } <= set(found)  # fmt: skip
    assert found["modlm_words"].samples[0].labels == {"model": "m"}
    buckets = [one for one in found["modlm_request_seconds"].samples if one.name.endswith("_bucket")]
    counts = [one.value for one in buckets]
    assert counts == sorted(counts) and counts[-1] == 2
    assert buckets[-1].labels == {"route": '/odd"\\\n', "le": "+Inf"}
    assert counts[1] == 0 and counts[2] == 1  # 4 ms is above 2.5 and below 5
