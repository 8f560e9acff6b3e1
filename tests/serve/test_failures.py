"""Whatever a client sends, it gets a clear answer in one form."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx2", reason="httpx2, which asks the server, is not installed")

from fastapi.testclient import TestClient

from modlm.serve.app import make_app
from modlm.serve.library import Library
from serve.test_gate import refusal


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"a=1", b'{"text": "a"', b'{"text": "\xff"}', b'{"text": "\\ud800"}',
        b"[" * 100_000, b"\xff\xfe{\x00}\x00", b"{'text': 'a'}",
    ],
)  # fmt: skip
def test_what_is_no_json_is_refused(client: TestClient, body: bytes) -> None:
    answer = client.post("/score", content=body, headers={"Content-Type": "application/json"})
    assert refusal(answer) == (400, "invalid_json")


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("/score", {}, 'Give either "sentences" or "text".'),
        ("/score", {"text": "a", "sentences": ["a"]}, 'Give either "sentences" or "text".'),
        ("/score", {"txt": "a"}, "There is no field txt."),
        ("/score", {"text": 1}, "text: input should be a valid string, but is 1."),
        ("/score", {"sentences": []}, "sentences: list should have at least 1 item"),
        ("/score", {"text": ""}, "text: string should have at least 1 character, but is ''."),
        ("/score", {"text": "a", "words": "yes"}, "words: input should be a valid boolean, but is 'yes'."),
        ("/score", [1], "The body is JSON, but not an object."),
        ("/explain", {}, "The field text is missing."),
        ("/next", {"k": 0}, "k: input should be greater than or equal to 1, but is 0."),
        ("/next", {"k": 1001}, "k: input should be less than or equal to 1000"),
        ("/next", {"k": 1e30}, "k: input should be a valid integer"),
        ("/next", {"k": True}, "k: input should be a valid integer"),
        ("/generate", {"temperature": -1}, "temperature: input should be greater than or equal to 0, but is -1"),
        ("/generate", {"top_p": 0}, "top_p: input should be greater than 0"),
        ("/generate", {"seed": -1}, "seed: input should be greater than or equal to 0"),
        ("/compare", {"models": [], "text": "a"}, "models: list should have at least 1 item"),
        ("/rescore", {"nbest": [{"hyps": [{"score": 1}]}]}, "The field nbest.0.hyps.0.text is missing."),
    ],
)
def test_what_has_the_wrong_shape_is_told_by_field(client: TestClient, path: str, body: Any, told: str) -> None:
    answer = client.post(path, json=body)
    assert refusal(answer) == (422, "invalid_request")
    assert told in answer.json()["error"]["message"]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
@pytest.mark.parametrize(("path", "field"), [("/score", "text"), ("/next", "k"), ("/generate", "temperature")])
def test_numbers_that_json_does_not_have_are_refused(client: TestClient, path: str, field: str, number: str) -> None:
    assert refusal(client.post(path, content=f'{{"{field}": {number}}}'.encode()))[0] in (400, 422)


def test_many_faults_are_not_all_told(client: TestClient) -> None:
    message = client.post("/score", json={f"x{n}": n for n in range(50)}).json()["error"]["message"]
    assert message.count("There is no field") == 3 and "more." in message


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/score", {"text": "\n", "words": True}, ""),
        ("/score", {"sentences": ["a <s> b"]}, "reserved_word"),
        ("/score", {"sentences": ["</s>"]}, "reserved_word"),
        ("/score", {"sentences": ["a\nb"]}, "line_break"),
        ("/score", {"sentences": ["<unk> <S> <s>a"]}, ""),
        ("/explain", {"text": "a\nb </s>"}, "reserved_word"),
        ("/next", {"context": "<s> a"}, "reserved_word"),
        ("/next", {"context": "a\nb"}, "line_break"),
        ("/generate", {"context": "a </s>", "stream": True}, "reserved_word"),
        ("/why", {"word": "a b"}, "not_a_word"),
        ("/why", {"word": " "}, "not_a_word"),
        ("/why", {"word": "<s>"}, "not_a_word"),
        ("/why", {"word": "</s>"}, ""),
        ("/rescore", {"nbest": [{"hyps": [{"text": "<s>"}]}]}, "reserved_word"),
    ],
)
def test_texts_may_not_hold_boundaries_or_line_breaks(client: TestClient, path: str, body: Any, code: str) -> None:
    answer = client.post(path, json=body)
    assert (answer.status_code == 200) if not code else refusal(answer) == (400, code)


def test_a_reserved_word_is_told_with_its_sentence(client: TestClient) -> None:
    message = client.post("/score", json={"sentences": ["a", "b <s>"]}).json()["error"]["message"]
    assert message.startswith("Sentence 2 holds <s>")


@pytest.mark.parametrize("path", ["/score", "/explain", "/next", "/why", "/generate", "/rescore", "/compare"])
def test_a_model_that_is_not_there_is_told_with_the_nearest_name(client: TestClient, path: str) -> None:
    more: dict[str, dict[str, Any]] = {
        "/score": {"text": "a"}, "/explain": {"text": "a"}, "/why": {"word": "a"},
        "/rescore": {"nbest": [{"hyps": [{"text": "a"}]}]},
    }  # fmt: skip
    named = {"models": ["ngarm"], "text": "a"} if path == "/compare" else {"model": "ngarm", **more.get(path, {})}
    answer = client.post(path, json=named)
    assert refusal(answer) == (404, "unknown_model")
    assert "Did you mean 'ngram'?" in answer.json()["error"]["message"]


def test_paths_and_methods_that_are_not_there(client: TestClient) -> None:
    assert refusal(client.get("/scores")) == (404, "not_found")
    assert refusal(client.get("/runs/other")) == (404, "unknown_run")
    wrong = client.get("/score")
    assert refusal(wrong) == (405, "wrong_method")
    assert wrong.headers["allow"] == "POST"
    assert refusal(client.put("/models", json={})) == (405, "wrong_method")
    assert refusal(client.get("/runs/tiny?after=-1"))[0] == 422
    assert refusal(client.get("/runs/tiny?after=x"))[0] == 422


def test_bodies_that_say_they_are_something_else(client: TestClient) -> None:
    json = b'{"text": "a"}'
    kinds = {"application/json; charset=utf-8": 200, "application/x-www-form-urlencoded": 200, "text/plain": 415}
    for kind, status in kinds.items():
        assert client.post("/score", content=json, headers={"Content-Type": kind}).status_code == status
    assert client.post("/score", content=json).status_code == 200


def test_a_fault_of_our_own_is_an_answer_too_and_tells_nothing(
    library: Library, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr("modlm.serve.service.why_answer", fail)
    with TestClient(make_app(library), base_url="http://localhost") as client:
        answer = client.post("/why", json={"word": "a"})
    assert refusal(answer) == (500, "internal")
    assert "secret" not in answer.text and "secret" in caplog.text
