"""Clients that are slow, silent, many, wrong or never tired, at a server that is a process of its own."""

from __future__ import annotations

import asyncio
import json
import random
import resource
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from tests.faults.outcome import Outcome, Row
from tests.faults.server import Server, all_of, request, serving, status

TEXT = "a b c a b"
HEADER_TIMEOUT, BODY_TIMEOUT = 2.0, 3.0
MANY = 2000  # answers, of which the buffers of a connection hold a part
LATE = 20.0  # seconds beyond a limit after which a connection that is still open is lost: this machine may be busy


async def crowd(number: int, one: Callable[[int], Awaitable[str | None]], outcome: Outcome, what: str) -> None:
    """So many clients at once; what each came to."""
    for fault in await asyncio.gather(*(one(client) for client in range(number))):
        outcome.check(what, fault)


async def others_served(server: Server, outcome: Outcome, until: asyncio.Event) -> None:
    """Ask the server as anybody would while others misbehave."""
    slowest = 0.0
    while not until.is_set():
        begun = time.monotonic()
        answer = await server.post("/score", text=TEXT)
        slowest = max(slowest, time.monotonic() - begun)
        outcome.count("others_served", int(status(answer) == 200))
        outcome.count("others_refused", int(status(answer) != 200))
        await asyncio.sleep(0.05)
    outcome.figures["slowest_of_others_s"] = round(slowest, 2)


async def trickle(server: Server, data: bytes, limit: float) -> str | None:
    """Send a byte at a time, slowly; the server must put an end to it."""
    reader, writer = await server.connection()
    begun = time.monotonic()
    answer = asyncio.ensure_future(all_of(reader))
    with suppress(ConnectionError):
        for at in range(len(data)):
            writer.write(data[at : at + 1])
            await writer.drain()
            done, _ = await asyncio.wait([answer], timeout=0.5)
            if done:
                break
    done, _ = await asyncio.wait([answer], timeout=limit + LATE)
    took = time.monotonic() - begun
    writer.close()
    if not done:
        answer.cancel()
        return f"still open after {took:.0f} s"
    return None if status(answer.result()) in (0, 408) else f"{answer.result()[:100]!r} after {took:.0f} s"


async def never_reads(server: Server) -> str | None:
    """Ask for much, and read nothing of it until the server must have given up."""
    reader, writer = await server.connection(room=4096)  # or a busy server would still be filling the system's buffers
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    with suppress(ConnectionError):
        writer.write(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * MANY)
    await asyncio.sleep(2 * HEADER_TIMEOUT + 4)
    writer.transport.resume_reading()  # type: ignore[attr-defined]
    try:
        async with asyncio.timeout(LATE):
            answers = (await all_of(reader)).count(b"HTTP/1.1 200")
    except TimeoutError:
        return "still open"
    finally:
        writer.transport.abort()
    return None if answers < MANY else "everything was kept for it"


async def try_slow(kind: str, tries: int) -> Outcome:
    """Slow headers, slow bodies, or silence."""
    outcome = Outcome()
    options = ("--header-timeout", str(HEADER_TIMEOUT), "--timeout", str(BODY_TIMEOUT), "--idle-timeout", "3")
    async with serving(*options) as server:
        slow_head = b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"X-Slow: 1\r\n" * 100
        slow_body = request("/score", b"{" + b" " * 1000)

        async def one(client: int) -> str | None:
            if kind == "headers":
                return await trickle(server, slow_head, HEADER_TIMEOUT)
            if kind == "bodies":
                head, _, body = slow_body.partition(b"\r\n\r\n")
                reader, writer = await server.connection()
                writer.write(head + b"\r\n\r\n")
                answer = asyncio.ensure_future(all_of(reader))
                with suppress(ConnectionError):
                    for at in range(len(body)):
                        writer.write(body[at : at + 1])
                        if (await asyncio.wait([answer], timeout=0.5))[0]:
                            break
                done, _ = await asyncio.wait([answer], timeout=BODY_TIMEOUT + LATE)
                writer.close()
                return None if done and status(answer.result()) in (0, 408, 503) else "still open or answered"
            return await silent(server, client)

        over = asyncio.Event()
        others = asyncio.ensure_future(others_served(server, outcome, over))
        await crowd(tries, one, outcome, kind)
        over.set()
        await others
        outcome.check(f"{kind}, afterwards", None if status(await server.post("/score", text=TEXT)) == 200 else "dead")
    return outcome


async def silent(server: Server, client: int) -> str | None:
    """Connections that stop: before a word, in the headers, in a body, after half of closing, without reading."""
    starts = (
        b"",
        b"GET /hea",
        b"POST /score HTTP/1.1\r\nHost: localhost\r\n",
        request("/score", b'{"text": "a"}')[:-5],
    )
    if client % 6 == 5:
        return await never_reads(server)
    reader, writer = await server.connection()
    writer.write(starts[client % 4])
    if client % 6 == 4:
        writer.write_eof()
    try:
        async with asyncio.timeout(BODY_TIMEOUT + LATE):
            answer = await all_of(reader)
    except TimeoutError:
        return "still open"
    finally:
        writer.transport.abort()
    return None if status(answer) in (0, 400, 408) else f"{answer[:100]!r}"


async def try_many(tries: int) -> Outcome:
    """So many connections, all open at once; then each asks."""
    outcome = Outcome()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard < 0 else min(hard, max(soft, 2 * tries + 1000)), hard))
    async with serving("--header-timeout", "60") as server:
        await server.post("/score", text=TEXT)
        before = server.resident()
        opened = list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]()
        for begin in range(0, tries, 500):
            found = await asyncio.gather(
                *(server.connection() for _ in range(min(500, tries - begin))), return_exceptions=True
            )
            opened += [pair for pair in found if not isinstance(pair, BaseException)]
        outcome.figures["open_at_once"] = len(opened)

        async def one(client: int) -> str | None:
            reader, writer = opened[client]
            with suppress(ConnectionError):
                writer.write(request("/score", json.dumps({"text": TEXT}).encode(), close=True))
            try:
                async with asyncio.timeout(120):
                    found = status(await all_of(reader))
            except TimeoutError:
                return "no answer"
            finally:
                writer.close()
            outcome.count({200: "served", 503: "told_503", 0: "closed"}.get(found, "odd"))
            return None if found in (200, 503, 0) else f"status {found}"

        await crowd(len(opened), one, outcome, "many")
        outcome.figures["memory_grew_MiB"] = round((server.resident() - before) / 2**20)
        outcome.check("many, afterwards", None if status(await server.post("/score", text=TEXT)) == 200 else "dead")
    return outcome


NESTED = 100_000
ODD_BODIES: tuple[bytes, ...] = (
    b"", b"{", b"[" * NESTED, b'{"a":' * NESTED, b'{"text": ' + b"[" * NESTED + b"]" * NESTED + b"}", b"\xff\xfe\xfd",
    b'{"text": "\xc3\x28"}', b'{"text": "\\ud800"}', b'{"text": "\\ud800\\udc00"}', b'{"text": "a\\u0000b"}',
    b'{"text": NaN}', b'{"text": 1e999}', b'{"text": ' + b"9" * 5000 + b"}", b'{"text": "a", "text": "b"}',
    b'{"text": "' + b"a " * 2_000_000 + b'"}', b'{"text": "' + b"x" * 3_900_000 + b'"}', b" " * 10_000_000,
    b'{"sentences": [' + b'"a",' * 500_000 + b'"a"]}', b'{"sentences": {"a": 1}}', b"null", b"true", b'"text"',
    b'{"text": "' + b"\n" * 100_000 + b'"}', b'{"model": "' + b"m" * 1_000_000 + b'", "text": "a"}',
)  # fmt: skip
ODD_REQUESTS: tuple[bytes, ...] = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET\r\n\r\n", b"\r\n" * 1000,
    b"GET /%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /static/..%2f..%2fapp.py HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
    b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n{}",
    b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\n{}",
    b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /score HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n",
    b"POST /score HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\n{\r\n" * 10_000,
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", b"CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
)  # fmt: skip
PATHS = ("/score", "/next", "/generate", "/explain", "/why", "/compare", "/rescore")


def odd_request(number: int) -> bytes:
    """The list at every path, then edits of sound requests."""
    if number < len(ODD_REQUESTS):
        return ODD_REQUESTS[number]
    rng = random.Random(number)
    path = rng.choice(PATHS)
    if number < 4 * len(ODD_BODIES):
        return request(path, ODD_BODIES[number % len(ODD_BODIES)], close=True)
    from tests.fuzz.fuzz_readers import damaged

    examples = json.loads((Path(__file__).parents[2] / "src/modlm/serve/examples.json").read_text())
    body = damaged(json.dumps({"text": TEXT, "context": "a b", **examples.get(path, {})}).encode(), rng)
    whole = request(path, body, close=True)
    return whole if rng.random() < 0.8 else damaged(whole, rng)


async def try_odd(tries: int) -> Outcome:
    """Requests that make no sense, a few at a time."""
    outcome, room = Outcome(), asyncio.Semaphore(8)
    async with serving("--header-timeout", "1", "--idle-timeout", "1", "--timeout", "3") as server:
        await server.post("/score", text=TEXT)
        before = server.resident()

        async def one(number: int) -> str | None:
            async with room:
                try:
                    async with asyncio.timeout(60):
                        answer = await server.ask(odd_request(number))
                except TimeoutError:
                    return "no end"
            outcome.count(f"status_{status(answer) // 100}xx" if status(answer) else "closed")
            internal = status(answer) == 500 or (status(answer) > 0 and b"Traceback" in answer)
            return f"{odd_request(number)[:300]!r}: {answer[:300]!r}" if internal else None

        await crowd(tries, one, outcome, "odd request")
        outcome.figures["memory_grew_MiB"] = round((server.resident() - before) / 2**20)
        outcome.check("odd, afterwards", None if status(await server.post("/score", text=TEXT)) == 200 else "dead")
    return outcome


SOAKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/score", {"text": TEXT, "words": True}),
    ("/next", {"context": "a b", "k": 5, "by_column": True}),
    ("/explain", {"text": TEXT}),
    ("/generate", {"context": "a", "max_words": 20}),
    ("/why", {"context": "a b", "word": "c"}),
    ("/nowhere", {}),
)
FLAT = 1.05  # memory at the end over memory after a third of the time, at most


async def try_soak(seconds: int) -> Outcome:
    """Full load from sixteen clients for so many seconds; memory is looked at all the time."""
    outcome, sizes = Outcome(), list[int]()
    async with serving() as server:
        end = time.monotonic() + seconds

        async def one(client: int) -> str | None:
            number = client
            while time.monotonic() < end:
                path, body = SOAKED[number % len(SOAKED)]
                found = status(await server.post(path, **body))
                outcome.check(f"soak {path}", None if found == (404 if path == "/nowhere" else 200) else f"{found}")
                number += 1
            return None

        async def watch() -> None:
            while time.monotonic() < end:
                sizes.append(server.resident())
                await asyncio.sleep(min(5.0, seconds / 30))

        watching = asyncio.ensure_future(watch())
        await asyncio.gather(*(one(client) for client in range(16)))
        await watching
    third = max(sizes[: max(1, len(sizes) // 3)])
    outcome.figures |= {"seconds": seconds, "requests_per_second": round(outcome.tried / seconds)}
    outcome.figures |= {"MiB_after_a_third": third >> 20, "MiB_at_the_end": sizes[-1] >> 20}
    outcome.check("soak, memory", None if sizes[-1] <= FLAT * third else f"{[size >> 20 for size in sizes]}")
    return outcome


async def try_sigterm(tries: int) -> Outcome:
    """End the server while requests are half sent and streams run: all are answered, the exit code is 0."""
    outcome = Outcome()
    for number in range(tries):
        async with serving() as server:
            body = json.dumps({"text": TEXT}).encode()
            halves = [await server.connection() for _ in range(5)]
            for _, writer in halves:
                writer.write(request("/score", body)[:-4])
            stream = await server.connection()
            stream[1].write(request("/generate", json.dumps({"max_words": 1000, "seed": number}).encode()))
            await server.post("/score", text=TEXT)  # so that all of that has arrived
            server.process.send_signal(signal.SIGTERM)
            await asyncio.sleep(0.05)
            for _, writer in halves:
                writer.write(request("/score", body)[-4:])
            answers = [await all_of(reader) for reader, _ in halves]
            streamed = await all_of(stream[0])
            code = await asyncio.wait_for(server.process.wait(), 60)
            whole = all(status(answer) == 200 and b"log_prob" in answer for answer in answers) and b"done" in streamed
            outcome.check(
                f"SIGTERM {number}", None if whole and code == 0 else f"{answers}, {streamed[-200:]!r}, {code}"
            )
            outcome.count("requests_in_flight", len(halves) + 1)
    return outcome


def awaited(work: Callable[[int], Any]) -> Callable[[int], Outcome]:
    return lambda tries: asyncio.run(work(tries))


ROWS = {
    "slow-headers": Row("clients that send headers byte by byte", awaited(partial(try_slow, "headers")), 50, 500),
    "slow-bodies": Row("clients that send bodies byte by byte", awaited(partial(try_slow, "bodies")), 50, 500),
    "half-open": Row("clients that stop, half-close, or never read", awaited(partial(try_slow, "silence")), 60, 600),
    "many-connections": Row("connections open at once", awaited(try_many), 1500, 10_000, unit="connections"),
    "odd-requests": Row("huge, nested, invalid requests", awaited(try_odd), 150, 5000, unit="requests"),
    "soak": Row("full load from 16 clients", awaited(try_soak), small=15, full=1800, unit="requests"),
    "sigterm": Row("SIGTERM with requests in flight", awaited(try_sigterm), small=3, full=100, unit="servers"),
}
