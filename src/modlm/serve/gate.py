"""What every request passes before it reaches an endpoint, and every answer on its way back.

On the way in: may this client ask (host, origin, token), is there room, is the body whole and not too large. On the way
back: headers that keep browsers on the safe side, an answer in our form whatever went wrong, and the counters.
"""

import asyncio
import hmac
import ipaddress
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from modlm.serve.limits import Limits
from modlm.serve.metrics import Metrics
from modlm.serve.refusals import RefusedError, busy

Headers = dict[bytes, bytes]

log = logging.getLogger("modlm")

SAFE_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
OPEN_PATHS = ("/health", "/docs", "/openapi.json", "/")  # need no token: they hold nothing of the models
FORM = b"application/x-www-form-urlencoded"  # what curl -d says of JSON
WEB = ("http", "https")
DRAINED = 4  # times the largest body that is read and thrown away, so that the client sees why it was refused
DRAIN_SECONDS = 2.0
INTERNAL = "The server failed at this. That is a fault of modlm, not of the request; the server's log says where."


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Who may ask."""

    host: str = "127.0.0.1"
    """The address that is listened on."""
    token: str = ""
    """What clients must send as `Authorization: Bearer …`; nothing for everybody."""
    names: tuple[str, ...] = ()
    """Other names under which the server may be asked, such as that of a proxy before it."""

    @property
    def local(self) -> bool:
        return is_loopback(self.host)

    def check(self, path: str, headers: Headers) -> None:
        """Refuse other names for this machine, pages of other sites, and whoever lacks the token."""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host_of(host)
        if self.local and name and not (is_loopback(name) or name == self.host.lower() or name in self.names):
            raise RefusedError(
                403, "wrong_host", f"The request is for the host {name[:100]!r}, but this server answers as localhost "
                f"only. Ask http://localhost, or start it with --allow-host {name[:100]}.",
            )  # fmt: skip
        scheme, _, origin = headers.get(b"origin", b"").decode("latin-1").lower().rpartition("://")
        if b"origin" in headers and (scheme not in WEB or (origin != host and host_of(origin) not in self.names)):
            raise RefusedError(
                403, "wrong_origin", "The request comes from a page of another site. Pages of other sites may not ask "
                "this server.",
            )  # fmt: skip
        if self.token and not (path in OPEN_PATHS or path.startswith("/static/")):
            given = headers.get(b"authorization", b"")
            kind, _, token = given.partition(b" ")
            same = hmac.compare_digest(token.strip(), self.token.encode())
            if kind.lower() != b"bearer" or not same:
                raise RefusedError(
                    401, "wrong_token" if given else "no_token", "This server wants a token. Send the one it was "
                    "started with in the header Authorization: Bearer TOKEN.", www_authenticate="Bearer",
                )  # fmt: skip


@lru_cache(256)
def is_loopback(host: str) -> bool:
    """Whether a name or address is this machine seen from itself."""
    if host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@lru_cache(256)
def host_of(value: str) -> str:
    try:
        return (urlsplit(f"//{value}").hostname or "").lower()
    except ValueError:
        return value


class Gate:
    """The ASGI middleware around all endpoints."""

    def __init__(self, app: ASGIApp, *, access: Access, limits: Limits, metrics: Metrics) -> None:
        self.app, self.access, self.limits, self.metrics = app, access, limits, metrics
        self.working = 0
        """Requests that came whole and are being answered."""
        self.arriving = 0
        """Bytes of bodies that are not whole yet."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the events of the server's life, which pass."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # as GET; the server leaves out the body
            scope = {**scope, "method": "GET"}
        answer = Answer(send, scope["path"])
        begun = time.perf_counter()
        self.metrics.in_flight += 1
        try:
            await self._answer(scope, receive, answer)
        except RefusedError as refusal:
            await answer.refuse(refusal)
        except TimeoutError:
            message = f"There was no answer within {self.limits.timeout:g} seconds. Ask for less at once, or start the "
            await answer.refuse(RefusedError(504, "timeout", message + "server with a longer --timeout."))
        except ClientGoneError:
            answer.status = 499
        except Exception:
            log.exception("internal error while answering %s %s", scope["method"], scope["path"])
            await answer.refuse(RefusedError(500, "internal", INTERNAL))
        finally:
            self.metrics.in_flight -= 1
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.answered(route, answer.status, time.perf_counter() - begun)

    async def _answer(self, scope: Scope, receive: Receive, answer: "Answer") -> None:
        headers: Headers = dict(scope["headers"])
        self.access.check(scope["path"], headers)
        if scope["method"] in ("POST", "PUT", "PATCH", "DELETE"):
            receive = await self._with_body(scope, headers, receive)
        self.working += 1
        try:
            async with asyncio.timeout(self.limits.timeout) as clock:
                answer.on_start = lambda: clock.reschedule(None)
                await self.app(scope, receive, answer.send)
        finally:
            self.working -= 1

    async def _with_body(self, scope: Scope, headers: Headers, receive: Receive) -> Receive:
        """The whole body read, and a `receive` that gives it and then whatever comes."""
        kind = headers.get(b"content-type", FORM).partition(b";")[0].strip().lower()
        if kind == FORM:
            scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"content-type"]
            scope["headers"].append((b"content-type", b"application/json"))
        elif kind != b"application/json":
            raise RefusedError(
                415, "not_json", f"The body is {kind.decode('latin-1')[:60]!r}, but requests are JSON. "
                f"Send it with Content-Type: application/json.",
            )  # fmt: skip
        try:
            async with asyncio.timeout(self.limits.timeout):
                body = await self._body(headers, receive)
        except TimeoutError:
            message = f"The body did not arrive within {self.limits.timeout:g} seconds. Send it faster."
            raise RefusedError(408, "slow_request", message, connection="close") from None
        waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return waiting.pop() if waiting else await receive()

        return replay

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        """The body, if there is room for it and for one more request; what is too long is read on for a moment.

        Slow bodies take no room from other requests, but as much memory as if they did.
        """
        most, length = self.limits.max_concurrent, headers.get(b"content-length", b"0")
        too_long = length.isdigit() and int(length) > self.limits.max_body
        kept, come, drain_until = bytearray(), 0, time.monotonic() + DRAIN_SECONDS
        try:
            more = True
            while more:
                event = await receive()
                if event["type"] == "http.disconnect":
                    raise ClientGoneError
                piece, more = event.get("body", b""), event.get("more_body", False)
                come += len(piece)
                too_long = too_long or come > self.limits.max_body
                if not too_long:
                    kept += piece
                    self.arriving += len(piece)
                    if self.working >= most or self.arriving > most * self.limits.max_body:
                        message = f"{most} requests are in work already, and no more are taken at once."
                        raise busy(f"{message} Try again in a second.")
                elif come > DRAINED * self.limits.max_body or time.monotonic() > drain_until:
                    break
        finally:
            self.arriving -= len(kept)
        if too_long:
            limit = f"{self.limits.max_body:,} bytes, which is the limit here"
            message = f"The body has more than {limit}. Send less at once."
            raise RefusedError(413, "body_too_large", message, connection="close")
        return bytes(kept)


class ClientGoneError(Exception):
    """The client closed the connection before its request was whole."""


class Answer:
    """The way back to the client; knows whether it has begun."""

    def __init__(self, send: Send, path: str) -> None:
        self._send, self.path = send, path
        self.status = 0
        self.on_start: Callable[[], None] = lambda: None

    async def send(self, message: Message) -> None:
        """Pass a message on, with the headers that every answer has."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.on_start()
            present = {name for name, _ in message["headers"]}
            more = SAFE_HEADERS if b"cache-control" in present else [*SAFE_HEADERS, (b"cache-control", b"no-store")]
            message["headers"] = [*message["headers"], *more]
        await self._send(message)

    async def refuse(self, refusal: RefusedError) -> None:
        if self.status:
            return
        self.on_start = lambda: None  # the clock has stopped
        body, status, named = refusal.told(self.path)
        headers = [(name.encode(), value.encode()) for name, value in named.items()]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})
