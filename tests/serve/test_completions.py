"""`/v1/completions`: tokens, their log-probabilities and texts are the model's own, in OpenAI's shape."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx2", reason="httpx2, which asks the server, is not installed")

from fastapi.testclient import TestClient

from modlm import NgramLM
from modlm.integrations.prompts import generated
from modlm.model.language_model import LanguageModel
from modlm.model.sampling import Sampling
from modlm.serve.app import make_app
from modlm.serve.gate import Access
from modlm.serve.library import Library
from modlm.serve.limits import Limits
from modlm.serve.openai_shapes import CompletionsAnswer, OpenAiErrorAnswer, OpenAiModels
from serve.conftest import BASE

Ask = Callable[..., Any]
CHARACTERS = "the bank rose 5.2 percent, and ☃ said"


def complete(ask: Ask, **body: Any) -> Any:
    answer = ask("/v1/completions", **body)
    CompletionsAnswer.model_validate(answer)
    return answer


def walked(model: LanguageModel, text: str) -> list[float]:
    """log P of each word of a text whose last line is open, line by line from whole distributions."""
    found = []
    for place, line in enumerate(lines := text.split("\n")):
        words = model.vocabulary.encode(line).tolist() + [1] * (place < len(lines) - 1)
        names = model.vocabulary.split(line)
        for at, word in enumerate(words):
            prob = model.next_distribution(names[:at])[word]
            found.append(math.log(prob) if prob > 0 else -9999.0)
    return found


def test_a_prompt_alone_is_scored_word_by_word(ask: Ask, models: dict[str, LanguageModel], name: str) -> None:
    if models[name].reads.document or models[name].reads.learns:
        pytest.skip("its lines are not alone")
    text = "a b\nc  zzz\n\nb"
    (choice,) = complete(ask, model=name, prompt=text, echo=True, max_tokens=0, logprobs=3)["choices"]
    told = choice["logprobs"]
    assert choice["text"] == text and choice["finish_reason"] == "length"
    assert told["tokens"] == ["a", " b", "\n", "c", "  zzz", "\n", "\n", "b"]
    assert told["text_offset"] == [0, 1, 3, 4, 5, 10, 11, 12]
    expected = walked(models[name], text)
    assert told["token_logprobs"] == pytest.approx(expected, rel=1e-4)
    first = models[name].next_distribution("")
    best = sorted(range(len(first)), key=lambda word: (-first[word], word))[:3]
    names = {"\n" if word == 1 else models[name].vocabulary.word(word) for word in best} | {"a"}
    assert set(told["top_logprobs"][0]) == names
    for token, log_prob, top in zip(told["tokens"], told["token_logprobs"], told["top_logprobs"], strict=True):
        assert top[token] == log_prob  # to the last bit: harnesses compare them


def test_without_alternatives_the_same_numbers_come(ask: Ask) -> None:
    several = complete(ask, prompt="a b\nc", echo=True, max_tokens=0, logprobs=2)["choices"][0]["logprobs"]
    alone = complete(ask, prompt="a b\nc", echo=True, max_tokens=0, logprobs=0)["choices"][0]["logprobs"]
    assert alone["token_logprobs"] == pytest.approx(several["token_logprobs"])
    assert alone["top_logprobs"] is None


def test_texts_and_ids_are_the_same_prompt(ask: Ask, models: dict[str, LanguageModel]) -> None:
    ids = ask("/tokenize", prompt="a b\nc")
    vocabulary = models["ngram"].vocabulary
    assert ids["tokens"] == [vocabulary.id("a"), vocabulary.id("b"), 1, vocabulary.id("c")] and ids["count"] == 4
    asked = {"echo": True, "max_tokens": 3, "temperature": 0, "logprobs": 2}
    by_text, by_ids = (complete(ask, prompt=prompt, **asked) for prompt in ("a b\nc", ids["tokens"]))
    assert by_text["choices"] == by_ids["choices"]
    assert by_text["usage"] == {"prompt_tokens": 4, "completion_tokens": 3, "total_tokens": 7}
    (begin,) = ask("/tokenize", prompt="<s>")["tokens"]
    begun = complete(ask, prompt=[begin, *ids["tokens"]], **asked)["choices"][0]["logprobs"]
    assert begun["token_logprobs"] == [None, *by_ids["choices"][0]["logprobs"]["token_logprobs"]]
    assert ask("/tokenize", prompt="a", add_special_tokens=True)["tokens"] == [begin, vocabulary.id("a")]
    assert ask("/tokenize", prompt="</s>")["tokens"] == [1]


def test_several_prompts_and_several_completions_of_each(ask: Ask, models: dict[str, LanguageModel]) -> None:
    answer = complete(ask, prompt=["a", "b c"], n=2, seed=3, max_tokens=5)
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2, 3]
    for index, prompt in ((0, "a"), (2, "b c")):
        drawn = generated(models["ngram"], prompt, most=5, sampling=Sampling(), rng=np.random.default_rng(3))
        assert answer["choices"][index]["text"] == drawn
    assert len({choice["text"] for choice in answer["choices"]}) > 2
    assert complete(ask, prompt=["a", "b c"], n=2, seed=3, max_tokens=5)["choices"] == answer["choices"]
    assert answer["usage"] == {"prompt_tokens": 3, "completion_tokens": 20, "total_tokens": 23}


def test_it_ends_before_a_stop_and_tells_no_token_of_it(ask: Ask, models: dict[str, LanguageModel]) -> None:
    whole = complete(ask, prompt="a", seed=5, max_tokens=40, logprobs=1)["choices"][0]
    assert "\n" in whole["text"]
    (line,) = complete(ask, prompt="a", seed=5, max_tokens=40, logprobs=1, stop="\n")["choices"]
    assert line["text"] == whole["text"].split("\n")[0] and line["finish_reason"] == "stop"
    assert "".join(line["logprobs"]["tokens"]) == line["text"]
    (both,) = complete(ask, prompt="a", seed=5, max_tokens=40, stop=["none of it", whole["text"][3:6]])["choices"]
    assert both["text"] == whole["text"][: whole["text"].index(whole["text"][3:6])]
    (kept,) = complete(ask, prompt="a b", echo=True, seed=5, max_tokens=4, stop="b")["choices"]
    assert kept["text"].startswith("a b"), "a stop in the prompt does not end anything"


def test_a_prompt_that_ends_with_a_space_gets_no_second_one(ask: Ask) -> None:
    with_space, without = (
        complete(ask, prompt=prompt, echo=True, temperature=0, max_tokens=2)["choices"][0]["text"]
        for prompt in ("a ", "a")
    )
    assert with_space == without


def streamed(client: TestClient, **body: Any) -> list[Any]:
    answer = client.post("/v1/completions", json={**body, "stream": True})
    assert answer.headers["content-type"].startswith("text/event-stream")
    *events, done, rest = answer.text.split("\n\n")
    assert done == "data: [DONE]" and rest == ""
    return [json.loads(event.removeprefix("data: ")) for event in events]


def test_a_stream_tells_the_same_in_pieces(client: TestClient, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modlm.serve.completions.Choice.portion.__defaults__", (0.0,))  # a word at a time
    body = {
        "prompt": ["a", "b\nc"],
        "seed": 5,
        "max_tokens": 30,
        "logprobs": 2,
        "echo": True,
        "stop": [" d e f g", "zz"],
    }
    whole = complete(ask, **body)
    *events, last = streamed(client, **body, stream_options={"include_usage": True})
    assert last["usage"] == whole["usage"] and last["choices"] == []
    assert len(events) > 10
    for choice in whole["choices"]:
        own = [event["choices"][0] for event in events if event["choices"][0]["index"] == choice["index"]]
        assert "".join(one["text"] for one in own) == choice["text"]
        assert [one["finish_reason"] for one in own[:-1]] == [None] * (len(own) - 1)
        assert own[-1]["finish_reason"] == choice["finish_reason"]
        for part in ("tokens", "token_logprobs", "top_logprobs", "text_offset"):
            assert [value for one in own for value in one["logprobs"][part]] == choice["logprobs"][part]


def test_a_stream_holds_back_what_may_be_a_stop(client: TestClient, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modlm.serve.completions.Choice.portion.__defaults__", (0.0,))
    text = complete(ask, prompt="a", seed=5, max_tokens=8)["choices"][0]["text"]
    stop = text[4:9]
    events = streamed(client, prompt="a", seed=5, max_tokens=8, stop=stop)
    assert "".join(event["choices"][0]["text"] for event in events) == text[: text.index(stop)]


def test_models_are_listed_and_told_apart(ask: Ask, client: TestClient, models: dict[str, LanguageModel]) -> None:
    listed = ask("/v1/models")
    OpenAiModels.model_validate(listed)
    assert [model["id"] for model in listed["data"]] == list(models)
    assert ask("/v1/models/hybrid") == listed["data"][list(models).index("hybrid")]
    missing = client.get("/v1/models/none")
    assert missing.status_code == 404 and missing.json()["error"]["code"] == "model_not_found"


@pytest.mark.parametrize(
    ("body", "status", "code", "told"),
    [
        ({"prompt": "a", "model": "none"}, 404, "model_not_found", "none"),
        ({"prompt": "a", "max_tokens": -1}, 400, "invalid_request", "max_tokens"),
        ({"prompt": "a", "colour": 1}, 400, "invalid_request", "colour"),
        ({"prompt": "a", "best_of": 3}, 400, "invalid_request", "best_of"),
        ({"prompt": "a", "presence_penalty": 0.5}, 400, "invalid_request", "presence_penalty"),
        ({"prompt": [10**6]}, 400, "unknown_token", "1000000"),
        ({"prompt": []}, 400, "invalid_request", "prompt"),
        ({"prompt": "a", "max_tokens": 10**6}, 413, "too_many_words", "1,000,000"),
        ({"prompt": "a " * 30_000}, 413, "too_many_words", "30,001"),
        ({"prompt": ["a"] * 4096, "n": 2, "max_tokens": 0}, 413, "too_many_sentences", "4,096"),
    ],
)
def test_refusals_have_openais_form(client: TestClient, body: Any, status: int, code: str, told: str) -> None:
    answer = client.post("/v1/completions", json=body)
    assert answer.status_code == status
    error = OpenAiErrorAnswer.model_validate(answer.json()).error
    assert error.code == code and told in error.message and error.type == "invalid_request_error"


def test_the_start_of_a_sentence_may_only_come_first(client: TestClient, models: dict[str, LanguageModel]) -> None:
    start = models["ngram"].vocabulary.start
    answer = client.post("/v1/completions", json={"prompt": [2, start]})
    assert answer.status_code == 400 and "<s>" in answer.json()["error"]["message"]


def test_the_gate_refuses_in_openais_form_too(library: Library) -> None:
    app = make_app(library, access=Access(token="secret"), limits=Limits(max_body=50))
    with TestClient(app, base_url=BASE) as client:
        refused = client.post("/v1/completions", json={})
        assert refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer"
        OpenAiErrorAnswer.model_validate(refused.json())
        assert refused.json()["error"]["code"] == "invalid_api_key"
        headers = {"Authorization": "Bearer secret"}
        assert client.post("/v1/completions", json={"max_tokens": 1}, headers=headers).status_code == 200
        large = client.post("/v1/completions", json={"prompt": "a" * 99}, headers=headers)
        OpenAiErrorAnswer.model_validate(large.json())
        assert large.status_code == 413
        assert set(client.get("/models").json()["error"]) == {"code", "message"}, "elsewhere as ever"


def test_nulls_are_as_if_nothing_was_said(ask: Ask) -> None:
    said = {"prompt": "a", "temperature": 0, "max_tokens": 2}
    nulls = {
        "n": None,
        "stop": None,
        "logprobs": None,
        "suffix": None,
        "logit_bias": None,
        "best_of": None,
        "user": None,
    }
    assert complete(ask, **said, **nulls)["choices"] == complete(ask, **said)["choices"]


def test_words_of_probability_zero_have_a_number(ask: Ask) -> None:
    (choice,) = complete(ask, model="unseen", prompt="x x", echo=True, max_tokens=0, logprobs=1)["choices"]
    assert choice["logprobs"]["token_logprobs"][1] == -9999.0


# ---- tokens of a tokenizer -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tokens() -> NgramLM:
    pytest.importorskip("tokenizers", reason="needs modlm[hf]")
    from modlm.text.tokens import TokenVocabulary
    from small_tokenizers import SENTENCES, byte_level

    return NgramLM.fit(list(SENTENCES), order=3, vocabulary=TokenVocabulary.from_tokenizer(byte_level()))


def test_tokens_and_ids_are_the_tokenizers(tokens: NgramLM) -> None:
    from tokenizers import Tokenizer

    from small_tokenizers import byte_level

    with TestClient(make_app(Library({"tokens": tokens})), base_url=BASE) as client:
        theirs = Tokenizer.from_str(byte_level().decode())
        ids = theirs.encode(CHARACTERS, add_special_tokens=False).ids
        assert client.post("/tokenize", json={"prompt": CHARACTERS}).json()["tokens"] == ids
        asked = {"echo": True, "max_tokens": 0, "logprobs": 1}
        found = [
            client.post("/v1/completions", json={"prompt": prompt, **asked}).json()["choices"][0]
            for prompt in (CHARACTERS, ids, [theirs.token_to_id("<|endoftext|>"), *ids])
        ]
        for choice in found:
            told = choice["logprobs"]
            assert choice["text"] == CHARACTERS
            assert len(told["tokens"]) == len(ids) + (told["tokens"][0] == "<s>")
            assert "".join(token for token in told["tokens"] if token != "<s>") == CHARACTERS
            assert told["token_logprobs"][-len(ids) :] == pytest.approx(walked(tokens, CHARACTERS))
        assert found[2]["logprobs"]["token_logprobs"][0] is None, "a special token begins the text"
        drawn = client.post("/v1/completions", json={"prompt": "the company", "temperature": 0, "stop": "\n"}).json()
        assert drawn["choices"][0]["text"] == generated(tokens, "the company", until=("\n",), most=16)
