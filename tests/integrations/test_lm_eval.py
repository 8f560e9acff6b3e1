"""The real lm-eval harness on a task that stands here, with our models behind it; nothing is downloaded."""

from __future__ import annotations

import json
import math
import os
import warnings
from pathlib import Path
from typing import Any

import pytest

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # those of the harness's own imports
    pytest.importorskip("lm_eval", reason="needs modlm[lm-eval]")
    import lm_eval.evaluator
    import lm_eval.tasks

    from modlm.integrations.lm_eval import ModlmLM

import modlm
from modlm import NgramLM
from modlm.integrations.prompts import continuation, generated

pytestmark = pytest.mark.filterwarnings("ignore")

SENTENCES = ("the cat sat on the mat", "the dog sat on the log", "a cat ate", "the cat saw the dog")
DOCUMENTS = (
    {"start": "the dog sat on the", "endings": ["log", "ate"], "right": 0, "text": "the cat sat on the log"},
    {"start": "a cat", "endings": ["dog", "ate"], "right": 1, "text": "a cat ate\na dog"},
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "cats"
    NgramLM.fit(list(SENTENCES), order=3).save(folder)
    return folder


@pytest.fixture
def results(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Each kind of request, as tasks over the documents."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "hf" / "datasets"))
    (tmp_path / "documents.jsonl").write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS))
    shared = {
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(tmp_path / "documents.jsonl")}},
        "test_split": "test",
    }
    tasks = [
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
    return lm_eval.evaluator.simple_evaluate(
        model=ModlmLM(path=str(model)), tasks=tasks, bootstrap_iters=0,
        task_manager=lm_eval.tasks.TaskManager(include_defaults=False),
    )  # fmt: skip


def test_the_harness_gets_probabilities_texts_and_choices(results: Any, model: Path) -> None:
    lm = modlm.load(model)
    assert results["results"]["endings"]["acc,none"] == 1.0
    for sample in results["samples"]["endings"]:
        document = DOCUMENTS[sample["doc_id"]]
        expected = [continuation(lm, document["start"], f" {ending}") for ending in document["endings"]]
        assert [answer[0] for answer in sample["filtered_resps"]] == pytest.approx([one.log_prob for one in expected])
        assert [answer[1] for answer in sample["filtered_resps"]] == [one.greedy for one in expected]

    total = sum(lm.score("the cat sat on the log") for _ in range(1))
    end = math.log(float(lm.next_distribution("the cat sat on the log")[1]))
    second = lm.score("a cat ate") + lm.score("a dog") - math.log(float(lm.next_distribution("a dog")[1]))
    size = sum(len(document["text"].encode()) for document in DOCUMENTS)
    expected_bits = -(total - end + second) / size / math.log(2)
    assert results["results"]["texts"]["bits_per_byte,none"] == pytest.approx(expected_bits)

    for sample in results["samples"]["writing"]:
        start = DOCUMENTS[sample["doc_id"]]["start"]
        assert sample["resps"][0][0] == generated(lm, start, until=("\n",), most=4)


def test_the_harness_knows_our_models_by_name() -> None:
    from lm_eval.api.registry import get_model

    assert get_model("modlm") is ModlmLM


def test_sampling_settings_of_a_task_are_followed(model: Path) -> None:
    lm = ModlmLM(path=model, seed=5)
    assert lm._generated("the", {"until": "\n", "do_sample": False, "temperature": 0.7, "max_gen_toks": 3}) == (
        lm._generated("the", {"until": ["\n"], "temperature": 0.0, "max_gen_toks": 3})
    )
    drawn = {lm._generated("the", {"until": [], "temperature": 1.5, "max_gen_toks": 3}) for _ in range(20)}
    assert len(drawn) > 1
