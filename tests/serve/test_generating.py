"""`/generate`: the words that the model draws, as one answer and as a stream that ends when it should."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx2", reason="httpx2, which asks the server, is not installed")

from fastapi.testclient import TestClient

from modlm.model.language_model import LanguageModel
from modlm.model.sampling import Draw, Sampling
from modlm.serve.answers import GenerateAnswer
from modlm.serve.library import Library
from modlm.serve.limits import Limits
from modlm.serve.metrics import Metrics
from modlm.serve.requests import GenerateRequest
from modlm.serve.service import Service

Ask = Callable[..., Any]


def events(client: TestClient, **body: Any) -> list[dict[str, Any]]:
    answer = client.post("/generate", json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    return [json.loads(event.removeprefix("data: ")) for event in answer.text.split("\n\n")[:-1]]


def test_a_seed_gives_the_sentence_that_the_model_draws(ask: Ask, models: dict[str, LanguageModel], name: str) -> None:
    answer = ask("/generate", model=name, context="a", seed=7, temperature=0.8, top_k=5, max_words=9, stream=False)
    GenerateAnswer.model_validate(answer)
    sampling = Sampling(temperature=0.8, top_k=5, max_words=9)
    expected = list(models[name].generate(sampling, context="a", rng=np.random.default_rng(7)))
    assert [word["word"] for word in answer["words"]] == expected
    assert answer["text"] == " ".join(["a", *expected])
    assert answer["reason"] == ("max_words" if len(expected) == 9 else "end")


def test_a_stream_has_the_same_words_and_ends_with_a_reason(client: TestClient, ask: Ask) -> None:
    whole = ask("/generate", seed=3, stream=False)
    *words, last = events(client, seed=3)
    assert words == whole["words"]
    assert last == {"done": True, "reason": whole["reason"]}


def test_probabilities_are_the_models_own(ask: Ask, models: dict[str, LanguageModel]) -> None:
    first = ask("/generate", temperature=0, max_words=1, stream=False)["words"][0]
    row = models["ngram"].next_distribution("")
    assert first["probability"] == pytest.approx(row[models["ngram"].vocabulary.id(first["word"])])


# ---- how a stream ends -----------------------------------------------------------------------------------------------


def endless() -> Iterator[Draw]:
    """A sentence that does not end, a word a moment."""
    while True:
        time.sleep(0.03)
        yield Draw(2, 0.5)


def streamed(own: Service, *, leave_after: int = 0) -> list[bytes]:
    """The events of an endless sentence; a client may leave early."""

    async def run() -> list[bytes]:
        generation = own.generation(GenerateRequest(model="ngram", max_words=1000))
        generation.drawn = endless()
        found, stream = [], own.events(generation)
        async for event in stream:
            found.append(event)
            if len(found) == leave_after:
                break
        await stream.aclose()  # type: ignore[attr-defined]
        return found

    return asyncio.run(run())


def last_of(events: list[bytes]) -> Any:
    return json.loads(events[-1].removeprefix(b"data: "))


def test_a_stream_ends_when_time_is_up(library: Library) -> None:
    own = Service(library, Limits(timeout=0.01), Metrics())
    assert last_of(streamed(own)) == {"done": True, "reason": "timeout"}


def test_a_stream_ends_when_the_server_is_stopped(library: Library) -> None:
    own = Service(library, Limits(), Metrics())
    own.stopping = lambda: True
    assert last_of(streamed(own)) == {"done": True, "reason": "shutdown"}


def test_nothing_more_is_drawn_when_the_client_leaves(library: Library) -> None:
    own = Service(library, Limits(), Metrics())
    assert len(streamed(own, leave_after=2)) == 2
    assert b'modlm_generated_words_total{model="ngram"} 2.0' in own.counters.text()
