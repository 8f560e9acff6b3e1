"""Requests that arrive together are scored together: one pass of the model for all that wait.

An idle model begins with the first request at once, so nobody waits for company. What arrives while it works makes the
next batch. Work and the making of answers happen in a thread; the event loop only hands over.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from modlm.errors import ModlmError
from modlm.model.language_model import LanguageModel
from modlm.model.scored_text import ScoredText, score_sentences

BATCH_WORDS = 1 << 15  # words after which a batch takes no more requests

T = TypeVar("T")


@dataclass(slots=True)
class Job(Generic[T]):
    """The sentences of one request, and what is made of their scores."""

    sentences: Sequence[str]
    words: int
    finish: Callable[[ScoredText], T]
    future: asyncio.Future[T]

    def outcome(self, scored: ScoredText) -> T | Exception:
        """The result, or what went wrong with this job alone."""
        try:
            return self.finish(scored)
        except Exception as error:  # it belongs to this request, the others in the batch go on
            return error


@dataclass(slots=True)
class Batcher:
    """The queue before one model; lives in the event loop."""

    model: LanguageModel
    executor: Callable[[], Executor]
    on_batch: Callable[[int, int, int], None] = lambda requests, sentences, words: None
    """Told of every batch: requests, sentences, words."""
    _waiting: deque[Job[Any]] = field(default_factory=deque)
    _busy: bool = False

    async def score(self, sentences: Sequence[str], words: int, finish: Callable[[ScoredText], T]) -> T:
        """What `finish` makes of the scores; it runs in a thread."""
        job: Job[T] = Job(sentences, words, finish, asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        if not self._busy:
            self._next_batch()
        return await job.future

    def _next_batch(self) -> None:
        jobs, words = list[Job[Any]](), 0
        while self._waiting and (not jobs or words + self._waiting[0].words <= BATCH_WORDS):
            job = self._waiting.popleft()
            if not job.future.done():  # else given up while it waited
                jobs.append(job)
                words += job.words
        if not jobs:
            self._busy = False
            return
        self.on_batch(len(jobs), sum(len(job.sentences) for job in jobs), words)
        done = asyncio.get_running_loop().run_in_executor(self.executor(), run_batch, self.model, jobs)
        self._busy = True
        done.add_done_callback(lambda batch: self._hand_over(jobs, batch))

    def _hand_over(self, jobs: Sequence[Job[Any]], batch: asyncio.Future[list[Any]]) -> None:
        self._next_batch()  # the model need not wait for the answers to be sent
        error = asyncio.CancelledError() if batch.cancelled() else batch.exception()
        for job, outcome in zip(jobs, [error] * len(jobs) if error else batch.result(), strict=True):
            if job.future.done():
                continue
            if isinstance(outcome, BaseException):
                job.future.set_exception(outcome)
            else:
                job.future.set_result(outcome)


def run_batch(model: LanguageModel, jobs: Sequence[Job[Any]]) -> list[Any]:
    """The outcome of each job, or the error that it met."""
    try:
        scored = score_sentences(model, [sentence for job in jobs for sentence in job.sentences])
    except ModlmError as error:
        if len(jobs) == 1:
            return [error]
        return [outcome for job in jobs for outcome in run_batch(model, [job])]  # whoever it was, the others are well
    return [job.outcome(own) for job, own in zip(jobs, scored.parts([len(job.sentences) for job in jobs]), strict=True)]
