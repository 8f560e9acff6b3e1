"""A server as a process: the port, the signals that end it, and what it says."""

import errno
import gc
import logging
import math
import signal
import socket
from collections.abc import Callable
from dataclasses import replace
from types import FrameType

import uvicorn
from fastapi import FastAPI

from modlm.errors import ConfigError
from modlm.serve.connections import guarded
from modlm.serve.limits import Limits

WAITING = 2048  # connections that may wait to be taken
UNREAD = 1 << 18  # bytes of answers that the system holds for a client that does not read them; it would take megabytes
OTHER_FILES = 256  # that are open besides connections: models, pages, logs
NOT_BOUND = {
    errno.EADDRINUSE: "it is in use. Stop what listens there, or choose another port (0 for any that is free).",
    errno.EACCES: "it is not open to this user. Choose a port above 1023.",
    errno.EPERM: "it is not open to this user. Choose a port above 1023.",
    errno.EADDRNOTAVAIL: "this is no address of this machine. Use 127.0.0.1, or 0.0.0.0 for all of its addresses.",
}


def listen(host: str, port: int) -> socket.socket:
    """A socket that is bound; an error that says what to do where that cannot be."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise ConfigError(
            f"There is no address {host!r} here. Use 127.0.0.1 for this machine alone, or 0.0.0.0 for all of its "
            f"addresses."
        ) from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, UNREAD)  # so does every connection then
        listener.bind(address)
        listener.listen(WAITING)
    except OSError as error:
        listener.close()
        reason = NOT_BOUND.get(error.errno or 0, f"it cannot be listened on: {error.strerror or error}.")
        raise ConfigError(f"{host}, port {port}: {reason}") from None
    return listener


def address_of(listener: socket.socket, host: str) -> str:
    port = listener.getsockname()[1]
    name = {"0.0.0.0": "localhost", "::": "localhost", "": "localhost"}.get(host, host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


class Server(uvicorn.Server):
    """Uvicorn's server, which remembers the signal that ended it and leaves what follows to the caller."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self.on_ready, self.ended_by = on_ready, 0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Finish the requests in flight; a second Ctrl-C does not wait for them."""
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True
        self.ended_by = sig


def with_files_for(limits: Limits) -> Limits:
    """The limits, after asking the system for as many open files as connections need; fewer if it gives fewer.

    Those that are turned away need files too, for a moment: as many as may wait.
    """
    try:
        import resource
    except ImportError:  # not a POSIX system
        return limits
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.max_connections + WAITING + OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return limits
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, allowed), hard))
    return replace(limits, max_connections=max(1, min(limits.max_connections, allowed - WAITING - OTHER_FILES)))


def run_server(app: FastAPI, listener: socket.socket, limits: Limits, *, on_ready: Callable[[], None]) -> int:
    """Serve until a signal comes; the signal. `on_ready` is called when requests are answered and signals heard."""
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # what matters of it is said by us
    config = uvicorn.Config(
        app, http=guarded(with_files_for(limits)), log_config=None, access_log=False, lifespan="on", ws="none",
        server_header=False, proxy_headers=False, timeout_keep_alive=math.ceil(limits.idle_timeout),
        timeout_graceful_shutdown=math.ceil(limits.grace),
    )  # fmt: skip
    server = Server(config, on_ready)
    app.state.service.stopping = lambda: server.should_exit
    gc.collect()
    gc.freeze()  # models and modules stay: looking through them again and again would hold up requests
    server.run(sockets=[listener])
    return server.ended_by
