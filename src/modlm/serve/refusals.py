"""Why a request is not answered: an HTTP status, a code for programs, and a message for people."""

from __future__ import annotations

from typing import Any

from modlm.errors import ModlmError


class RefusedError(ModlmError):
    """An answer of 4xx or 5xx: what was found, the rule, the way out."""

    def __init__(self, status: int, code: str, message: str, *, retry_after: int = 0) -> None:
        super().__init__(message)
        self.status, self.code, self.retry_after = status, code, retry_after
        self.more_headers: dict[str, str] = {}

    @property
    def body(self) -> dict[str, Any]:
        """As JSON."""
        return {"error": {"code": self.code, "message": str(self)}}

    @property
    def headers(self) -> dict[str, str]:
        """What goes with it."""
        headers = {"Retry-After": str(self.retry_after)} if self.retry_after else {}
        return headers | self.more_headers | ({"WWW-Authenticate": "Bearer"} if self.status == 401 else {})


def bad(code: str, message: str) -> RefusedError:
    """A request that cannot be answered as it is."""
    return RefusedError(400, code, message)


def too_large(code: str, message: str) -> RefusedError:
    """A request beyond a limit of the server."""
    return RefusedError(413, code, message)
