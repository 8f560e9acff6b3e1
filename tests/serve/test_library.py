"""Names of models and runs, and what is told about them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx2", reason="httpx2, which asks the server, is not installed")

from fastapi.testclient import TestClient

from modlm.errors import ConfigError, InputError, ModelFolderError
from modlm.model.language_model import LanguageModel
from modlm.model.ngram.arpa import to_arpa
from modlm.serve.answers import HealthAnswer, ModelsAnswer, RunAnswer, RunsAnswer
from modlm.serve.library import Library, Run, name_of, named_paths, open_library
from small_texts import model_of

Ask = Callable[..., Any]


# ---- names -----------------------------------------------------------------------------------------------------------


def test_a_model_is_called_by_its_folder(tmp_path: Path) -> None:
    assert name_of(tmp_path / "kn") == "kn"
    assert name_of(tmp_path / "my model") == "my-model"
    (tmp_path / "run").mkdir()
    assert name_of(tmp_path / "run" / "model") == "model"
    (tmp_path / "run" / "journal.jsonl").touch()
    assert name_of(tmp_path / "run" / "model") == "run"  # where all models are called model
    arpa = tmp_path / "big.3gram.arpa.gz"
    arpa.touch()
    assert name_of(arpa) == "big.3gram"


def test_equal_names_are_numbered(tmp_path: Path) -> None:
    paths = [str(tmp_path / part / "kn") for part in "abc"]
    assert list(named_paths(paths)) == ["kn", "kn-2", "kn-3"]
    assert list(named_paths(["kn-2", *paths[:2]])) == ["kn-2", "kn", "kn-3"]


def test_a_name_can_be_given(tmp_path: Path) -> None:
    assert named_paths([f"best={tmp_path}/kn"]) == {"best": tmp_path / "kn"}


def test_a_given_name_cannot_be_given_twice() -> None:
    with pytest.raises(ConfigError, match="name x is given twice"):
        named_paths(["x=a", "x=b"])


def test_a_path_that_is_there_is_not_cut_at_its_equals_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "order=5").mkdir()
    monkeypatch.chdir(tmp_path)
    assert named_paths(["order=5"]) == {"order-5": Path("order=5")}


def test_models_of_all_forms_are_opened(tmp_path: Path) -> None:
    model = model_of(["a b", "a c"], order=2)
    model.save(tmp_path / "folder")
    model.save(tmp_path / "run" / "model")
    to_arpa(model.compiled, model.vocabulary, tmp_path / "file.arpa")
    library = open_library([str(tmp_path / name) for name in ("folder", "run", "file.arpa")], [str(tmp_path / "run")])
    assert list(library.models) == ["folder", "run", "file"] and list(library.runs) == ["run"]
    scores = [served.model.score("a b") for served in library.models.values()]
    assert scores == pytest.approx([model.score("a b")] * 3, rel=1e-6)


def test_a_folder_of_models_and_runs_stands_for_all_in_it(tmp_path: Path) -> None:
    model = model_of(["a b", "a c"], order=2)
    model.save(tmp_path / "all" / "b-model")
    model.save(tmp_path / "all" / "a-run" / "model")
    (tmp_path / "all" / "a-run" / "journal.jsonl").touch()
    (tmp_path / "all" / "text").mkdir()
    model.save(tmp_path / "single")
    library = open_library([str(tmp_path / "all"), str(tmp_path / "single")], [str(tmp_path / "all" / "a-run")])
    assert list(library.models) == ["a-run", "b-model", "single"]
    assert list(library.runs) == ["a-run"]  # once, though it is named as well
    (tmp_path / "nothing").mkdir()
    with pytest.raises(ModelFolderError, match="nothing"):
        open_library([str(tmp_path / "nothing")], [])


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match="There is no model at"):
        open_library([str(tmp_path / "nothing")], [])
    with pytest.raises(InputError, match="there is no such run folder"):
        open_library([], [str(tmp_path / "nothing")])
    with pytest.raises(ConfigError, match="no model to serve"):
        Library({})


# ---- /models and /health ---------------------------------------------------------------------------------------------


def test_models_are_listed_in_order_with_their_columns(ask: Ask, models: dict[str, LanguageModel]) -> None:
    answer = ask("/models")
    ModelsAnswer.model_validate(answer)
    assert [entry["name"] for entry in answer["models"]] == list(models)
    for entry in answer["models"]:
        model = models[entry["name"]]
        assert entry["columns"] == list(model.column_names)
        assert entry["vocab_size"] == len(model.vocabulary)
        assert entry["context_length"] == (
            None if entry["name"] in ("hybrid", "document", "online", "ja-en") else model.context_length
        )
    kinds = {entry["name"]: entry["kind"] for entry in answer["models"]}
    assert (kinds["ngram"], kinds["mixture"], kinds["hybrid"]) == ("n-gram", "mixture", "hybrid")
    assert kinds["feedforward"] == "interpolated" and kinds["document"] == "neural"


def test_the_first_model_is_asked_when_none_is_named(ask: Ask) -> None:
    assert ask("/score", text="a")["model"] == "ngram"


def test_the_server_says_that_it_is_up(ask: Ask) -> None:
    HealthAnswer.model_validate(ask("/health"))


# ---- /runs -----------------------------------------------------------------------------------------------------------


def test_the_journal_comes_line_by_line_and_a_half_line_waits(ask: Ask) -> None:
    RunsAnswer.model_validate(ask("/runs"))
    assert ask("/runs")["runs"] == [{"name": "tiny", "finished": False}]
    answer = ask("/runs/tiny")
    RunAnswer.model_validate(answer)
    assert [line["words"] for line in answer["lines"]] == [100, 200] and answer["next"] == 2
    assert [line["words"] for line in ask("/runs/tiny?after=1")["lines"]] == [200]
    assert ask("/runs/tiny?after=2")["lines"] == []


def test_a_run_grows_ends_and_may_begin_again(tmp_path: Path) -> None:
    run, journal = Run("x", tmp_path), tmp_path / "journal.jsonl"
    assert run.answer(0) == {"name": "x", "after": 0, "next": 0, "finished": False, "lines": []}
    journal.write_text('{"words": 1}\n{"words": 2}\nspoilt\n')
    assert run.answer(1)["lines"] == [{"words": 2}, {}]
    journal.write_text('{"words": 1}\n')  # cut back to a checkpoint
    assert (run.answer(3)["after"], run.answer(3)["lines"]) == (0, [{"words": 1}])
    (tmp_path / "result.json").write_text("{}")
    assert run.answer(0)["finished"]


def test_names_of_runs_do_not_lead_out_of_the_list(client: TestClient) -> None:
    for name in ("%2e%2e%2ftiny", "..%2ftiny", "tiny%00", "%ff", "tiny%2f..%2ftiny"):
        assert client.get(f"/runs/{name}").status_code == 404
