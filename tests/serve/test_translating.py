"""Models that read sources: `source` in requests, `/translate`, and where its words come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx2", reason="httpx2, which asks the server, is not installed")

from fastapi.testclient import TestClient

from modlm.model.mixture import Mixture
from modlm.serve.answers import ModelsAnswer, TranslateAnswer, WhyAnswer
from modlm.serve.app import make_app
from modlm.serve.library import Library
from modlm.serve.limits import MOST_SOURCE, Limits
from serve.test_gate import refusal
from small_pairs import conditional
from small_texts import model_of

Ask = Callable[..., Any]
SOURCE = "f1 7 f2 f1"
TEXT = "e1 e2 7"
BODIES: dict[str, dict[str, Any]] = {
    "/score": {"text": TEXT, "words": True},
    "/next": {"context": "e1", "by_column": True},
    "/explain": {"text": TEXT},
    "/why": {"context": "e1", "word": "e2"},
    "/generate": {"stream": False, "seed": 1, "max_words": 5},
    "/compare": {"models": ["reads"], "text": TEXT},
    "/rescore": {"nbest": [{"hyps": [{"text": TEXT}]}]},
    "/v1/completions": {"prompt": "e1", "max_tokens": 4, "seed": 1, "logprobs": 1},
}


@pytest.fixture(scope="module")
def model() -> Mixture:
    return conditional(seed=3)[0]


@pytest.fixture(scope="module")
def client(model: Mixture) -> Iterator[TestClient]:
    """A model that reads a source, one that has no columns over it, and one that reads none."""
    plain = model_of(["e1 e2 7"], order=2)
    library = Library({"reads": model, "net": conditional(blocks=False)[0], "plain": plain})
    with TestClient(make_app(library), base_url="http://localhost") as client:
        yield client


# ---- source in requests ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", BODIES)
def test_a_source_is_asked_for_and_changes_the_answer(client: TestClient, path: str) -> None:
    missing = client.post(path, json=BODIES[path])
    assert missing.status_code == 400 and missing.json()["error"]["code"] == "no_source"
    assert 'Send it as "source"' in missing.json()["error"]["message"]
    answers = [client.post(path, json={**BODIES[path], "source": source}) for source in (SOURCE, "f5", "")]
    assert [answer.status_code for answer in answers] == [200] * 3, [answer.text for answer in answers]
    assert len({str({**answer.json(), "id": "", "created": 0}) for answer in answers}) == 3


@pytest.mark.parametrize("path", BODIES)
def test_a_model_without_sources_refuses_one(client: TestClient, path: str) -> None:
    body = {**BODIES[path], **({"models": ["plain"]} if path == "/compare" else {"model": "plain"})}
    assert client.post(path, json=body).status_code == 200
    answer = client.post(path, json={**body, "source": SOURCE})
    assert answer.status_code == 400 and answer.json()["error"]["code"] == "reads_no_source"
    assert "modlm train --source" in answer.json()["error"]["message"]


def test_models_that_read_a_source_compare_with_those_that_read_none(client: TestClient, model: Mixture) -> None:
    answer = client.post("/compare", json={"models": ["plain", "reads"], "text": TEXT, "source": SOURCE}).json()
    assert [own["log_prob"] for own in answer["models"]] == pytest.approx(
        [model_of([TEXT], order=2).score(TEXT), model.given(SOURCE).score(TEXT)], rel=1e-4
    )


def test_answers_are_those_of_the_model_beside_the_source(client: TestClient, model: Mixture) -> None:
    beside = model.given(SOURCE)
    scored = client.post("/score", json={**BODIES["/score"], "source": SOURCE}).json()
    assert scored["log_prob"] == pytest.approx(beside.score(TEXT), rel=1e-4)
    explained = client.post("/explain", json={**BODIES["/explain"], "source": SOURCE}).json()
    assert tuple(explained["columns"]) == beside.column_names and "lexicon[2] 7" in beside.column_names
    for word, expected in zip(explained["sentences"][0]["words"], beside.explain(TEXT), strict=True):
        assert word["weights"] == pytest.approx(list(expected.weights.values()))


def test_why_has_the_blocks_over_the_source(client: TestClient, model: Mixture) -> None:
    answer = client.post("/why", json={**BODIES["/why"], "source": SOURCE}).json()
    WhyAnswer.model_validate(answer)
    assert {block["kind"]: len(block["columns"]) for block in answer["blocks"]} == {
        "uniform": 1, "lexicon": 4, "copy": 4, "delta": 1,
    }  # fmt: skip
    row_J = model.given(SOURCE).next_distribution("e1")
    assert answer["probability"] == pytest.approx(row_J[model.vocabulary.id("e2")], rel=1e-4)


def test_the_list_of_models_says_which_read_a_source(client: TestClient) -> None:
    answer = client.get("/models").json()
    ModelsAnswer.model_validate(answer)
    assert {own["name"]: own["source"] for own in answer["models"]} == {"reads": True, "net": True, "plain": False}


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("f1\nf2", (400, "line_break")),
        ("f1 </s>", (400, "reserved_word")),
        ("f1 " * (MOST_SOURCE + 1), (413, "too_many_words")),
        (["f1"], (422, "invalid_request")),
    ],
)
def test_what_is_no_source_is_refused(client: TestClient, source: Any, told: tuple[int, str]) -> None:
    assert refusal(client.post("/score", json={"text": "e1", "source": source})) == told
    if isinstance(source, str):
        assert refusal(client.post("/translate", json={"source": source})) == told


def test_a_long_source_leaves_less_room_for_a_text_to_explain(model: Mixture) -> None:
    with TestClient(make_app(Library({"m": model}), limits=Limits(max_words=12)), base_url="http://localhost") as small:
        assert small.post("/explain", json={"text": TEXT, "source": SOURCE}).status_code == 200
        answer = small.post("/explain", json={"text": TEXT + " e3", "source": SOURCE})
    assert refusal(answer) == (413, "too_many_words")
    assert "4 words, each beside 4 words of the source, but at most 3" in answer.json()["error"]["message"]


# ---- /translate ------------------------------------------------------------------------------------------------------


def test_translations_are_those_of_the_model_and_tell_where_each_word_comes_from(
    client: TestClient, model: Mixture
) -> None:
    sources = [SOURCE, "", "nobody f3"]
    answer = client.post("/translate", json={"source": sources, "n_best": 3, "beam": 4}).json()
    TranslateAnswer.model_validate(answer)
    for source, record, found in zip(
        sources, answer["sentences"], model.translate(sources, width=4, n_best=3), strict=True
    ):
        assert record["source"] == source.split()
        for told, own in zip(record["translations"], found, strict=True):
            assert (told["text"], told["score"]) == (str(own), pytest.approx(own.score, rel=1e-4))
            assert [word["word"] for word in told["words"]] == [*own.words, "</s>"]
            product = float(np.log([word["probability"] for word in told["words"]]).sum())
            assert product == pytest.approx(told["log_prob"], rel=1e-4)
            for word, place in zip(told["words"], own.places, strict=False):
                assert place == (1 + int(np.argmax(word["given"])) if any(word["given"]) else 0)


def test_shares_sum_to_one_and_weights_are_lambda(client: TestClient, model: Mixture) -> None:
    body = {"source": SOURCE, "unknown": "keep"}
    told = client.post("/translate", json=body).json()["sentences"][0]["translations"][0]
    assert (
        told == client.post("/translate", json={**body, "source": [SOURCE]}).json()["sentences"][0]["translations"][0]
    )
    explained = model.given(SOURCE).explain(told["text"])
    for word, expected in zip(told["words"], explained, strict=True):
        assert sum(word["blocks"].values()) == pytest.approx(1)
        assert list(word["blocks"]) == ["uniform", "lexicon", "copy", "delta"]
        assert sum(word["given"]) == pytest.approx(word["blocks"]["lexicon"] + word["blocks"]["copy"])
        both = [expected.weights[f"lexicon[{at}] {f}"] + expected.weights[f"copy[{at}] {f}"] for at, f in
                enumerate(SOURCE.split(), start=1)]  # fmt: skip
        assert word["weights"] == pytest.approx(both, rel=1e-4)


def test_a_net_without_columns_over_the_source_has_no_weights_to_tell(client: TestClient) -> None:
    words = client.post("/translate", json={"model": "net", "source": SOURCE}).json()["sentences"][0]["translations"][0]
    assert all((word["weights"], word["given"]) == ([], []) for word in words["words"])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({}, (422, "invalid_request")),
        ({"source": []}, (422, "invalid_request")),
        ({"source": "f1", "beam": 51}, (422, "invalid_request")),
        ({"source": "f1", "unknown": "x"}, (422, "invalid_request")),
        ({"source": "f1", "length_penalty": -1}, (422, "invalid_request")),
        ({"source": "f1", "beam": 2, "n_best": 3}, (400, "bad_request")),
        ({"source": "f1", "model": "plain"}, (400, "reads_no_source")),
        ({"source": "f1 " * 100, "n_best": 5}, (413, "too_many_words")),
        ({"source": ["f1"] * 84}, (413, "too_many_words")),
        ({"source": ["f1"] * 5000}, (413, "too_many_sentences")),
    ],
)
def test_what_cannot_be_translated_is_refused(client: TestClient, body: Any, told: tuple[int, str]) -> None:
    assert refusal(client.post("/translate", json=body)) == told


def test_as_many_words_as_are_generated_at_once_are_translated(client: TestClient) -> None:
    sources = ["f1"] * (Limits().max_new_words // 12)  # twice a source's words, and ten
    assert len(client.post("/translate", json={"source": sources, "beam": 1}).json()["sentences"]) == 83
    assert "modlm_generated_words" in client.get("/metrics").text
