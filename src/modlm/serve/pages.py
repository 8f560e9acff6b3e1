"""The files of the explorer, and which resources a page of ours may load: its own, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from fastapi.responses import FileResponse, Response

from modlm.serve.refusals import RefusedError

PAGE = Path(__file__).parent / "page"
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def policy(*, scripts: str = "'self'", styles: str = "'self'") -> dict[str, str]:
    """The headers of a page that loads only what comes from here, and cannot be framed."""
    rules = f"default-src 'none'; script-src {scripts}; style-src {styles}; img-src 'self' data:; font-src 'self'; "
    rules += "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return {"Content-Security-Policy": rules, "Cache-Control": "no-cache"}


def page_file(name: str) -> Response:
    """A file of the explorer by its bare name; nothing outside its folder has one."""
    file = PAGE / name
    if not FILE_NAME.fullmatch(name) or file.suffix not in TYPES or not file.is_file():
        raise RefusedError(404, "not_found", "There is no such file. The explorer is at /, the documentation at /docs.")
    return FileResponse(file, headers=policy(), media_type=TYPES[file.suffix])
