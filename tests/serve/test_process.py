"""The server as a process of its own: it starts, answers, streams, and ends as it was asked to."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx2", reason="httpx2, which asks the server, is not installed")

from modlm.errors import ConfigError
from modlm.serve.running import address_of, listen
from small_texts import TEXTS, model_of

SOURCE = Path(__file__).parents[2] / "src"
COMMAND = [sys.executable, "-c", "from modlm.cli import main; main()", "serve"]
LONG = 60  # seconds after which a test gives up on the process


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "small"
    model_of(TEXTS["random sentences"], order=3).save(folder)
    return folder


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, **more}


def started(*arguments: object, **more: str) -> subprocess.Popen[str]:
    words = [*COMMAND, *map(str, arguments), "--port", "0"]
    return subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**more), encoding="utf-8"
    )


@contextmanager
def server(*arguments: object, **more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that serves, and where; it is ended if the test did not end it."""
    process = started(*arguments, **more)
    watch = threading.Timer(LONG, process.kill)
    watch.start()
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.match(r"(http://\S+)  serves", line)
        assert found, line + (process.communicate()[1] if process.poll() is not None else "")
        yield process, found[1]
    finally:
        watch.cancel()
        if process.poll() is None:
            process.kill()
        process.communicate()


def post(address: str, path: str, **body: object) -> object:
    request = Request(address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=LONG) as answer:
        return json.load(answer)


def test_it_answers_streams_and_ends_on_request(model: Path) -> None:
    with server(model) as (process, address):
        scored = post(address, "/score", text="a b")
        assert isinstance(scored, dict) and scored["model"] == "small"
        with urlopen(Request(address + "/generate", b'{"seed": 1}'), timeout=LONG) as answer:
            events = answer.read().decode().split("\n\n")
        assert json.loads(events[-2].removeprefix("data: "))["done"]
        with urlopen(address + "/", timeout=LONG) as page:
            assert "text/html" in page.headers["content-type"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONG) == 0
        assert process.stderr is not None and process.stderr.read() == "modlm: stopped\n"


def test_requests_in_flight_are_finished(model: Path) -> None:
    with server(model) as (process, address):
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=LONG) as connection:
            body = b'{"text": "a b"}'
            head = f"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            connection.sendall(head + body[:4])  # the server waits for the rest
            post(address, "/score", text="a")  # and has seen the first part
            process.send_signal(signal.SIGTERM)
            connection.sendall(body[4:])
            answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        assert answer.startswith(b"HTTP/1.1 200 OK") and b'"log_prob"' in answer
        assert process.wait(LONG) == 0


def test_ctrl_c_ends_it_as_it_does_every_command(model: Path) -> None:
    with server(model) as (process, _):
        process.send_signal(signal.SIGINT)
        assert process.wait(LONG) == 130
        assert process.stderr is not None and process.stderr.read() == "modlm: stopped\n"


def test_a_token_may_come_from_the_environment(model: Path) -> None:
    with server(f"mine={model}", MODLM_TOKEN="sesame") as (_, address):
        with pytest.raises(HTTPError) as refused:
            urlopen(address + "/models", timeout=LONG)
        assert refused.value.code == 401
        refused.value.close()
        with urlopen(Request(address + "/models", headers={"Authorization": "Bearer sesame"}), timeout=LONG) as answer:
            assert json.load(answer)["models"][0]["name"] == "mine"


def test_a_server_for_everybody_without_a_token_warns(model: Path) -> None:
    with server(model, "--host", "0.0.0.0") as (process, address):
        assert address.startswith("http://localhost:")
        process.send_signal(signal.SIGTERM)
        process.wait(LONG)
        assert process.stderr is not None and "whoever can reach this machine" in process.stderr.read()


def call(*arguments: object) -> subprocess.CompletedProcess[str]:
    words = [*COMMAND, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=LONG)


def test_a_port_in_use_is_told(model: Path) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        done = call(model, "--port", port)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith(f"modlm: 127.0.0.1, port {port}: it is in use.") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nothing-here"], "There is no model at nothing-here."),
        ([__file__], "test_process.py"),
        (["--run", "nothing-here"], "there is no such run folder"),
        (["--timeout", "0"], "timeout must be above 0"),
    ],
)
def test_what_cannot_be_served_is_told_before_the_port_is_bound(model: Path, arguments: list[str], told: str) -> None:
    done = call(*([model] if arguments[0].startswith("--") else []), *arguments)
    assert done.returncode == 1 and done.stdout == ""
    assert told in done.stderr and done.stderr.count("\n") == 1


def test_addresses_that_cannot_be_listened_on_are_told() -> None:
    with pytest.raises(ConfigError, match="no address 'no such host' here"):
        listen("no such host", 0)
    with pytest.raises(ConfigError, match="no address of this machine"):
        listen("192.0.2.1", 0)


def test_the_address_is_one_that_a_browser_can_open() -> None:
    with listen("0.0.0.0", 0) as every, listen("127.0.0.1", 0) as local:
        assert address_of(every, "0.0.0.0") == f"http://localhost:{every.getsockname()[1]}"
        assert address_of(local, "127.0.0.1") == f"http://127.0.0.1:{local.getsockname()[1]}"
        assert address_of(local, "::1").startswith("http://[::1]:")
