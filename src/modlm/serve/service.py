"""What the server does, without HTTP: requests in, JSON out; scores in batches, longer work in threads."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import orjson

import modlm
from modlm.evaluation.rescoring import Weights
from modlm.model.sampling import Sampling
from modlm.model.scored_text import ScoredText
from modlm.serve.batching import Batcher
from modlm.serve.comparing import check_units, compare_answer
from modlm.serve.explaining import explain_answer
from modlm.serve.generating import Generation
from modlm.serve.library import Library, Served
from modlm.serve.limits import Limits
from modlm.serve.metrics import Metrics
from modlm.serve.predicting import next_answer
from modlm.serve.refusals import too_large
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
from modlm.serve.scoring import score_answer
from modlm.serve.texts import check_context, check_sentences, lines_of
from modlm.serve.why import why_answer
from modlm.serve.workers import Workers

Json = bytes
T = TypeVar("T")


class Service:
    """The endpoints of one server."""

    def __init__(self, library: Library, limits: Limits, metrics: Metrics) -> None:
        self.library, self.limits, self.metrics = library, limits, metrics
        self.workers = Workers()
        self.batchers = {
            name: Batcher(served.model, lambda: self.workers.scoring, partial(metrics.scored, name))
            for name, served in library.models.items()
        }
        self.stopping: Callable[[], bool] = lambda: False
        """Whether the server is about to end; streams then end too."""

    # ---- scores --------------------------------------------------------------------------------------------------

    async def score(self, body: ScoreRequest) -> Json:
        """`/score`."""
        served = self.library.model(body.model)
        sentences = body.sentences or lines_of(body.text)
        return await self._scored(
            served,
            sentences,
            lambda scored: orjson.dumps(score_answer(served, sentences, scored, words=body.words)),
        )

    async def rescore(self, body: RescoreRequest) -> Json:
        """`/rescore`."""
        served = self.library.model(body.model)
        lists = [[(hyp.text, hyp.score) for hyp in entry.hyps] for entry in body.nbest]
        weights = Weights(body.lm_weight, body.word_penalty, body.rank_weight)
        return await self._scored(
            served,
            [text for hyps in lists for text, _ in hyps],
            lambda scored: orjson.dumps(rescore_answer(served.name, lists, scored, weights)),
        )

    async def compare(self, body: CompareRequest) -> Json:
        """`/compare`."""
        models, sentences = [self.library.model(name) for name in body.models], lines_of(body.text)
        check_units(models)
        scored = [await self._scored(served, sentences, lambda own: own) for served in models]
        return await self.workers.run(lambda check: orjson.dumps(compare_answer(models, sentences, scored)))

    async def _scored(self, served: Served, sentences: Sequence[str], finish: Callable[[ScoredText], T]) -> T:
        words = check_sentences(sentences, self.limits)
        return await self.batchers[served.name].score(sentences, words, finish)

    # ---- looking into models -------------------------------------------------------------------------------------

    async def explain(self, body: ExplainRequest) -> Json:
        """`/explain`."""
        served, sentences = self.library.model(body.model), lines_of(body.text)
        check_sentences(sentences, self.limits)
        return await self.workers.run(lambda check: orjson.dumps(explain_answer(served, sentences, check)))

    async def why(self, body: WhyRequest) -> Json:
        """`/why`."""
        served = self.library.model(body.model)
        check_context(body.context)
        return await self.workers.run(
            lambda check: orjson.dumps(why_answer(served, body.context, body.word, start=body.start))
        )

    async def next_words(self, body: NextRequest) -> Json:
        """`/next`."""
        served = self.library.model(body.model)
        check_context(body.context)
        return await self.workers.run(
            lambda check: orjson.dumps(
                next_answer(served, body.context, body.k, by_column=body.by_column, start=body.start)
            )
        )

    # ---- generating ----------------------------------------------------------------------------------------------

    def generation(self, body: GenerateRequest) -> Generation:
        """A sentence about to be drawn, if the request is in order."""
        served = self.library.model(body.model)
        check_context(body.context)
        if body.max_words > self.limits.max_new_words:
            raise too_large(
                "too_many_words",
                f"max_words is {body.max_words:,}, but at most {self.limits.max_new_words:,} are drawn at once. "
                f"Ask for fewer.",
            )
        sampling = Sampling(temperature=body.temperature, top_k=body.top_k, top_p=body.top_p, max_words=body.max_words)
        return Generation.begin(served, sampling, context=body.context, seed=body.seed)

    async def portions(self, generation: Generation) -> AsyncIterator[list[dict[str, Any]]]:
        """Words as they come, until the sentence ends, time is up, or the server is stopped."""
        until = time.monotonic() + self.limits.timeout
        while not generation.reason:
            words = await self.workers.run(lambda check: generation.portion())
            self.metrics.generated(generation.served.name, len(words))
            yield words
            if not generation.reason and (self.stopping() or time.monotonic() > until):
                generation.reason = "shutdown" if self.stopping() else "timeout"

    async def generate(self, body: GenerateRequest) -> Json:
        """`/generate` as one answer."""
        generation = self.generation(body)
        words = [word async for portion in self.portions(generation) for word in portion]
        vocabulary = generation.served.model.vocabulary
        text = vocabulary.join([*vocabulary.split(body.context), *(word["word"] for word in words)])
        return orjson.dumps(
            {"model": generation.served.name, "words": words, "text": text, "reason": generation.reason}
        )

    async def events(self, generation: Generation) -> AsyncIterator[bytes]:
        """`/generate` as server-sent events."""
        async for portion in self.portions(generation):
            yield b"".join(b"data: " + orjson.dumps(word) + b"\n\n" for word in portion)
        yield b"data: " + orjson.dumps({"done": True, "reason": generation.reason}) + b"\n\n"

    # ---- the server itself ---------------------------------------------------------------------------------------

    async def models(self) -> Json:
        """`/models`."""
        return orjson.dumps(
            {
                "models": [served.described() for served in self.library.models.values()],
                "runs": [run.described() for run in self.library.runs.values()],
                "version": modlm.__version__,
                "limits": self.limits.as_dict(),
            }
        )

    async def runs(self) -> Json:
        """`/runs`."""
        return orjson.dumps({"runs": [run.described() for run in self.library.runs.values()]})

    async def run(self, name: str, after: int) -> Json:
        """`/runs/{name}`."""
        found = self.library.run(name)
        return await self.workers.run(lambda check: orjson.dumps(found.answer(after)))
