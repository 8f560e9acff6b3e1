"""Connections that stand still, say too much or are too many, at a server that is a process of its own."""

from __future__ import annotations

import json
import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx2", reason="httpx2, which asks the server, is not installed")

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from modlm.serve.connections import GuardedConnection
from modlm.serve.limits import Limits
from modlm.serve.running import OTHER_FILES, WAITING, with_files_for
from serve.test_process import LONG, model, post, server

__all__ = ["model"]  # a fixture
LIMITS = ("--header-timeout", "0.4", "--idle-timeout", "1", "--timeout", "0.6", "--max-connections", "6")


@pytest.fixture(scope="module")
def address(model: Path) -> Iterator[str]:
    with server(model, *LIMITS) as (_, found):
        yield found


@contextmanager
def connection(address: str) -> Iterator[socket.socket]:
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=LONG) as found:
        yield found


def answer(found: socket.socket) -> tuple[int, dict[str, Any]]:
    """Status and JSON of an answer on a connection that the server closes behind it."""
    data = b"".join(iter(lambda: found.recv(1 << 16), b""))
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def one_answer(found: socket.socket) -> bytes:
    """One whole answer, which may come in pieces, on a connection that stays open."""
    data = b""
    for piece in iter(lambda: found.recv(1 << 16), b""):
        data += piece
        head, ended, body = data.partition(b"\r\n\r\n")
        length = int(head.partition(b"content-length: ")[2].split()[0]) if ended else len(data) + 1
        if len(body) >= length:
            break
    return data


def test_uvicorn_is_a_version_whose_protocol_the_guards_were_seen_with() -> None:
    """Seen with 0.54: what is overridden, and what is read, of a class that uvicorn does not promise to keep."""
    assert (0, 30) <= tuple(map(int, version("uvicorn").split(".")[:2])) < (0, 55)
    overridden = {
        "send_400_response": "msg", "connection_made": "transport", "connection_lost": "exc", "data_received": "data",
        "on_headers_complete": "", "on_message_complete": "", "on_response_complete": "", "pause_writing": "",
        "timeout_keep_alive_handler": "", "resume_writing": "",
    }  # fmt: skip
    for name, parameter in overridden.items():
        own, given = getattr(GuardedConnection, name), getattr(HttpToolsProtocol, name)
        assert list(signature(own).parameters) == list(signature(given).parameters)
        assert list(signature(given).parameters)[1:] == ([parameter] if parameter else [])
    read = {"loop", "transport", "flow", "connections", "pipeline", "cycle"}
    assert read <= set(HttpToolsProtocol.__init__.__code__.co_names)


def test_a_connection_that_says_nothing_is_closed(address: str) -> None:
    with connection(address) as silent:
        assert silent.recv(1) == b""


def test_headers_that_come_too_slowly_are_refused(address: str) -> None:
    with connection(address) as slow:
        slow.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
        status, told = answer(slow)
    assert (status, told["error"]["code"]) == (408, "slow_request")


def test_a_second_request_has_no_more_time_than_the_first(address: str) -> None:
    with connection(address) as slow:
        slow.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert one_answer(slow).startswith(b"HTTP/1.1 200")
        slow.sendall(b"GET /hea")
        assert answer(slow)[0] == 408


def test_a_connection_that_stays_idle_is_closed(address: str) -> None:
    with connection(address) as idle:
        idle.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b'"ok"' in one_answer(idle)
        assert idle.recv(1) == b""


def test_headers_beyond_the_limit_are_refused(address: str) -> None:
    with connection(address) as large:
        large.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Large: " + b"x" * Limits().max_header)
        status, told = answer(large)
    assert (status, told["error"]["code"]) == (431, "headers_too_large")
    assert "65,536 bytes" in told["error"]["message"]


def test_what_is_not_http_is_told_in_the_form_of_all_refusals(address: str) -> None:
    with connection(address) as odd:
        odd.sendall(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n")
        status, told = answer(odd)
    assert (status, told["error"]["code"]) == (400, "invalid_http")


def test_a_body_that_nobody_waits_for_does_not_hold_the_connection(address: str) -> None:
    with connection(address) as slow:
        slow.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nx")
        assert one_answer(slow).startswith(b"HTTP/1.1 200")
        assert slow.recv(1) == b""


def test_requests_that_do_not_wait_for_answers_are_answered_in_order(model: Path) -> None:
    """With bodies shorter and longer than what is read at a time, and requests that end anywhere in it."""
    texts = ["a b c"[: 1 + number % 5] + " a" * (number * 7 % 900) for number in range(200)]
    bodies = [json.dumps({"text": text}).encode() for text in texts]
    asked = b"".join(
        b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d%s\r\n\r\n%s"
        % (len(body), b"\r\nConnection: close" * (body is bodies[-1]), body)
        for body in bodies
    )
    with server(model) as (_, address), connection(address) as eager:
        sending = threading.Thread(target=eager.sendall, args=(asked,))
        sending.start()
        data = b"".join(iter(lambda: eager.recv(1 << 16), b""))
        sending.join()
    answers = data.split(b"HTTP/1.1 200 OK\r\n")[1:]
    found = [json.loads(one.partition(b"\r\n\r\n")[2])["predictions"] for one in answers]
    assert found == [len(text.split()) + 1 for text in texts]


def test_requests_beyond_a_megabyte_that_do_not_wait_for_answers_are_cut_off(model: Path) -> None:
    """Each stream looks for the end of its connection, and so lets in some more; but not without end."""
    stream = json.dumps({"context": "a", "max_words": 1000}).encode()
    head = b"POST /generate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    asked = (head % len(stream) + stream) * 40_000
    with server(model) as (_, address), connection(address) as eager:
        data = b""
        sending = threading.Thread(target=send, args=(eager, asked))
        sending.start()
        with suppress(ConnectionError):
            for piece in iter(lambda: eager.recv(1 << 16), b""):
                data = data[-4096:] + piece
        sending.join()
        assert b"Too many requests were sent on this connection" in data
        assert post(address, "/score", text="a b")


def send(connection: socket.socket, data: bytes) -> None:
    with suppress(OSError):
        connection.sendall(data)


def test_more_connections_than_allowed_are_turned_away_and_the_others_stay(address: str) -> None:
    kept = [socket.create_connection(address.removeprefix("http://").split(":"), timeout=LONG) for _ in range(6)]  # type: ignore[arg-type]
    try:
        with connection(address) as late:
            status, told = answer(late)
        assert (status, told["error"]["code"]) == (503, "busy")
        kept[0].sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert kept[0].recv(1 << 16).startswith(b"HTTP/1.1 200")
    finally:
        for one in kept:
            one.close()
    assert post(address, "/score", text="a")


def test_slow_bodies_take_no_room_from_others(model: Path) -> None:
    with server(model, "--max-concurrent", "1") as (_, address), connection(address) as slow:
        slow.sendall(b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        assert post(address, "/score", text="a")


def test_the_system_is_asked_for_as_many_files_as_connections_need(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[tuple[int, int]]()
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1024, 4096))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: asked.append(limits))
    assert with_files_for(Limits(max_connections=10)).max_connections == 10
    assert with_files_for(Limits(max_connections=5000)).max_connections == 4096 - WAITING - OTHER_FILES
    assert asked == [(10 + WAITING + OTHER_FILES, 4096), (4096, 4096)]
