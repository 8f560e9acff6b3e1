"""The application: its routes with their documentation, and its pages. `service` does the work, `gate` surrounds it."""

import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, get_type_hints

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import FileResponse, HTMLResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

import modlm
from modlm.serve import answers, openai_shapes
from modlm.serve.docs_page import STYLE_HASH, docs_page
from modlm.serve.gate import Access, Gate
from modlm.serve.library import Library
from modlm.serve.limits import Limits
from modlm.serve.metrics import Metrics
from modlm.serve.openai_service import OpenAiService
from modlm.serve.refusals import OPENAI_REFUSALS, REFUSALS, RefusedError, handle_failures, invalid
from modlm.serve.service import Json, Service

ABOUT = """Language models as mixtures of distributions: P(w | c) = sum over k of lambda_k(c) P_k(w | c).

Texts have one sentence per line and words with spaces between. `<s>` and `</s>` stand for the boundaries of a sentence
and are added by themselves; words that a model does not know are scored as `<unk>`. Logarithms are natural. A logarithm
of 0 and an infinite perplexity are null.

An answer that is not a success is `{"error": {"code": …, "message": …}}`. When the server was started with a token,
send it as `Authorization: Bearer TOKEN`."""

PAGE = Path(__file__).parent / "page"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
EXAMPLES: dict[str, Any] = json.loads(PAGE.with_name("examples.json").read_text(encoding="utf-8"))
EVENT = {
    "type": "object",
    "properties": {"data": {"type": "string", "description": "A word and its probability, or the end, as JSON."}},
    "required": ["data"],
}
PROMETHEUS = {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus' text format."}
POST = (400, 401, 403, 404, 408, 413, 415, 422, 503, 504)


class JsonRoute(APIRoute):
    """A route whose body is read and checked in one go, without the layers that no endpoint here needs."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
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
        service.open()
        yield
        service.close()

    app = FastAPI(
        title="modlm", version=modlm.__version__, description=ABOUT, docs_url=None, redoc_url=None, lifespan=life,
        swagger_ui_oauth2_redirect_url=None, openapi_url=None,
    )  # fmt: skip
    app.state.service = service
    add_endpoints(app.router, service)
    add_pages(app)
    handle_failures(app)
    app.add_middleware(Gate, access=access or Access(), limits=limits, metrics=metrics)
    return app


def add_endpoints(router: APIRouter, service: Service) -> None:
    """Everything that programs ask; what it means is said at the methods of the service."""

    def post(path: str, endpoint: Callable[..., Any], summary: str, answer: type[BaseModel], **content: Any) -> None:
        about = described(path, answer, *POST)
        about[200]["content"] = {"application/json": {"example": EXAMPLES[path]}, **content}
        router.add_api_route(
            path, endpoint, methods=["POST"], summary=summary, responses=about, route_class_override=JsonRoute
        )

    post("/score", service.score, "Score sentences", answers.ScoreAnswer)
    post("/next", service.next_words, "Predict the next word", answers.NextAnswer)
    stream = {"text/event-stream": {"schema": EVENT}}
    post("/generate", service.generate, "Draw a sentence", answers.GenerateAnswer, **stream)
    post("/rescore", service.rescore, "Put n-best lists in order", answers.RescoreAnswer)
    post("/observe", service.observe, "Learn from a text", answers.ObserveAnswer)
    post("/forget", service.forget, "End a session", answers.ForgetAnswer)
    post("/explain", service.explain, "Explain every word", answers.ExplainAnswer)
    post("/why", service.why, "Say why a word is as probable as it is", answers.WhyAnswer)
    post("/translate", service.translate, "Translate sentences", answers.TranslateAnswer)
    post("/compare", service.compare, "Compare models on a text", answers.CompareAnswer)
    openai = OpenAiService(service)
    post("/v1/completions", openai.completions, "Complete prompts", openai_shapes.CompletionsAnswer, **stream)
    post("/tokenize", openai.tokenize, "Tell a text's tokens", openai_shapes.TokenizeAnswer)

    def get(path: str, endpoint: Callable[..., Any], summary: str, answer: Any, *refusals: int, **more: Any) -> None:
        about = described(path, answer, *refusals)
        router.add_api_route(path, endpoint, methods=["GET"], summary=summary, responses=about, **more)

    get("/models", service.models, "List the models", answers.ModelsAnswer, 401, 403)
    get("/runs", service.runs, "List the training runs", answers.RunsAnswer, 401, 403)
    get("/runs/{name}", service.run, "Follow a run", answers.RunAnswer, 401, 403, 404, 422)
    get("/health", service.health, "Is it up?", answers.HealthAnswer, 403)
    get("/v1/models", openai.models, "List the models as OpenAI does", openai_shapes.OpenAiModels, 401, 403)
    get("/v1/models/{name}", openai.model, "One of them", openai_shapes.OpenAiModel, 401, 403, 404)
    tokenizer = openai_shapes.TokenizerAnswer
    get("/tokenizer_info", openai.tokenizer_info, "What begins and ends a line", tokenizer, 401, 403)
    get("/metrics", service.metrics, "Counters", PROMETHEUS, 401, 403, response_class=Response)


def described(path: str, answer: type[BaseModel] | dict[str, Any], *refusals: int) -> dict[int | str, Any]:
    known = OPENAI_REFUSALS if path.startswith("/v1/") else REFUSALS
    about = answer if isinstance(answer, dict) else {"model": answer, "description": answer.__doc__}
    return {200: about, **{code: known[code] for code in refusals}}


def add_pages(app: FastAPI) -> None:
    for path, name in (("/", "index.html"), ("/favicon.ico", "icon.svg")):
        app.add_api_route(path, partial(page_file, name), include_in_schema=False)
    app.add_api_route("/static/{name}", page_file, include_in_schema=False)

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        headers = policy(scripts="'none'", styles=STYLE_HASH)
        return HTMLResponse(page_at(str(request.base_url).rstrip("/")), headers=headers)

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return description()

    # Written once, since anybody may ask for them: they need no token.

    @lru_cache(maxsize=8)
    def page_at(address: str) -> str:
        return docs_page(app.openapi(), address)

    @lru_cache
    def description() -> Json:
        return Json.of(app.openapi())


async def page_file(name: str) -> Response:
    """A file of the explorer by its bare name; nothing outside its folder has one."""
    file = {own.name: own for own in PAGE.iterdir() if own.suffix in TYPES}.get(name)
    if file is None:
        raise RefusedError(404, "not_found", "There is no such file. The explorer is at /, the documentation at /docs.")
    return FileResponse(file, headers=policy(), media_type=TYPES[file.suffix])


def policy(*, scripts: str = "'self'", styles: str = "'self'") -> dict[str, str]:
    """The headers of a page that loads only what comes from here, and cannot be framed."""
    rules = f"default-src 'none'; script-src {scripts}; style-src {styles}; img-src 'self' data:; font-src 'self'; "
    rules += "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return {"Content-Security-Policy": rules, "Cache-Control": "no-cache"}
