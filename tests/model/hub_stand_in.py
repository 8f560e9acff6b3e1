"""As much of the Hub's HTTP interface as it takes to make a repository, commit to it and read it, on localhost."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

Files = dict[str, bytes]


class StandIn:
    """Repositories by name, each with its commits (by name) and branches; and what was asked."""

    def __init__(self) -> None:
        self.commits: dict[str, dict[str, Files]] = {}
        self.branches: dict[str, dict[str, str]] = {}
        self.asked: list[str] = []
        self.address = ""

    def commit(self, name: str, changed: Files, branch: str = "main") -> str:
        before = self.commits[name].get(self.branches[name].get(branch, ""), {})
        files = {**before, **changed}
        number = len(self.commits[name])
        oid = hashlib.sha1(f"{name} {number}".encode()).hexdigest()
        self.commits[name][oid] = files
        self.branches[name][branch] = oid
        return oid

    def make(self, name: str) -> None:
        self.commits.setdefault(name, {})
        self.branches.setdefault(name, {})
        if not self.branches[name]:
            self.commit(name, {})

    def files(self, name: str, branch: str = "main") -> Files:
        return self.commits[name][self.branches[name][branch]]


def handler(hub: StandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: Any) -> None:
            pass

        def answer(self, status: int, body: bytes | dict[str, Any] | list[Any] = b"", **headers: str) -> None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", headers.pop("length", str(len(data))))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def missing(self, code: str) -> None:
            self.answer(404, {"error": code}, X_Error_Code=code, X_Error_Message=code)

        def found(self, name: str, revision: str) -> tuple[str, Files] | None:
            if name not in hub.commits:
                self.missing("RepoNotFound")
                return None
            oid = hub.branches[name].get(revision, revision)
            if oid not in hub.commits[name]:
                self.missing("RevisionNotFound")
                return None
            return oid, hub.commits[name][oid]

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            hub.asked.append(f"{self.command} {path}")
            parts = path.strip("/").split("/")
            if parts[:2] == ["api", "models"]:
                self.about(parts[2:])
            elif len(parts) > 4 and parts[2] == "resolve":
                self.resolve("/".join(parts[:2]), parts[3], "/".join(parts[4:]))
            else:
                self.missing("EntryNotFound")

        def about(self, parts: list[str]) -> None:
            name, rest = "/".join(parts[:2]), parts[2:]
            revision = rest[1] if len(rest) > 1 else "main"
            if (found := self.found(name, revision)) is None:
                return
            oid, files = found
            if rest[:1] == ["tree"]:
                self.answer(200, [
                    {"type": "file", "path": path, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                    for path, data in files.items()
                ])  # fmt: skip
                return
            self.answer(
                200, {"id": name, "sha": oid, "siblings": [{"rfilename": path} for path in files], "private": False}
            )

        def resolve(self, name: str, revision: str, path: str) -> None:
            if (found := self.found(name, revision)) is None:
                return
            oid, files = found
            if path not in files:
                self.answer(404, {}, X_Error_Code="EntryNotFound", X_Repo_Commit=oid)
                return
            etag = hashlib.sha256(files[path]).hexdigest()
            self.answer(200, files[path], X_Repo_Commit=oid, ETag=f'"{etag}"')

        def do_POST(self) -> None:
            path = unquote(urlsplit(self.path).path)
            hub.asked.append(f"POST {path}")
            if self.headers.get("Transfer-Encoding") == "chunked":
                data = b""
                while size := int(self.rfile.readline(), 16):
                    data += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            else:
                data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            parts = path.strip("/").split("/")
            if parts == ["api", "repos", "create"]:
                asked = json.loads(data)
                name = f"{asked.get('organization') or 'somebody'}/{asked['name']}"
                hub.make(name)
                self.answer(200, {"url": f"{hub.address}/{name}", "id": name, "name": name})
            elif parts[4:5] == ["preupload"]:
                asked = json.loads(data)
                regular = [
                    {"path": one["path"], "uploadMode": "regular", "shouldIgnore": False} for one in asked["files"]
                ]
                self.answer(200, {"files": regular})
            elif parts[4:5] == ["commit"]:
                lines = [json.loads(line) for line in data.splitlines()]
                files = {
                    line["value"]["path"]: base64.b64decode(line["value"]["content"])
                    for line in lines
                    if line["key"] == "file"
                }
                name = "/".join(parts[2:4])
                oid = hub.commit(name, files, parts[5])
                url = f"{hub.address}/{name}/commit/{oid}"
                self.answer(200, {"success": True, "commitOid": oid, "commitUrl": url, "hookOutput": ""})
            else:
                self.answer(200, {"name": "somebody"} if parts[-1] == "whoami-v2" else {})

    return Handler


@contextmanager
def hub_stand_in() -> Iterator[StandIn]:
    """A stand-in that answers while the block runs."""
    hub = StandIn()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(hub))
    hub.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
