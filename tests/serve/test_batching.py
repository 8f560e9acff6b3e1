"""Requests that wait together are scored together, and none suffers from another."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx2", reason="httpx2, which asks the server, is not installed")

from modlm.errors import InputError, ModlmError
from modlm.model.ngram_lm import NgramLM
from modlm.model.scored_text import ScoredText
from modlm.serve import batching
from modlm.serve.batching import Batcher
from serve.small_models import TEXT
from small_texts import model_of


class Gated(NgramLM):
    """A model that begins to score when it is let."""

    def __init__(self) -> None:
        model = model_of(TEXT, order=2)
        super().__init__(model.vocabulary, model.compiled)
        self.open = threading.Event()
        self.passes = 0

    def sentence_log_probs(self, ids: np.ndarray) -> np.ndarray:
        self.open.wait(10)
        self.passes += 1
        return super().sentence_log_probs(ids)


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def total(scored: ScoredText) -> float:
    return scored.log_likelihood


def test_what_arrives_while_the_model_works_is_the_next_batch(executor: ThreadPoolExecutor) -> None:
    model, batches = Gated(), list[tuple[int, int, int]]()

    async def run() -> list[float]:
        batcher = Batcher(model, lambda: executor, lambda *sizes: batches.append(sizes))
        asked = [asyncio.ensure_future(batcher.score([word] * (n + 1), n + 1, total)) for n, word in enumerate("abcd")]
        await asyncio.sleep(0.05)  # the first has begun, the others wait
        assert batches == [(1, 1, 1)]
        model.open.set()
        return await asyncio.gather(*asked)

    answers = asyncio.run(run())
    assert batches == [(1, 1, 1), (3, 9, 9)] and model.passes == 2
    assert answers == pytest.approx([(n + 1) * model.score(word) for n, word in enumerate("abcd")])


def test_a_batch_takes_no_more_than_so_many_words(
    executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "BATCH_WORDS", 5)
    model, batches = Gated(), list[int]()

    async def run() -> None:
        batcher = Batcher(model, lambda: executor, lambda requests, sentences, words: batches.append(words))
        asked = [batcher.score(["a"], words, total) for words in (1, 3, 2, 9, 1)]
        tasks = [asyncio.ensure_future(one) for one in asked]
        await asyncio.sleep(0.05)
        model.open.set()
        await asyncio.gather(*tasks)

    asyncio.run(run())
    assert batches == [1, 5, 9, 1]


def test_a_request_that_fails_does_not_fail_its_neighbours(executor: ThreadPoolExecutor) -> None:
    model = Gated()

    def refuse(scored: ScoredText) -> float:
        raise ModlmError("not this one")

    async def run() -> list[float | BaseException]:
        batcher = Batcher(model, lambda: executor)
        first = asyncio.ensure_future(batcher.score(["a"], 1, total))
        await asyncio.sleep(0.05)
        others = [batcher.score(["a <s>"], 2, total), batcher.score(["b"], 1, total), batcher.score(["c"], 1, refuse)]
        tasks = [asyncio.ensure_future(one) for one in others]
        await asyncio.sleep(0)
        model.open.set()
        return await asyncio.gather(first, *tasks, return_exceptions=True)

    first, reserved, good, refused = asyncio.run(run())
    assert first == pytest.approx(model.score("a")) and good == pytest.approx(model.score("b"))
    assert isinstance(reserved, InputError) and str(refused) == "not this one"


def test_a_request_given_up_while_it_waits_is_not_scored(executor: ThreadPoolExecutor) -> None:
    model, batches = Gated(), list[int]()

    async def run() -> float:
        batcher = Batcher(model, lambda: executor, lambda requests, sentences, words: batches.append(requests))
        first = asyncio.ensure_future(batcher.score(["a"], 1, total))
        await asyncio.sleep(0.05)
        waiting = asyncio.ensure_future(batcher.score(["b"], 1, total))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(0)
        model.open.set()
        await first
        return await batcher.score(["c"], 1, total)

    assert asyncio.run(run()) == pytest.approx(model.score("c"))
    assert batches == [1, 1]
