"""Who may ask, how much, how many at once and for how long; what browsers are told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx2", reason="httpx2, which asks the server, is not installed")

import httpx2 as httpx
from fastapi.testclient import TestClient

from modlm.errors import ConfigError
from modlm.serve.app import make_app
from modlm.serve.gate import Access, host_of, is_loopback
from modlm.serve.library import Library
from modlm.serve.limits import Limits
from modlm.serve.service import PORTION
from serve.conftest import BASE


def client_of(library: Library, *, base: str = BASE, **options: Any) -> TestClient:
    return TestClient(make_app(library, **options), base_url=base)


def refusal(answer: httpx.Response) -> tuple[int, str]:
    body = answer.json()
    assert set(body) == {"error"} and set(body["error"]) == {"code", "message"}
    assert body["error"]["message"].endswith(".")
    return answer.status_code, body["error"]["code"]


# ---- hosts, origins, tokens ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["localhost", "localhost:8765", "127.0.0.1:1", "[::1]:8765", "127.8.8.8", "LOCALHOST"])
def test_a_local_server_answers_to_the_names_of_this_machine(client: TestClient, host: str) -> None:
    assert client.get("/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8765", "10.0.0.1", "["]
)
def test_a_local_server_does_not_answer_to_other_names(client: TestClient, host: str) -> None:
    for path in ("/", "/health", "/models"):
        assert refusal(client.get(path, headers={"Host": host})) == (403, "wrong_host")


def test_a_server_for_others_answers_to_any_name(library: Library) -> None:
    with client_of(library, access=Access(host="0.0.0.0"), base="http://models.example") as client:
        assert client.get("/health").status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:9", "file://", "http://["])
def test_pages_of_other_sites_may_not_ask(client: TestClient, origin: str) -> None:
    answer = client.post("/score", json={"text": "a"}, headers={"Origin": origin})
    assert refusal(answer) == (403, "wrong_origin")
    assert "access-control-allow-origin" not in answer.headers


def test_a_name_that_was_allowed_is_answered_to_and_its_pages_too(library: Library) -> None:
    with client_of(library, access=Access(names=("models.example",)), base="http://models.example") as client:
        assert client.get("/health").status_code == 200
        for origin, status in (
            ("https://models.example", 200),
            ("https://models.example.evil", 403),
            ("x://models.example", 403),
        ):
            assert client.post("/score", json={"text": "a"}, headers={"Origin": origin}).status_code == status
        proxied = {"Host": "127.0.0.1:8765", "Origin": "https://models.example"}
        assert client.post("/score", json={"text": "a"}, headers=proxied).status_code == 200


def test_the_servers_own_page_may_ask(client: TestClient) -> None:
    assert client.post("/score", json={"text": "a"}, headers={"Origin": BASE}).status_code == 200


@pytest.fixture
def guarded(library: Library) -> Iterator[TestClient]:
    with client_of(library, access=Access(token="sésame")) as client:
        yield client


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", "Basic sésame", "sésame", "Bearer sésame2"])
def test_without_the_token_nothing_of_the_models_is_told(guarded: TestClient, given: str) -> None:
    headers = {"Authorization": given.encode()} if given else {}
    for answer in (
        guarded.post("/score", json={"text": "a"}, headers=headers),
        guarded.get("/models", headers=headers),
    ):
        assert refusal(answer)[0] == 401
        assert answer.headers["www-authenticate"] == "Bearer"
    assert guarded.get("/metrics", headers=headers).status_code == 401


def test_with_the_token_everything_is(guarded: TestClient) -> None:
    headers = {"Authorization": "bearer sésame".encode()}
    assert guarded.post("/score", json={"text": "a"}, headers=headers).status_code == 200


def test_the_page_the_documentation_and_the_health_need_no_token(guarded: TestClient) -> None:
    assert [guarded.get(path).status_code for path in ("/health", "/docs", "/openapi.json")] == [200] * 3


@pytest.mark.parametrize(("name", "loopback"), [("::1", True), ("a.localhost", True), ("0.0.0.0", False), ("x", False)])
def test_names_of_this_machine_are_told_from_others(name: str, loopback: bool) -> None:
    assert is_loopback(name) is loopback


def test_a_port_is_no_part_of_a_host() -> None:
    assert [host_of(value) for value in ("A:1", "[::1]:2", "a", "")] == ["a", "::1", "a", ""]


# ---- limits ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def small(library: Library) -> Iterator[TestClient]:
    limits = Limits(max_body=200, max_words=5, max_sentences=3, max_new_words=4)
    with client_of(library, limits=limits) as client:
        yield client


def test_a_body_beyond_the_limit_is_refused(small: TestClient) -> None:
    answer = small.post("/score", json={"text": "a" * 300})
    assert refusal(answer) == (413, "body_too_large")
    assert "200 bytes" in answer.json()["error"]["message"]
    assert answer.headers["connection"] == "close"


def test_a_body_that_comes_in_pieces_has_the_same_limit(small: TestClient) -> None:
    pieces = (b" " * 50 for _ in range(20))
    assert refusal(small.post("/score", content=pieces)) == (413, "body_too_large")
    whole = small.post("/score", content=iter([b'{"te', b'xt": "a"}']))
    assert whole.status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/score", {"text": "a b c d e f"}, "too_many_words"),
        ("/score", {"sentences": ["a", "b", "c", "d"]}, "too_many_sentences"),
        ("/explain", {"text": "a b c\nd e f"}, "too_many_words"),
        ("/compare", {"models": ["ngram"], "text": "a\nb\nc\nd"}, "too_many_sentences"),
        ("/rescore", {"nbest": [{"hyps": [{"text": "a b c"}, {"text": "d e f"}]}]}, "too_many_words"),
        ("/generate", {"max_words": 5}, "too_many_words"),
    ],
)
def test_more_than_the_server_takes_on_is_refused(small: TestClient, path: str, body: Any, code: str) -> None:
    answer = small.post(path, json=body)
    assert refusal(answer) == (413, code)


def test_a_context_has_a_limit_too(client: TestClient) -> None:
    for path, more in (("/next", {}), ("/why", {"word": "a"}), ("/generate", {})):
        assert refusal(client.post(path, json={"context": "a " * 2001, **more})) == (413, "too_many_words")


def test_clients_can_read_the_limits(small: TestClient) -> None:
    limits = small.get("/models").json()["limits"]
    assert (limits["max_words"], limits["max_body"], limits["max_next"]) == (5, 200, 1000)


@pytest.mark.parametrize("field", ["max_words", "timeout", "max_body"])
def test_limits_must_be_above_zero(field: str) -> None:
    with pytest.raises(ConfigError, match=f"{field} must be above 0, but is 0"):
        Limits(**{field: 0})


def asked_in_process(library: Library, limits: Limits, *questions: Any) -> list[httpx.Response]:
    """The answers to questions that are all asked at the same time, in one event loop."""
    app = make_app(library, limits=limits)

    async def run() -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE) as client:
            return await asyncio.gather(*(question(client) for question in questions))

    return asyncio.run(run())


def scoring(client: httpx.AsyncClient) -> Any:
    return client.post("/score", json={"text": "a"})


def test_more_requests_than_are_taken_at_once_are_told_to_come_again(library: Library) -> None:
    answers = asked_in_process(library, Limits(max_concurrent=2), *[scoring] * 6)
    busy = [answer for answer in answers if answer.status_code != 200]
    assert busy and len(busy) < 6
    for answer in busy:
        assert refusal(answer) == (503, "busy")
        assert answer.headers["retry-after"] == "1"


def test_many_requests_at_once_are_all_answered(library: Library) -> None:
    answers = asked_in_process(library, Limits(), *[scoring] * 40)
    assert {answer.text for answer in answers} == {answers[0].text} and answers[0].status_code == 200


def test_work_that_takes_too_long_is_given_up(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    explained = list[str]()

    def slow(sentence: str) -> Any:
        time.sleep(0.01)
        explained.append(sentence)
        return []

    monkeypatch.setattr(library.first.model, "explained", slow)
    app = make_app(library, limits=Limits(timeout=0.05))
    with TestClient(app, base_url=BASE) as client:
        assert refusal(client.post("/explain", json={"text": "a\n" * 200})) == (504, "timeout")
        app.state.service.working.shutdown(wait=True)
    assert 0 < len(explained) <= 2 * PORTION


def test_a_body_that_comes_too_slowly_is_refused(library: Library) -> None:
    async def slow_body() -> Any:
        yield b'{"text":'
        await asyncio.sleep(5)
        yield b'"a"}'

    answers = asked_in_process(
        library, Limits(timeout=0.05), lambda client: client.post("/score", content=slow_body())
    )  # fmt: skip
    assert refusal(answers[0]) == (408, "slow_request")


# ---- browsers --------------------------------------------------------------------------------------------------------


def test_every_answer_keeps_browsers_on_the_safe_side(client: TestClient) -> None:
    for answer in (
        client.get("/models"),
        client.get("/nothing"),
        client.get("/docs"),
        client.post("/score", content=b"x"),
    ):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers
    assert client.get("/models").headers["cache-control"] == "no-store"


def test_head_asks_for_the_headers_of_get(client: TestClient) -> None:
    assert client.head("/health").headers["content-type"] == "application/json"
    assert client.head("/score").status_code == 405
