"""Whatever goes wrong inside an endpoint, in the one form that clients know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from modlm.errors import ModlmError
from modlm.serve.answers import ErrorAnswer
from modlm.serve.refusals import RefusedError, bad

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
SHOWN = 3  # faults of one request that are told


def handle_failures(app: FastAPI) -> None:
    """Give the application our answers in place of the framework's."""

    async def refused(request: Request, error: Exception) -> Response:
        return as_response(refusal_of(request, error))

    for kind in (ModlmError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, refused)


def as_response(refusal: RefusedError) -> Response:
    """A refusal as an answer."""
    return Response(orjson.dumps(refusal.body), refusal.status, refusal.headers, "application/json")


def refusal_of(request: Request, error: Exception) -> RefusedError:
    """What a failure means to the client."""
    if isinstance(error, RefusedError):
        return error
    if isinstance(error, RequestValidationError):
        return invalid([{**fault, "loc": fault["loc"][1:]} for fault in error.errors()])  # without path or query
    if isinstance(error, HTTPException):
        return of_status(request, error)
    return bad("bad_request", str(error))


def of_status(request: Request, error: HTTPException) -> RefusedError:
    """The framework's own refusals: no such path, no such method, a body that cannot be read."""
    if error.status_code == 404:
        return RefusedError(
            404, "not_found", f"There is nothing at {request.url.path[:100]}. GET /docs lists all paths."
        )
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        refusal = RefusedError(
            405,
            "wrong_method",
            f"{request.url.path} does not take {request.method}, but {allowed}. GET /docs says how.",
        )
        refusal.more_headers = {"Allow": allowed}
        return refusal
    if error.status_code == 400:
        return bad("invalid_json", "The body cannot be read. It must be one JSON object in UTF-8.")
    return RefusedError(error.status_code, "refused", str(error.detail))


def invalid(faults: Sequence[Mapping[str, Any]]) -> RefusedError:
    """A request that is no JSON, or not of the right shape."""
    first = faults[0]
    if first["type"] == "json_invalid":
        return bad(
            "invalid_json",
            f"The body is no valid JSON: {first['ctx']['error']}. Send one object in UTF-8.",
        )
    told = [_fault(fault) for fault in faults[:SHOWN]]
    more = len(faults) - SHOWN
    return RefusedError(
        422,
        "invalid_request",
        " ".join(told) + (f" And {more} more." if more > 0 else "") + " GET /docs shows every field.",
    )


def _fault(fault: Mapping[str, Any]) -> str:
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
