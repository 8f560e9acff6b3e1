"""Why a request is not answered: an HTTP status, a code for programs, a message for people; in one form for all."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from modlm.errors import ModlmError
from modlm.serve.answers import ErrorAnswer
from modlm.serve.openai_shapes import OpenAiErrorAnswer

MEANINGS = {
    400: "the request cannot be answered as it is",
    401: "a token is missing or wrong",
    403: "for another host, or from a page of another site",
    404: "no such model, run or path",
    405: "the path does not take this method",
    408: "the body came too slowly",
    413: "beyond a limit of the server",
    415: "not JSON",
    422: "a field is missing, unknown or out of range",
    503: "busy; try again after Retry-After",
    504: "it took too long",
}
REFUSALS: dict[int, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": meaning} for status, meaning in MEANINGS.items()
}
OPENAI_REFUSALS = {status: {**about, "model": OpenAiErrorAnswer} for status, about in REFUSALS.items()}
CODES = {"unknown_model": "model_not_found", "wrong_token": "invalid_api_key", "no_token": "invalid_api_key"}
"""Ours that OpenAI calls otherwise."""
SHOWN = 3  # faults of one request that are told


class RefusedError(ModlmError):
    """An answer of 4xx or 5xx: what was found, the rule, the way out."""

    def __init__(self, status: int, code: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code
        self.param: str | None = None
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def told(self, path: str = "") -> tuple[bytes, int, dict[str, str]]:
        """Body, status and headers as clients of this path expect them: OpenAI's below `/v1/`."""
        status = self.status
        error: dict[str, str | None] = {"code": self.code, "message": str(self)}
        if path.startswith("/v1/"):
            status = 400 if status == 422 else status
            kind = "server_error" if status >= 500 else "invalid_request_error"
            error |= {"type": kind, "param": self.param, "code": CODES.get(self.code, self.code)}
        body = orjson.dumps({"error": error})
        return body, status, {"content-type": "application/json", "content-length": str(len(body)), **self.headers}


def bad(code: str, message: str) -> RefusedError:
    return RefusedError(400, code, message)


def too_large(code: str, message: str) -> RefusedError:
    return RefusedError(413, code, message)


def busy(message: str) -> RefusedError:
    return RefusedError(503, "busy", message, retry_after="1")


def handle_failures(app: FastAPI) -> None:
    async def refused(request: Request, error: Exception) -> Response:
        return Response(*refusal_of(request, error).told(request.url.path))

    for kind in (ModlmError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, refused)


def refusal_of(request: Request, error: Exception) -> RefusedError:
    """What a failure means to the client: ours, or the framework's own (no such path or method)."""
    if isinstance(error, RefusedError):
        return error
    if isinstance(error, RequestValidationError):
        return invalid([{**fault, "loc": fault["loc"][1:]} for fault in error.errors()])  # without path or query
    if not isinstance(error, HTTPException):
        return bad("bad_request", str(error))
    path = request.url.path
    if error.status_code == 404:
        return RefusedError(404, "not_found", f"There is nothing at {path[:100]}. GET /docs lists all paths.")
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        message = f"{path} does not take {request.method}, but {allowed}. GET /docs says how."
        return RefusedError(405, "wrong_method", message, allow=allowed)
    return RefusedError(error.status_code, "refused", str(error.detail))


def invalid(faults: Sequence[Mapping[str, Any]]) -> RefusedError:
    if faults[0]["type"] == "json_invalid":
        message = f"The body is no valid JSON: {faults[0]['ctx']['error']}. Send one object in UTF-8."
        return bad("invalid_json", message)
    told = [*map(told_fault, faults[:SHOWN]), *([f"And {len(faults) - SHOWN} more."] if len(faults) > SHOWN else [])]
    refusal = RefusedError(422, "invalid_request", " ".join(told) + " GET /docs shows every field.")
    refusal.param = str(faults[0]["loc"][0]) if faults[0]["loc"] else None
    return refusal


def told_fault(fault: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in fault["loc"])
    if not place and fault["type"] == "model_type":
        return "The body is JSON, but not an object."
    if fault["type"] == "extra_forbidden":
        return f"There is no field {place[:60]}."
    if fault["type"] == "missing":
        return f"The field {place} is missing."
    if fault["type"] == "value_error":
        return str(fault["ctx"]["error"])
    found = "" if isinstance(fault.get("input"), dict | list) else f", but is {fault.get('input')!r:.60}"
    return f"{place}: {fault['msg'][:1].lower()}{fault['msg'][1:]}{found}."
