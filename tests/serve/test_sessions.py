"""Sessions: what a client has a model observe counts for that client alone, for a while, and for this process."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx2", reason="httpx2, which asks the server, is not installed")

from fastapi.testclient import TestClient

from modlm.model.language_model import LanguageModel
from modlm.serve.app import make_app
from modlm.serve.library import Library, Served
from modlm.serve.limits import Limits
from modlm.serve.refusals import RefusedError
from modlm.serve.sessions import Sessions
from serve.small_models import learning
from serve.test_process import post, server

TEXT = "a d a d a d\na d a d"


def test_what_is_observed_counts_in_its_session_alone(
    ask: Callable[..., Any], models: dict[str, LanguageModel]
) -> None:
    before = ask("/score", model="online", text="a d")["log_prob"]
    begun = ask("/observe", model="online", text=TEXT)
    assert (begun["words"], begun["observed"]) == (10, 10)
    again = ask("/observe", model="online", text="a d", session=begun["session"])
    assert (again["words"], again["observed"], again["session"]) == (2, 12, begun["session"])
    own = {"model": "online", "session": begun["session"]}
    found = ask("/score", text="a d", **own)["log_prob"]
    assert found > before
    expected = models["online"].session()
    expected.observe(TEXT + "\na d")
    assert found == pytest.approx(expected.score("a d"))
    assert ask("/score", text="a d", **own)["log_prob"] == found  # to be scored is not to be observed
    assert ask("/score", model="online", text="a d")["log_prob"] == before
    assert models["online"].observed is None


def test_every_endpoint_that_takes_a_session_goes_on_from_it(ask: Callable[..., Any]) -> None:
    own = {"model": "online", "session": ask("/observe", model="online", text=TEXT)["session"]}
    plain = {"model": "online"}

    def after_a(**which: str) -> float:
        return {word["word"]: word["probability"] for word in ask("/next", context="a", k=9, **which)["words"]}["d"]

    assert after_a(**own) > after_a(**plain)
    for path, body, value in (
        ("/explain", {"text": "a d"}, lambda answer: answer["log_prob"]),
        ("/rescore", {"nbest": [{"hyps": [{"text": "a d"}]}]}, lambda answer: answer["lists"][0]["hyps"][0]["score"]),
        (
            "/generate",
            {"context": "a", "max_words": 1, "temperature": 0, "stream": False},
            lambda answer: answer["words"][0]["probability"],
        ),
    ):
        assert value(ask(path, **body, **own)) > value(ask(path, **body, **plain)), path


def test_a_session_ends_when_asked_to_and_when_nobody_asks(client: TestClient, ask: Callable[..., Any]) -> None:
    ask("/observe", model="online", text=TEXT, session="mine")
    assert ask("/forget", model="online", session="mine")["forgotten"] == 10
    gone = client.post("/score", json={"model": "online", "text": "a", "session": "mine"})
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, "unknown_session")
    sessions, served = Sessions(Limits(session_timeout=1e-9)), Served("m", learning())
    sessions.observe(served, "old", ["a"])
    with pytest.raises(RefusedError, match="has ended"):
        sessions.served(served, "old")
    assert len(sessions) == 0


def test_limits_are_told(client: TestClient) -> None:
    refused = client.post("/observe", json={"model": "ngram", "text": "a"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "learns_nothing")
    limits = Limits(max_sessions=2, max_words=3)
    with TestClient(make_app(Library({"online": learning()}), limits=limits), base_url="http://localhost") as few:
        assert few.post("/observe", json={"text": "a b c a"}).json()["error"]["code"] == "too_many_words"
        for name in ("one", "two", "one"):
            assert few.post("/observe", json={"text": "a", "session": name}).status_code == 200
        full = few.post("/observe", json={"text": "a", "session": "three"})
        assert (full.status_code, full.json()["error"]["code"]) == (503, "too_many_sessions")
        assert few.post("/forget", json={"session": "one"}).status_code == 200
        assert few.post("/observe", json={"text": "a", "session": "three"}).status_code == 200


def test_clients_that_observe_at_once_lose_nothing() -> None:
    sessions, served = Sessions(Limits()), Served("m", learning())

    def observe() -> None:
        for _ in range(20):
            sessions.observe(served, "shared", ["a b", "c"])
            sessions.served(served, "shared").model.score("a b c")

    threads = [threading.Thread(target=observe) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sessions.observe(served, "shared", ["a"])["observed"] == 4 * 20 * 3 + 1
    expected = learning()
    expected.observe(["a b", "c"] * 80 + ["a"])
    found = sessions.served(served, "shared").model
    assert found.next_distribution("a").tolist() == pytest.approx(expected.next_distribution("a").tolist())


def test_a_killed_server_has_forgotten_its_sessions_and_says_so(tmp_path: Path) -> None:
    learning().save(tmp_path / "small")
    with server(tmp_path / "small") as (process, address):
        assert post(address, "/observe", text=TEXT, session="mine")["observed"] == 10
        learned = post(address, "/score", text="a d", session="mine")["log_prob"]
        process.send_signal(signal.SIGKILL)
        process.wait()
    with server(tmp_path / "small") as (process, address):
        with pytest.raises(HTTPError) as gone:
            post(address, "/score", text="a d", session="mine")
        assert gone.value.code == 404 and b"unknown_session" in gone.value.read()
        post(address, "/observe", text=TEXT, session="mine")
        assert post(address, "/score", text="a d", session="mine")["log_prob"] == learned
