"""Scores in the pipelines of others, with the real libraries where they are installed."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import modlm
from modlm.errors import InputError
from modlm.integrations.pipelines import COLUMNS, AddScores, datatrove_step
from modlm.text.web import Preparation

TEXTS = ["the cat sat\non the mat", "xq zvw kkj", "a dog saw the cat", ""]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("model") / "m"
    modlm.NgramLM.fit(["the cat sat on the mat", "a dog saw the cat"], order=2, spelling=True).save(place)
    return place


def expected(model: Path) -> list[dict]:
    return list(modlm.load(model).score_documents(TEXTS))


def check(found: dict, model: Path) -> None:
    for place, record in enumerate(expected(model)):
        for name in COLUMNS:
            value = found[name][place]
            assert np.isnan(value) if record[name] is None else value == pytest.approx(record[name])


def test_a_mapping_of_columns_and_a_pickled_copy(model: Path) -> None:
    adding = AddScores(model)
    check(adding({"text": TEXTS, "n": [1, 2, 3, 4]}), model)
    check(pickle.loads(pickle.dumps(adding))({"text": np.array(TEXTS, dtype=object)}), model)
    upper = AddScores(model, field="body", prepare=Preparation("ccnet"))({"body": [text.upper() for text in TEXTS]})
    check(upper, model)


def test_a_data_frame(model: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": TEXTS}, index=[5, 6, 7, 8])
    found = AddScores(model)(frame)
    assert list(found.index) == [5, 6, 7, 8] and list(frame.columns) == ["text"]
    check({name: found[name].tolist() for name in COLUMNS}, model)


def test_datasets(model: Path) -> None:
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    found = datasets.Dataset.from_dict({"text": TEXTS}).map(AddScores(str(model)), batched=True, batch_size=3)
    check({name: [np.nan if value is None else value for value in found[name]] for name in COLUMNS}, model)
    with pytest.raises(InputError, match="batched=True"):
        datasets.Dataset.from_dict({"text": TEXTS}).map(AddScores(str(model)))


@pytest.mark.filterwarnings("ignore")
def test_datatrove(model: Path, tmp_path: Path) -> None:
    pytest.importorskip("datatrove")
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    (tmp_path / "in").mkdir()
    lines = [json.dumps({"text": text, "id": str(n)}) for n, text in enumerate(TEXTS[:3])]
    (tmp_path / "in" / "d.jsonl").write_text("\n".join(lines) + "\n")
    limit = expected(model)[1]["perplexity"] - 1
    steps = [
        JsonlReader(str(tmp_path / "in")),
        datatrove_step(model, max_perplexity=limit, batch=2),
        JsonlWriter(str(tmp_path / "out"), compression=None),
    ]
    LocalPipelineExecutor(pipeline=steps, logging_dir=str(tmp_path / "logs")).run()
    found = [json.loads(line) for path in (tmp_path / "out").glob("*") for line in path.read_text().splitlines()]
    assert [one["id"] for one in found] == ["0", "2"]
    assert found[1]["metadata"]["perplexity"] == pytest.approx(expected(model)[2]["perplexity"])


def test_a_missing_column_is_named(model: Path) -> None:
    with pytest.raises(InputError, match="'text' but body"):
        AddScores(model)({"body": TEXTS})
