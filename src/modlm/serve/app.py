"""The application: every endpoint in one place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, StreamingResponse
from starlette.exceptions import HTTPException

import modlm
from modlm.errors import ModlmError
from modlm.model.sampling import Sampling
from modlm.serve.comparing import compare_answer
from modlm.serve.explaining import explain_answer
from modlm.serve.generating import Generation
from modlm.serve.library import Library
from modlm.serve.limits import Limits
from modlm.serve.predicting import next_answer
from modlm.serve.refusals import Refusal, too_large
from modlm.serve.requests import (
    CompareRequest,
    ExplainRequest,
    GenerateRequest,
    NextRequest,
    RescoreRequest,
    ScoreRequest,
    WhyRequest,
)
from modlm.serve.rescoring import rescore_answer
from modlm.serve.scoring import score_answer, score_sentences
from modlm.serve.texts import check_context, check_sentences, lines_of
from modlm.serve.why import why_answer

PAGE = Path(__file__).parent / "page"
T = TypeVar("T")


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(orjson.dumps(value), status, headers, "application/json")


def make_app(library: Library, limits: Limits | None = None) -> FastAPI:
    limits = limits or Limits()
    app = FastAPI(title="modlm", version=modlm.__version__, docs_url=None, redoc_url=None)

    @app.exception_handler(Refusal)
    async def refused(request: Request, error: Refusal) -> Response:
        return json_response(error.body, error.status, error.headers)

    @app.exception_handler(ModlmError)
    async def failed(request: Request, error: ModlmError) -> Response:
        return json_response({"error": {"code": "bad_request", "message": str(error)}}, 400)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        told = "; ".join(f"{'.'.join(str(p) for p in e['loc'][1:])}: {e['msg']}" for e in error.errors())
        return json_response({"error": {"code": "invalid_request", "message": told}}, 422)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        return json_response({"error": {"code": "http", "message": str(error.detail)}}, error.status_code)

    async def in_thread(work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(None, work)

    def go_on() -> None:
        pass

    @app.get("/models")
    async def models() -> Response:
        return json_response(
            {
                "models": [served.described() for served in library.models.values()],
                "runs": [{"name": name} for name in library.runs],
                "version": modlm.__version__,
                "limits": limits.as_dict(),
            }
        )

    @app.post("/score")
    async def score(body: ScoreRequest) -> Response:
        served = library.model(body.model)
        sentences = body.sentences or lines_of(body.text)
        check_sentences(sentences, limits)
        scored = await in_thread(lambda: score_sentences(served.model, sentences))
        return json_response(score_answer(served.name, sentences, scored, words=body.words))

    @app.post("/explain")
    async def explain(body: ExplainRequest) -> Response:
        served, sentences = library.model(body.model), lines_of(body.text)
        check_sentences(sentences, limits)
        return json_response(await in_thread(lambda: explain_answer(served, sentences, go_on)))

    @app.post("/why")
    async def why(body: WhyRequest) -> Response:
        served = library.model(body.model)
        check_context(body.context)
        return json_response(await in_thread(lambda: why_answer(served, body.context, body.word, start=body.start)))

    @app.post("/next")
    async def next_words(body: NextRequest) -> Response:
        served = library.model(body.model)
        check_context(body.context)
        return json_response(
            await in_thread(
                lambda: next_answer(served, body.context, body.k, by_column=body.by_column, start=body.start)
            )
        )

    @app.post("/compare")
    async def compare(body: CompareRequest) -> Response:
        served, sentences = [library.model(name) for name in body.models], lines_of(body.text)
        check_sentences(sentences, limits)
        return json_response(await in_thread(lambda: compare_answer(served, sentences, go_on)))

    @app.post("/rescore")
    async def rescore(body: RescoreRequest) -> Response:
        served = library.model(body.model)
        lists = [[(hyp.text, hyp.score) for hyp in entry.hyps] for entry in body.nbest]
        texts = [text for hyps in lists for text, _ in hyps]
        check_sentences(texts, limits)
        scored = await in_thread(lambda: served.model.score_batch(texts))
        return json_response(
            rescore_answer(served.name, lists, scored, lm_weight=body.lm_weight, word_penalty=body.word_penalty)
        )

    @app.post("/generate")
    async def generate(body: GenerateRequest) -> Response:
        served = library.model(body.model)
        check_context(body.context)
        if body.max_words > limits.max_new_words:
            raise too_large("too_many_words", f"max_words is {body.max_words}, at most {limits.max_new_words} here.")
        sampling = Sampling(temperature=body.temperature, top_k=body.top_k, top_p=body.top_p, max_words=body.max_words)
        generation = Generation.begin(served, sampling, context=body.context, seed=body.seed)
        if body.stream:
            return StreamingResponse(events(generation), media_type="text/event-stream")
        words = []
        while not generation.reason:
            words += await in_thread(generation.portion)
        text = " ".join([*body.context.split(), *(w["word"] for w in words)])
        return json_response({"model": served.name, "words": words, "text": text, "reason": generation.reason})

    async def events(generation: Generation) -> AsyncIterator[bytes]:
        while not generation.reason:
            for word in await in_thread(generation.portion):
                yield b"data: " + orjson.dumps(word) + b"\n\n"
        yield b"data: " + orjson.dumps({"done": True, "reason": generation.reason}) + b"\n\n"

    @app.get("/runs")
    async def runs() -> Response:
        return json_response({"runs": [{"name": name} for name in library.runs]})

    @app.get("/runs/{name}")
    async def run(name: str, after: int = 0) -> Response:
        found = library.run(name)
        lines, total = await in_thread(lambda: found.lines(max(0, after)))
        return json_response({"name": name, "after": after, "lines": lines, "next": total, "finished": found.finished})

    @app.get("/health")
    async def health() -> Response:
        return json_response({"status": "ok"})

    @app.get("/metrics")
    async def metrics() -> Response:
        return Response("", media_type="text/plain; version=0.0.4")

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(PAGE / "index.html")

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        file = PAGE / name
        if file.parent != PAGE or not file.is_file():
            raise Refusal(404, "not_found", "There is no such file.")
        return FileResponse(file)

    return app
