"""A server that is a process of its own, and plain connections to it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from small_texts import TEXTS, model_of

HEAD = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


class Server:
    """A running server: where it is, and how much memory it has."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process, self.port = process, port

    async def connection(self, *, room: int = 0) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """One to the server; with `room`, one that takes in only about so many bytes before they are read."""
        plug = socket.socket()
        plug.setblocking(False)
        if room:
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        try:
            await asyncio.get_running_loop().sock_connect(plug, ("127.0.0.1", self.port))
        except BaseException:
            plug.close()
            raise
        return await asyncio.open_connection(sock=plug)

    async def ask(self, data: bytes) -> bytes:
        """The whole answer to some bytes; what came of it if the connection was cut."""
        reader, writer = await self.connection()
        try:
            with suppress(ConnectionError):
                writer.write(data)
                await writer.drain()
            return await all_of(reader)
        finally:
            writer.close()

    async def post(self, path: str, **body: Any) -> bytes:
        return await self.ask(request(path, json.dumps(body).encode(), close=True))

    def resident(self) -> int:
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


async def all_of(reader: asyncio.StreamReader) -> bytes:
    found = b""
    with suppress(ConnectionError):
        while piece := await reader.read(1 << 16):
            found += piece
    return found


def request(path: str, body: bytes, *, close: bool = False) -> bytes:
    head = HEAD % (path.encode(), len(body))
    return (head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") if close else head) + body


def status(answer: bytes) -> int:
    found = re.match(rb"HTTP/1\.1 (\d+)", answer)
    return int(found[1]) if found else 0


@asynccontextmanager
async def serving(*options: str) -> AsyncIterator[Server]:
    with tempfile.TemporaryDirectory(prefix="serving-") as name:
        folder = Path(name) / "small"
        model_of(TEXTS["random sentences"], order=3).save(folder)
        command = [sys.executable, "-c", "from modlm.cli import main; main()", "serve", str(folder), "--port", "0"]
        process = await asyncio.create_subprocess_exec(*command, *options, stdout=subprocess.PIPE)
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode()
        found = re.search(r":(\d+)  serves", line)
        assert found, line
        try:
            yield Server(process, int(found[1]))
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
