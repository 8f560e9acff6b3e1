"""The application: every endpoint with its documentation. `service` does their work, `gate` surrounds them."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import orjson
from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, StreamingResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

import modlm
from modlm.serve import answers
from modlm.serve.docs_page import STYLE_HASH, docs_page
from modlm.serve.failures import REFUSALS, handle_failures, invalid
from modlm.serve.gate import Access, Gate
from modlm.serve.library import Library
from modlm.serve.limits import Limits
from modlm.serve.metrics import CONTENT_TYPE, Metrics
from modlm.serve.pages import page_file, policy
from modlm.serve.requests import (
    CompareRequest,
    ExplainRequest,
    GenerateRequest,
    NextRequest,
    RescoreRequest,
    ScoreRequest,
    WhyRequest,
)
from modlm.serve.service import Service

ABOUT = """Language models as mixtures of distributions: P(w | c) = sum over k of lambda_k(c) P_k(w | c).

Texts have one sentence a line and words with spaces between. `<s>` and `</s>` stand for the boundaries of a sentence
and are added by themselves; words that a model does not know are scored as `<unk>`. Logarithms are natural. A logarithm
of 0 and an infinite perplexity are null.

An answer that is not a success is `{"error": {"code": …, "message": …}}`. When the server was started with a token,
send it as `Authorization: Bearer TOKEN`."""


Responses = dict[int | str, dict[str, Any]]
EXAMPLES: dict[str, Any] = json.loads((Path(__file__).parent / "examples.json").read_text(encoding="utf-8"))
EVENT = {
    "type": "object",
    "properties": {"data": {"type": "string", "description": "A word and its probability, or the end, as JSON."}},
    "required": ["data"],
}


class JsonRoute(APIRoute):
    """A route whose body is read and checked in one go, without the layers that no endpoint here needs."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What turns a request into an answer."""
        endpoint: Callable[[BaseModel], Coroutine[Any, Any, Response]] = self.endpoint
        model: type[BaseModel] = get_type_hints(endpoint)["body"]

        async def handle(request: Request) -> Response:
            try:
                body = model.model_validate_json(await request.body())
            except ValidationError as error:
                raise invalid(error.errors(include_url=False)) from None
            return await endpoint(body)

        return handle


def make_app(library: Library, *, limits: Limits | None = None, access: Access | None = None) -> FastAPI:
    """An ASGI application that serves these models; `app.state.service` is what answers."""
    limits, metrics = limits or Limits(), Metrics()
    service = Service(library, limits, metrics)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        yield
        service.workers.close()

    app = FastAPI(
        title="modlm", version=modlm.__version__, description=ABOUT, docs_url=None, redoc_url=None, lifespan=life,
        swagger_ui_oauth2_redirect_url=None, openapi_url=None,
    )  # fmt: skip
    app.state.service = service
    add_asking(app.router, service)
    add_looking(app.router, service)
    add_watching(app.router, service)
    add_pages(app)
    handle_failures(app)
    app.add_middleware(Gate, access=access or Access(), limits=limits, metrics=metrics)
    return app


def reply(body: bytes) -> Response:
    """JSON that is written already."""
    return Response(body, media_type="application/json")


def described(answer: type[answers.AnswerPart], *refusals: int, path: str = "") -> Responses:
    """The documentation of what an endpoint gives, with an example if there is one for its path."""
    about: dict[str, Any] = {"model": answer, "description": answer.__doc__ or ""}
    if path:
        about["content"] = {"application/json": {"example": EXAMPLES[path]}}
    return {200: about, **{code: REFUSALS[code] for code in refusals}}


POST = (400, 401, 403, 404, 408, 413, 415, 422, 503, 504)
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


def post(
    router: APIRouter, path: str, summary: str, answer: type[answers.AnswerPart], *, stream: bool = False
) -> Callable[[Endpoint], Endpoint]:
    """Adds an endpoint that takes JSON."""
    responses = described(answer, *POST, path=path)
    if stream:
        responses[200]["content"]["text/event-stream"] = {"schema": EVENT}

    def add(endpoint: Endpoint) -> Endpoint:
        router.add_api_route(
            path, endpoint, methods=["POST"], summary=summary, responses=responses, response_class=JSONResponse,
            route_class_override=JsonRoute,
        )  # fmt: skip
        return endpoint

    return add


def add_asking(router: APIRouter, service: Service) -> None:
    """Scores and words."""

    @post(router, "/score", "Score sentences", answers.ScoreAnswer)
    async def score(body: ScoreRequest) -> Response:
        """The natural log-probability and perplexity of sentences, each on its own, and of all together.

        With `words` also of every word. Requests that arrive at the same time are scored together.
        """
        return reply(await service.score(body))

    @post(router, "/next", "Predict the next word", answers.NextAnswer)
    async def next_words(body: NextRequest) -> Response:
        """The most probable next words after a context, and how much of their probability each column gave.

        With `by_column` also what each column would predict by itself, with its weight in the mixture.
        """
        return reply(await service.next_words(body))

    @post(router, "/generate", "Draw a sentence", answers.GenerateAnswer, stream=True)
    async def generate(body: GenerateRequest) -> Response:
        """Words drawn from the model after a context, until the sentence ends.

        As server-sent events: `data: {"word", "probability"}` for each word, and in the end
        `data: {"done": true, "reason"}`. The drawing stops when the client goes away. With `"stream": false` all words
        come in one answer.
        """
        if not body.stream:
            return reply(await service.generate(body))
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(service.events(service.generation(body)), 200, headers, "text/event-stream")

    @post(router, "/rescore", "Put n-best lists in order", answers.RescoreAnswer)
    async def rescore(body: RescoreRequest) -> Response:
        """Each hypothesis gets score + lm_weight log_prob + word_penalty words; lists come back best first."""
        return reply(await service.rescore(body))


def add_looking(router: APIRouter, service: Service) -> None:
    """Into models."""

    @post(router, "/explain", "Explain every word", answers.ExplainAnswer)
    async def explain(body: ExplainRequest) -> Response:
        """For every word of a text: its probability in each column, the columns' weights, and their shares."""
        return reply(await service.explain(body))

    @post(router, "/why", "Say why a word is as probable as it is", answers.WhyAnswer)
    async def why(body: WhyRequest) -> Response:
        """For one word after a context: the matched contexts, their counts, followers and fallbacks, and the weights.

        A pruned model, or one from an ARPA file, has no counts; its answer says so in a `note`.
        """
        return reply(await service.why(body))

    @post(router, "/compare", "Compare models on a text", answers.CompareAnswer)
    async def compare(body: CompareRequest) -> Response:
        """A text under several models, word by word, and the words that gained or lost most under the second."""
        return reply(await service.compare(body))


def add_watching(router: APIRouter, service: Service) -> None:
    """The server itself."""

    @router.get("/models", summary="List the models", responses=described(answers.ModelsAnswer, 401, 403))
    async def models() -> Response:
        """The models that are served, the runs that are watched, and the limits of requests."""
        return reply(await service.models())

    @router.get("/runs", summary="List the training runs", responses=described(answers.RunsAnswer, 401, 403))
    async def runs() -> Response:
        """The training runs given with --run."""
        return reply(await service.runs())

    @router.get("/runs/{name}", summary="Follow a run", responses=described(answers.RunAnswer, 401, 403, 404, 422))
    async def run(
        name: str, after: Annotated[int, Query(ge=0, le=2**31, description="Lines that are known already.")] = 0
    ) -> Response:
        """The journal of a training run from a line on, for curves that grow while it goes on."""
        return reply(await service.run(name, after))

    @router.get("/health", summary="Is it up?", responses=described(answers.HealthAnswer, 403))
    async def health() -> Response:
        """Needs no token."""
        uptime = time.monotonic() - service.metrics.begun
        return reply(orjson.dumps({"status": "ok", "version": modlm.__version__, "uptime": uptime}))

    text: Responses = {
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus' text format."}
    }

    @router.get(
        "/metrics",
        summary="Counters",
        response_class=Response,
        responses={**text, 401: REFUSALS[401], 403: REFUSALS[403]},
    )
    async def metrics() -> Response:
        """Requests, times, batches, words and memory for Prometheus."""
        return Response(service.metrics.text(), media_type=CONTENT_TYPE)


def add_pages(app: FastAPI) -> None:
    """For people: the explorer and the documentation."""

    @app.get("/", include_in_schema=False)
    async def explorer() -> Response:
        return page_file("index.html")

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        return page_file(name)

    @app.get("/favicon.ico", include_in_schema=False)
    async def icon() -> Response:
        return page_file("icon.svg")

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        headers = policy(scripts="'none'", styles=STYLE_HASH)
        return HTMLResponse(page_at(str(request.base_url).rstrip("/")), headers=headers)

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return reply(description())

    # Written once, since anybody may ask for them: they need no token.

    @lru_cache(maxsize=8)
    def page_at(address: str) -> str:
        return docs_page(app.openapi(), address)

    @lru_cache
    def description() -> bytes:
        return orjson.dumps(app.openapi())
