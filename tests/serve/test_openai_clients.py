"""The `openai` client and lm-eval's `local-completions`, unchanged, against a server of ours on localhost."""

from __future__ import annotations

import json
import math
import os
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("uvicorn", reason="the extra serve is not installed")

import uvicorn

from modlm import NgramLM
from modlm.integrations.prompts import continuation, generated
from modlm.serve.app import make_app
from modlm.serve.gate import Access
from modlm.serve.library import Library
from modlm.serve.running import address_of, listen

SENTENCES = ("the cat sat on the mat", "the dog sat on the log", "a cat ate", "the cat saw the dog")
TOKEN = "secret"
pytestmark = pytest.mark.filterwarnings("ignore")  # of the clients' own imports


@pytest.fixture(scope="module")
def cats() -> NgramLM:
    return NgramLM.fit(list(SENTENCES), order=3)


@pytest.fixture(scope="module")
def address(cats: NgramLM) -> Iterator[str]:
    listener = listen("127.0.0.1", 0)
    app = make_app(Library({"cats": cats}), access=Access(token=TOKEN))
    config = uvicorn.Config(app, log_level="error", lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield address_of(listener, "127.0.0.1")
    server.should_exit = True
    thread.join(10)


# ---- openai ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def client(address: str) -> Iterator[Any]:
    openai = pytest.importorskip("openai", reason="openai, whose client is tried, is not installed")
    with openai.OpenAI(base_url=f"{address}/v1", api_key=TOKEN, max_retries=0, timeout=30) as found:
        yield found


def test_the_client_lists_completes_and_scores(client: Any, cats: NgramLM) -> None:
    assert [model.id for model in client.models.list()] == ["cats"]
    assert client.models.retrieve("cats").owned_by == "modlm"
    answer = client.completions.create(model="cats", prompt="the cat", max_tokens=5, temperature=0, stop=["\n"])
    assert answer.choices[0].text == generated(cats, "the cat", until=("\n",), most=5)
    assert answer.usage.prompt_tokens == 2
    scored = client.completions.create(model="cats", prompt="the cat sat", echo=True, max_tokens=0, logprobs=1)
    told = scored.choices[0].logprobs
    assert told.tokens == ["the", " cat", " sat"] and told.text_offset == [0, 3, 7]
    end = math.log(float(cats.next_distribution("the cat sat")[1]))
    assert sum(told.token_logprobs) == pytest.approx(cats.score("the cat sat") - end)
    several = client.completions.create(model="cats", prompt=["the", "a"], n=3, max_tokens=4, seed=1, top_p=0.9)
    assert [choice.index for choice in several.choices] == list(range(6))


def test_the_client_reads_a_stream(client: Any, cats: NgramLM) -> None:
    stream = client.completions.create(
        model="cats", prompt="the dog", max_tokens=6, temperature=0, stream=True, stream_options={"include_usage": True}
    )
    *events, last = stream
    assert "".join(event.choices[0].text for event in events) == generated(cats, "the dog", most=6)
    assert events[-1].choices[0].finish_reason == "length"
    assert last.usage.completion_tokens == 6


def test_the_client_raises_its_own_errors(client: Any, address: str) -> None:
    import openai

    with pytest.raises(openai.NotFoundError, match="dogs") as missing:
        client.completions.create(model="dogs", prompt="a")
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError, match="max_tokens") as wrong:
        client.completions.create(model="cats", prompt="a", max_tokens=-1)
    assert wrong.value.param == "max_tokens"
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(base_url=f"{address}/v1", api_key="wrong", max_retries=0).models.list()


# ---- lm-eval ---------------------------------------------------------------------------------------------------------

DOCUMENTS = (
    {"start": "the dog sat on the", "endings": ["log", "ate"], "right": 0, "text": "the cat sat on the log"},
    {"start": "a cat", "endings": ["dog", "ate"], "right": 1, "text": "a cat ate\na dog"},
)


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "hf" / "datasets"))
    (tmp_path / "documents.jsonl").write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS))
    shared = {
        "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(tmp_path / "documents.jsonl")}},
        "test_split": "test",
    }  # fmt: skip
    return [
        shared | {
            "task": "endings", "output_type": "multiple_choice", "doc_to_text": "{{start}}", "doc_to_target": "right",
            "doc_to_choice": "endings", "metric_list": [{"metric": "acc"}],
        },
        shared | {
            "task": "texts", "output_type": "loglikelihood_rolling", "doc_to_text": "", "doc_to_target": "{{text}}",
            "metric_list": [{"metric": "word_perplexity"}, {"metric": "bits_per_byte"}],
        },
        shared | {
            "task": "writing", "output_type": "generate_until", "doc_to_text": "{{start}}",
            "doc_to_target": "{{endings[right]}}", "generation_kwargs": {"until": ["\n"], "max_gen_toks": 4},
            "metric_list": [{"metric": "exact_match"}],
        },
    ]  # fmt: skip


@pytest.mark.parametrize("batch", [1, 4])
def test_lm_eval_gets_what_it_gets_from_the_model_itself(
    address: str, cats: NgramLM, tasks: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("lm_eval", reason="needs modlm[lm-eval]")
        pytest.importorskip("tenacity", reason="needs lm-eval[api]")
        import lm_eval.evaluator
        import lm_eval.tasks
    monkeypatch.setenv("OPENAI_API_KEY", TOKEN)
    results = lm_eval.evaluator.simple_evaluate(
        model="local-completions",
        model_args={"model": "cats", "base_url": f"{address}/v1/completions", "auth_token": TOKEN, "batch_size": batch},
        tasks=tasks, bootstrap_iters=0, task_manager=lm_eval.tasks.TaskManager(include_defaults=False),
    )  # fmt: skip
    assert results["results"]["endings"]["acc,none"] == 1.0
    for sample in results["samples"]["endings"]:
        document: Any = DOCUMENTS[sample["doc_id"]]
        expected = [continuation(cats, document["start"], f" {ending}") for ending in document["endings"]]
        assert [answer[0] for answer in sample["filtered_resps"]] == pytest.approx([one.log_prob for one in expected])
        assert [answer[1] for answer in sample["filtered_resps"]] == [one.greedy for one in expected]
    for sample in results["samples"]["texts"]:
        expected_log = continuation(cats, "", str(DOCUMENTS[sample["doc_id"]]["text"])).log_prob
        assert sample["filtered_resps"][0] == pytest.approx(expected_log)
    for sample in results["samples"]["writing"]:
        start = str(DOCUMENTS[sample["doc_id"]]["start"])
        assert sample["resps"][0][0] == generated(cats, start, until=("\n",), most=4)
