"""What the server does: a method for each endpoint, requests in, answers out; their docstrings are its documentation.

Scores go through batches, longer work through threads; both write their JSON there, away from the event loop.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Annotated, Any, Self, TypeVar

import orjson
from fastapi import Query, Response
from fastapi.responses import StreamingResponse

import modlm
from modlm.evaluation.rescoring import Weights
from modlm.ground.arrays import threads
from modlm.model.language_model import ExplainedRow
from modlm.model.sampling import Sampling
from modlm.model.scored_text import ScoredText, score_sentences
from modlm.model.translation import Beam
from modlm.serve import requests, scoring
from modlm.serve.batching import Batcher
from modlm.serve.completions import Choice, Generation
from modlm.serve.library import Library, Served
from modlm.serve.limits import Limits
from modlm.serve.metrics import CONTENT_TYPE, Metrics
from modlm.serve.refusals import too_large
from modlm.serve.sessions import Sessions
from modlm.serve.texts import check_context, check_sentences, lines_of
from modlm.serve.translating import check_sources, translated
from modlm.serve.why import why_answer

T = TypeVar("T")
PORTION = 8  # sentences that are explained before looking whether anybody still waits
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Json(Response):
    """JSON that is written already."""

    media_type = "application/json"

    @classmethod
    def of(cls, answer: Any) -> Self:
        return cls(orjson.dumps(answer))


def event(told: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(told) + b"\n\n"


class Service:
    """The endpoints of one server."""

    def __init__(self, library: Library, limits: Limits, counters: Metrics) -> None:
        self.library, self.limits, self.counters = library, limits, counters
        self.sessions = Sessions(limits)
        self.open()
        self.batchers = {
            name: Batcher(served.model, lambda: self.scoring, partial(counters.scored, name))
            for name, served in library.models.items()
        }
        self.stopping: Callable[[], bool] = lambda: False
        """Whether the server is about to end; streams then end too."""

    def open(self) -> None:
        """Have threads, also after they were closed: an application may begin more than once."""
        self.scoring = ThreadPoolExecutor(threads(), thread_name_prefix="modlm-score")
        """For batches of scores, so that these never wait behind long explanations."""
        self.working = ThreadPoolExecutor(2 * threads(), thread_name_prefix="modlm-serve")
        """For everything else; twice as many, so that short work is not stuck behind long work."""

    def close(self) -> None:
        """Begin nothing more of what waits; what runs is left to end."""
        for pool in (self.scoring, self.working):
            pool.shutdown(wait=False, cancel_futures=True)

    # ---- scores --------------------------------------------------------------------------------------------------

    async def score(self, body: requests.ScoreRequest) -> Response:
        """The natural log-probability and perplexity of sentences, each on its own, and of all together.

        With `words` also of every word. Requests that arrive at the same time are scored together.
        """
        served = self._asked(body.model, body.session, body.source)
        sentences = body.sentences or lines_of(body.text)
        return await self._scored(
            served, sentences, lambda scored: Json.of(scoring.score_answer(served, sentences, scored, body.words))
        )

    async def rescore(self, body: requests.RescoreRequest) -> Response:
        """Each hypothesis gets score + lm_weight log_prob + word_penalty words; lists come back best first."""
        served = self._asked(body.model, body.session, body.source)
        hyps = [hyp for entry in body.nbest for hyp in entry.hyps]
        sizes, scores = [len(entry.hyps) for entry in body.nbest], [hyp.score for hyp in hyps]
        texts, weights = [hyp.text for hyp in hyps], Weights(body.lm_weight, body.word_penalty, body.rank_weight)
        answer = partial(scoring.rescore_answer, served, texts, sizes, scores, weights)
        return await self._scored(served, texts, lambda scored: Json.of(answer(scored)))

    async def compare(self, body: requests.CompareRequest) -> Response:
        """A text under several models, word by word, and the words that gained or lost most under the second."""
        models, sentences = [self.library.model(name) for name in body.models], lines_of(body.text)
        mixed = any(served.model.reads.source for served in models)
        models = [own.given(None if mixed and not own.model.reads.source else body.source) for own in models]
        scoring.check_units(models)
        scored = [await self._scored(served, sentences, lambda own: own) for served in models]
        return await self.worked(lambda: Json.of(scoring.compare_answer(models, sentences, scored)))

    async def _scored(self, served: Served, sentences: Sequence[str], finish: Callable[[ScoredText], T]) -> T:
        words = check_sentences(sentences, self.limits)
        if served.model is not self.library.models[served.name].model:  # of a session, or beside a source
            return await self.worked(lambda: finish(score_sentences(served.model, sentences)))
        return await self.batchers[served.name].score(sentences, words, finish)

    async def worked(self, work: Callable[[], T]) -> T:
        """What work gives that is done in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self.working, work)

    # ---- looking into models -------------------------------------------------------------------------------------

    async def explain(self, body: requests.ExplainRequest) -> Response:
        """For every word of a text: its probability in each column, the columns' weights, and their shares."""
        served, sentences = self._asked(body.model, body.session, body.source), lines_of(body.text)
        check_sentences(sentences, self.limits, each=len((body.source or "").split()))
        explained = list[list[ExplainedRow]]()
        for begin in range(0, len(sentences), PORTION):  # between portions the work can be given up
            some = sentences[begin : begin + PORTION]
            explained += await self.worked(partial(list, map(served.model.explained, some)))
        return await self.worked(lambda: Json.of(scoring.explain_answer(served, sentences, explained)))

    async def why(self, body: requests.WhyRequest) -> Response:
        """For one word after a context: the matched contexts, their counts, followers and fallbacks, and the weights.

        A pruned model, or one from an ARPA file, has no counts; its answer says so in a `note`.
        """
        served = self._asked(body.model, None, body.source)
        check_context(body.context)
        return await self.worked(lambda: Json.of(why_answer(served, body.context, body.word, start=body.start)))

    async def next_words(self, body: requests.NextRequest) -> Response:
        """The most probable next words after a context, and how much of their probability each column gave.

        With `by_column` also what each column would predict by itself, with its weight in the mixture.
        """
        served = self._asked(body.model, body.session, body.source)
        check_context(body.context)
        return await self.worked(
            lambda: Json.of(
                scoring.next_answer(served, body.context, body.k, by_column=body.by_column, start=body.start)
            )
        )

    # ---- translating ---------------------------------------------------------------------------------------------

    async def translate(self, body: requests.TranslateRequest) -> Response:
        """Translations of sentences, the best first, and for each word lambda over the words of its source.

        Also how much of each word's probability came from every block of columns: the net's own deltas, n-grams, the
        lexicon, copies.
        """
        served = self._asked(body.model, body.session, "")
        sources = [body.source] if isinstance(body.source, str) else body.source
        penalty = body.length_penalty
        beam = Beam(width=body.beam, n_best=body.n_best, length_penalty=penalty, unknown=body.unknown)
        check_sources(sources, beam, self.limits)
        records = list[dict[str, Any]]()
        for begin in range(0, len(sources), PORTION):
            records += await self.worked(partial(translated, served, sources[begin : begin + PORTION], beam))
        self.counters.generated(served.name, sum(len(own["words"]) for one in records for own in one["translations"]))
        return await self.worked(lambda: Json.of({"model": served.name, "sentences": records}))

    # ---- learning ------------------------------------------------------------------------------------------------

    async def observe(self, body: requests.ObserveRequest) -> Response:
        """A model with columns that learn reads a text, for one session alone; `session` in later requests names it.

        What a session has observed is in the memory of the server alone: it is gone when the session expires, and when
        the server ends in whatever way. Then the answer is 404 `unknown_session`; send the text again.
        """
        served, sentences = self.library.model(body.model), lines_of(body.text)
        check_sentences(sentences, self.limits)
        return await self.worked(lambda: Json.of(self.sessions.observe(served, body.session, sentences)))

    async def forget(self, body: requests.ForgetRequest) -> Response:
        """A session ends, and all that it has observed is forgotten."""
        return Json.of(self.sessions.forget(self.library.model(body.model), body.session))

    def _asked(self, model: str | None, session: str | None, source: str | None) -> Served:
        """The model that a request names, as its session knows it, beside its source."""
        return self.sessions.served(self.library.model(model), session).given(source)

    # ---- generating ----------------------------------------------------------------------------------------------

    async def generate(self, body: requests.GenerateRequest) -> Response:
        """Words drawn from the model after a context, until the sentence ends.

        As server-sent events: `data: {"word", "probability"}` for each word, and in the end
        `data: {"done": true, "reason"}`. The drawing stops when the client goes away. With `"stream": false` all words
        come in one answer.
        """
        generation = self.generation(body)
        if body.stream:
            return StreamingResponse(self.events(generation), 200, STREAM_HEADERS, "text/event-stream")
        words = [word async for portion in self.portions(generation) for word in portion]
        served = generation.served
        context = served.model.vocabulary.split(body.context)
        text = served.model.vocabulary.join([*context, *(word["word"] for word in words)])
        return Json.of({"model": served.name, "words": words, "text": text, "reason": generation.reason})

    def generation(self, body: requests.GenerateRequest) -> Generation:
        """A sentence about to be drawn, if the request is in order."""
        served = self._asked(body.model, body.session, body.source)
        check_context(body.context)
        if body.max_words > self.limits.max_new_words:
            raise too_large(
                "too_many_words",
                f"max_words is {body.max_words:,}, but at most {self.limits.max_new_words:,} are drawn at once. "
                f"Ask for fewer.",
            )
        sampling = Sampling(temperature=body.temperature, top_k=body.top_k, top_p=body.top_p, max_words=body.max_words)
        return Generation(served, sampling, context=body.context, seed=body.seed)

    async def portions(self, drawing: Generation | Choice) -> AsyncIterator[Any]:
        """What comes, a moment after the other, until it ends, time is up, or the server is stopped."""
        until = time.monotonic() + self.limits.timeout
        while not drawing.reason:
            before = drawing.words
            portion = await self.worked(drawing.portion)
            self.counters.generated(drawing.served.name, drawing.words - before)
            if not drawing.reason and (self.stopping() or time.monotonic() > until):
                drawing.reason = "shutdown" if self.stopping() else "timeout"
            yield portion

    async def events(self, generation: Generation) -> AsyncIterator[bytes]:
        async for portion in self.portions(generation):
            yield b"".join(map(event, portion))
        yield event({"done": True, "reason": generation.reason})

    # ---- the server itself ---------------------------------------------------------------------------------------

    async def models(self) -> Response:
        """The models that are served, the runs that are watched, and the limits of requests."""
        models = [served.described() for served in self.library.models.values()]
        runs = [run.described() for run in self.library.runs.values()]
        about = {"version": modlm.__version__, "limits": self.limits.as_dict()}
        return Json.of({"models": models, "runs": runs, **about})

    async def runs(self) -> Response:
        """The training runs given with --run."""
        return Json.of({"runs": [run.described() for run in self.library.runs.values()]})

    async def run(
        self, name: str, after: Annotated[int, Query(ge=0, le=2**31, description="Lines that are known already.")] = 0
    ) -> Response:
        """The journal of a training run from a line on, for curves that grow while it goes on."""
        found = self.library.run(name)
        return await self.worked(lambda: Json.of(found.answer(after)))

    async def health(self) -> Response:
        """Needs no token."""
        uptime = time.monotonic() - self.counters.begun
        return Json.of({"status": "ok", "version": modlm.__version__, "uptime": uptime})

    async def metrics(self) -> Response:
        """Requests, times, batches, words and memory for Prometheus."""
        return Response(self.counters.text(), media_type=CONTENT_TYPE)
