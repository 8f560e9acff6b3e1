"""Connections, guarded before there is a request: how many, how long each may take, and how large headers may be.

Uvicorn's own protocol reads requests; around it a clock runs whenever the client is to do something (send its headers,
send the rest of a body that nobody waits for, read its answer), and ends a connection on which that takes too long.
Bodies that somebody waits for have their own clock in `gate`. Requests that come before the answers to those before
them wait as bytes, not as the kilobytes that uvicorn makes of each. The protocol is no public part of uvicorn: its
version has an upper bound, and a test names what is used of it.
"""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from modlm.serve.limits import Limits
from modlm.serve.refusals import RefusedError, busy

PIECE = 1 << 10  # bytes that are read at a time: not many requests have room in them
MOST_HELD = 1 << 20  # bytes of requests that wait for others on their connection


class Clock:
    """Rings once, so many seconds after it was started last, unless it is stopped before."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self.loop, self.seconds = loop, seconds
        self.handle: asyncio.TimerHandle | None = None

    def start(self, ring: Callable[[], None]) -> None:
        self.stop()
        self.handle = self.loop.call_later(self.seconds, ring)

    def stop(self) -> None:
        if self.handle is not None:
            self.handle.cancel()
            self.handle = None


class GuardedConnection(HttpToolsProtocol):
    """One connection within the limits; `guarded` gives the class for certain limits."""

    limits = Limits()

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.sending = Clock(self.loop, self.limits.header_timeout)
        """Runs while the client is to send something that nobody waits for."""
        self.reading = Clock(self.loop, self.limits.header_timeout)
        """Runs while the client is to read."""
        self.head = 0
        """Bytes of headers so far; -1 while none are awaited."""
        self.whole = True
        """Whether the last request's body has come."""
        self.held = b""
        """What came after a request that waits for the answer to another."""

    # ---- ends ----------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Close; and if what was sent is not read in time, drop it."""
        self.transport.close()
        self.reading.start(self.transport.abort)

    def _refuse(self, refusal: RefusedError) -> None:
        body, status, headers = refusal.told()
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)
        self._end()

    def send_400_response(self, msg: str) -> None:
        self._refuse(RefusedError(400, "invalid_http", "This is not a valid HTTP request."))

    def _too_slow(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self.sending.start(self._too_slow)  # the answer before comes first
        elif self.head:
            message = f"The headers did not arrive within {self.limits.header_timeout:g} seconds. Send them faster."
            self._refuse(RefusedError(408, "slow_request", message))
        else:
            self._end()  # it never said anything

    # ---- what happens on a connection ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        if len(self.connections) > self.limits.max_connections:
            self.connections.discard(self)
            self._refuse(busy("Too many connections are open. Try again in a second."))
        else:
            self.sending.start(self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        self.sending.stop()
        self.reading.stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self.held += data
        self._read()
        if len(self.held) > MOST_HELD and not self.transport.is_closing():
            message = "Too many requests were sent on this connection before the answers to others. Wait for answers."
            self._refuse(busy(message))

    def _read(self) -> None:
        """Piece by piece, until a request has to wait for the answer to another."""
        data, at = memoryview(self.held), 0
        while at < len(data) and not self.pipeline and not self.transport.is_closing():
            piece = data[at : at + PIECE]
            at += PIECE
            if self.head == 0 and self.sending.handle is None:  # the first bytes of one more request
                self.sending.start(self._too_slow)
            if self.head >= 0:
                self.head += len(piece)
            super().data_received(piece)  # type: ignore[arg-type]  # any bytes will do
            if self.head > self.limits.max_header and not self.transport.is_closing():
                message = f"The headers have more than {self.limits.max_header:,} bytes, which is the limit here."
                self._refuse(RefusedError(431, "headers_too_large", message))
        if at:
            self.held = bytes(data[at:])
        if self.held:
            self.flow.pause_reading()

    def on_headers_complete(self) -> None:
        self.head, self.whole = -1, False
        self.sending.stop()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.head, self.whole = 0, True
        self.sending.stop()

    def on_response_complete(self) -> None:
        """Answered; a body that is still coming, and that nobody wants, gets as long as headers do."""
        super().on_response_complete()
        if not self.whole and not self.transport.is_closing():
            self.sending.start(self._end)
        if self.held:
            self._read()

    def timeout_keep_alive_handler(self) -> None:
        if not self.transport.is_closing():
            self._end()

    def pause_writing(self) -> None:
        """The client does not read its answer as fast as it comes; when it stops reading, so do we."""
        super().pause_writing()
        self.reading.start(self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self.reading.stop()


def guarded(limits: Limits) -> type[GuardedConnection]:
    return type("GuardedConnection", (GuardedConnection,), {"limits": limits})
