"""A whole run: what it writes, that it repeats, resumes and stops as promised."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import modlm
from modlm.errors import ConfigError, MissingPackageError, ModelFolderError, ModlmError, OutputError
from modlm.ground.files import only_writer
from modlm.training.config import ColumnsConfig, RunConfig
from modlm.training.config_file import read_config
from modlm.training.divergence import DivergedError
from modlm.training.run import train
from modlm.training.run_folder import check_settings, run_record
from modlm.training.signals import Interrupted
from modlm.training.trainer import Trainer
from tiny_runs import contents, tiny_config

CONTEXTS = ("sentence", "document")


class CrashError(Exception):
    """Stands for a machine that goes down."""


def crash_before(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Trainer.step

    def stepping(self: Trainer) -> tuple[bool, bool, bool]:
        if self.run_state.step == step:
            raise CrashError
        return real(self)

    monkeypatch.setattr(Trainer, "step", stepping)


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("kind", ["neural", "interpolated", "hybrid"])
def test_a_run_writes_a_model_that_scores_as_the_run_says(texts: Path, kind: str, context: str) -> None:
    config = tiny_config(texts, kind=kind, net__context=context, net__words=2)
    result = train(config, texts / "run", device="cpu")
    lm = modlm.load(texts / "run" / "model")
    assert lm.perplexity(texts / "valid.txt").perplexity == pytest.approx(result.valid_perplexity, rel=1e-5)
    assert result.test_perplexity is not None
    assert lm.perplexity(texts / "test.txt").perplexity == pytest.approx(result.test_perplexity, rel=1e-5)
    assert read_config(texts / "run" / "config.toml") == config
    saved = json.loads((texts / "run" / "result.json").read_text())
    assert saved["test_perplexity"] == result.test_perplexity
    assert saved["stopped"] == "epochs"


@pytest.mark.parametrize("kind", ["interpolated", "hybrid"])
def test_skip_ngrams_are_trained_saved_and_asked_as_other_columns_are(texts: Path, kind: str) -> None:
    columns = {"kn": ColumnsConfig(order=3), "skip": ColumnsConfig(positions=(4, 2), smoothing="witten-bell")}
    result = train(tiny_config(texts, kind=kind, columns=columns), texts / "run", device="cpu")
    lm = modlm.load(texts / "run")
    found = lm.perplexity(texts / "valid.txt").perplexity
    assert found == pytest.approx(result.valid_perplexity, rel=1e-5)
    for sentence in (texts / "valid.txt").read_text().splitlines()[:4]:
        parts = lm.explain(sentence)
        assert {"skip/1-gram", "skip/2-gram", "skip/3-gram"} < set(parts[0].columns)
        assert sum(math.log(part.probability) for part in parts) == pytest.approx(lm.score(sentence), rel=1e-5)
    following = lm.next_words("w3 w6 w9", len(lm.vocabulary))
    assert sum(word.probability for word in following) == pytest.approx(1.0)
    expected = lm.explain("w3 w6 w9 w12")[3]
    assert {word.word: word.probability for word in following}["w12"] == pytest.approx(expected.probability, rel=1e-5)


def test_the_journal_has_a_line_for_each_evaluation_and_no_times(texts: Path) -> None:
    train(tiny_config(texts, kind="hybrid"), texts / "run", device="cpu")
    lines = [json.loads(line) for line in (texts / "run" / "journal.jsonl").read_text().splitlines()]
    assert len(lines) == 6  # twice in each of three epochs
    assert [round(line["epoch"]) for line in lines[1::2]] == [1, 2, 3]
    assert [line["block_dropout_rate"] for line in lines][::5] == [0.5, pytest.approx(0.5 * 0.9**3)]
    assert not any("second" in name for name in lines[0])
    for line in lines:
        assert line["valid_perplexity"] == pytest.approx(math.exp(line["valid_mean_nll"]))
        assert 0 < line["valid_dense_mass"] < 1
    assert min(lines, key=lambda line: line["valid_mean_nll"]) == [line for line in lines if line["best"]][-1]


@pytest.mark.parametrize("kind", ["neural", "interpolated", "hybrid"])
def test_narrow_products_train_nearly_the_same_model(texts: Path, kind: str) -> None:
    exact, narrow = (
        train(tiny_config(texts, kind=kind, products=products), texts / products, device="cpu").valid_perplexity
        for products in ("float32", "bfloat16")
    )
    assert narrow != exact and narrow == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_run_repeats_to_the_bit_and_another_seed_gives_another(texts: Path, context: str) -> None:
    for name in ("one", "two"):
        train(tiny_config(texts, kind="hybrid", net__context=context), texts / name, device="cpu")
    assert contents(texts / "one") == contents(texts / "two")
    train(tiny_config(texts, kind="hybrid", net__context=context, seed=2), texts / "three", device="cpu")
    assert contents(texts / "one") != contents(texts / "three")


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_a_run_that_crashed_goes_on_as_if_it_had_not(
    texts: Path, context: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With checkpoints after every step, and with those of evaluations alone."""
    carried_along = {"optimiser__schedule": "plateau", "optimiser__warmup": 100, "optimiser__average": 200}
    config = tiny_config(texts, net__context=context, schedule__checkpoint_seconds=seconds, **carried_along)
    train(config, texts / "whole", device="cpu")
    for step in (0, 1, 5, 11):
        with monkeypatch.context() as patched, pytest.raises(CrashError):
            crash_before(step, patched)
            train(config, texts / "run", device="cpu", resume=True)
    train(config, texts / "run", device="cpu", resume=True)
    assert contents(texts / "run") == contents(texts / "whole")


def test_a_finished_run_can_be_given_more_epochs(texts: Path) -> None:
    train(tiny_config(texts, schedule__epochs=2), texts / "run", device="cpu")
    train(tiny_config(texts, schedule__epochs=2), texts / "run", device="cpu", resume=True)
    train(tiny_config(texts), texts / "run", device="cpu", resume=True)
    train(tiny_config(texts), texts / "whole", device="cpu")
    assert contents(texts / "run") == contents(texts / "whole")


def test_patience_ends_a_run_with_its_best_parameters(texts: Path) -> None:
    result = train(
        tiny_config(texts, schedule__patience=2, schedule__epochs=60, optimiser__learning_rate=0.3),
        texts / "run",
        device="cpu",
    )
    lines = [json.loads(line) for line in (texts / "run" / "journal.jsonl").read_text().splitlines()]
    assert result.stopped == "patience"
    assert [line["best"] for line in lines[-3:]] == [True, False, False]
    assert result.best == lines[-3]
    found = modlm.load(texts / "run" / "model").perplexity(texts / "valid.txt").perplexity
    assert found == pytest.approx(lines[-3]["valid_perplexity"], rel=1e-5)


def test_minutes_end_a_run_with_an_evaluation(texts: Path) -> None:
    config = tiny_config(texts, schedule__minutes=1e-9, schedule__epochs=50)
    result = train(config, texts / "run", device="cpu")
    assert (result.stopped, result.evaluations) == ("minutes", 1)
    again = train(config, texts / "run", device="cpu", resume=True)
    assert again.words == result.words


def test_a_stop_during_evaluation_is_evaluated_when_the_run_goes_on(
    texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(tiny_config(texts), texts / "whole", device="cpu")
    real = Trainer.score

    def asked_to_stop(self: Trainer, source: object) -> object:
        self.request.asked = self.run_state.evaluations == 2
        return real(self, source)  # type: ignore[arg-type]

    with monkeypatch.context() as patched, pytest.raises(Interrupted):
        patched.setattr(Trainer, "score", asked_to_stop)
        train(tiny_config(texts), texts / "run", device="cpu")
    assert len((texts / "run" / "journal.jsonl").read_text().splitlines()) == 2
    train(tiny_config(texts), texts / "run", device="cpu", resume=True)
    assert contents(texts / "run") == contents(texts / "whole")


def test_a_loss_that_is_no_number_stops_with_the_batch_and_advice(texts: Path) -> None:
    config = tiny_config(
        texts, optimiser__kind="sgd", optimiser__learning_rate=1e30, optimiser__clip=0.0, net__body="rnn"
    )
    with pytest.raises(DivergedError, match=r"stopped at step \d+ .*(loss is|gradient)(.|\n)*sentences") as caught:
        train(config, texts / "run", device="cpu")
    assert "learning_rate (now 1e+30)" in str(caught.value)
    sentences = (texts / "train.txt").read_text().splitlines()
    number, quoted = str(caught.value).splitlines()[1].split(":")
    assert sentences[int(number) - 1] == quoted.strip()


def test_a_word_that_no_column_can_give_is_explained(texts: Path) -> None:
    columns = {"ngram": ColumnsConfig(order=1, smoothing="maximum-likelihood")}
    (texts / "train.txt").write_text("a b\n" * 9 + "a c\n" + "a b\n" * 9)
    config = tiny_config(texts, kind="interpolated", columns=columns, extra=())
    with pytest.raises(DivergedError, match="add a constant column"):
        train(config, texts / "run", device="cpu")


def test_a_folder_with_something_in_it_is_not_overwritten(texts: Path) -> None:
    (texts / "run").mkdir()
    (texts / "run" / "precious.txt").write_text("mine")
    with pytest.raises(OutputError, match="resume=True"):
        train(tiny_config(texts), texts / "run", device="cpu")
    assert [path.name for path in (texts / "run").iterdir()] == ["precious.txt"]


def test_a_run_has_one_process_at_a_time(texts: Path) -> None:
    config = tiny_config(texts)
    train(config, texts / "run")
    with only_writer(texts / "run"), pytest.raises(OutputError, match="Another process is writing to"):
        train(config, texts / "run", resume=True)
    train(config, texts / "run", resume=True)


def test_a_run_is_not_taken_up_with_other_settings_or_texts(texts: Path) -> None:
    train(tiny_config(texts), texts / "run", device="cpu")
    before = (texts / "run" / "config.toml").read_text()
    with pytest.raises(ConfigError, match=r"net\.dropout was 0\.25 and is now 0\.5"):
        train(tiny_config(texts, net__dropout=0.5), texts / "run", device="cpu", resume=True)
    assert (texts / "run" / "config.toml").read_text() == before
    (texts / "valid.txt").write_text("w1 w2\n")
    with pytest.raises(ConfigError, match="valid changed"):
        train(tiny_config(texts), texts / "run", device="cpu", resume=True)


def test_settings_that_came_after_a_run_began_had_their_defaults() -> None:
    config = RunConfig(text="train", valid="valid")
    record = run_record(config)
    old = {**record, "config": {name: value for name, value in record["config"].items() if name != "encoding_errors"}}
    check_settings(old, record, Path("run"))
    with pytest.raises(ConfigError, match="encoding_errors was 'strict' and is now 'replace'"):
        check_settings(old, run_record(replace(config, encoding_errors="replace")), Path("run"))


def test_settings_of_columns_that_were_not_there_yet_had_their_defaults() -> None:
    config = RunConfig(text="train", valid="valid", columns={"kn": ColumnsConfig(order=3)})
    record = run_record(config)
    old = {**record, "config": {name: value for name, value in record["config"].items() if "positions" not in name}}
    check_settings(old, record, Path("run"))
    skip = {"kn": ColumnsConfig(positions=(3, 2), order=3)}
    with pytest.raises(ConfigError, match=r"columns\.kn\.positions was \[\] and is now \[3, 2\]"):
        check_settings(old, run_record(replace(config, columns=skip)), Path("run"))
    more = {**config.columns, "more": ColumnsConfig()}
    with pytest.raises(ConfigError, match=r"columns\.more"):
        check_settings(old, run_record(replace(config, columns=more)), Path("run"))


def test_a_damaged_checkpoint_is_named(texts: Path) -> None:
    train(tiny_config(texts), texts / "run", device="cpu")
    last = texts / "run" / "checkpoints" / "last.safetensors"
    last.write_bytes(last.read_bytes()[:-7])
    with pytest.raises(ModelFolderError, match=r"last\.safetensors"):
        train(tiny_config(texts), texts / "run", device="cpu", resume=True)


def test_tensorboard_is_asked_for_before_any_work(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)  # as if it were not installed
    with pytest.raises(MissingPackageError, match="tensorboard"):
        train(tiny_config(texts), texts / "run", device="cpu", tensorboard=True)
    assert not (texts / "run").exists()


def test_an_empty_validation_text_is_refused(texts: Path) -> None:
    (texts / "valid.txt").write_text("")
    with pytest.raises(ModlmError, match="no sentences"):
        train(tiny_config(texts), texts / "run", device="cpu")
