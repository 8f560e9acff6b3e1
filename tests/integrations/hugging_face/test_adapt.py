"""`modlm adapt`: what lambda is learned from was not counted, reports and saved models agree, and it gets better."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs modlm[neural]")
pytest.importorskip("transformers", reason="needs modlm[hf]")

from modlm import Corpus, index_text, load
from modlm.blocks import NgramBlock
from modlm.cli.app import run
from modlm.counts import count_text
from modlm.errors import ConfigError, InputError
from modlm.integrations.hugging_face.adapt import AdaptConfig, adapt, prepare, rows_of, tuning_parts
from modlm.integrations.hugging_face.causal_lm import Reading
from modlm.integrations.hugging_face.mixer_training import mixer_run
from modlm.smoothing import SMOOTHERS, estimate

SMALL = mixer_run(hidden=8, epochs=4)


@pytest.fixture
def config(model_folder: Path, texts: dict[str, Path]) -> AdaptConfig:
    return AdaptConfig(
        hf=model_folder, text=(texts["train"],), valid=texts["valid"], test=texts["test"], order=3, training=SMALL,
        reading=Reading(window=60),
    )  # fmt: skip


def changed(config: AdaptConfig, **values: object) -> AdaptConfig:
    return AdaptConfig(**{**{name: getattr(config, name) for name in config.__slots__}, **values})  # type: ignore[arg-type]


def test_the_report_is_that_of_the_saved_model(config: AdaptConfig, tmp_path: Path, texts: dict[str, Path]) -> None:
    for mixer, label in (("static", "static, lm and orders"), ("learned", "learned")):
        result = adapt(changed(config, mixer=mixer))
        result.model.save(tmp_path / mixer)
        for text in ("valid", "test"):
            again = load(tmp_path / mixer).perplexity(texts[text])
            reported = result.texts[text][label]
            assert again.perplexity == pytest.approx(reported.perplexity, rel=1e-4)
            assert again.bits_per_byte == pytest.approx(reported.bits_per_byte, rel=1e-4)
            assert again.perplexity_per_word == pytest.approx(reported.perplexity_per_word, rel=1e-4)
            assert (again.predictions, again.bytes) == (reported.predictions, reported.bytes)


def test_counts_of_the_same_kind_of_text_help_and_a_net_helps_more(config: AdaptConfig) -> None:
    training = mixer_run(hidden=16, epochs=60, patience=60, batch=32, learning_rate=0.005)
    result = adapt(changed(config, training=training))
    found = {name: numbers.bits_per_byte for name, numbers in result.texts["valid"].items()}
    assert found["learned"] < found["static, lm and orders"] < found["lm alone"]
    assert sum(result.weights.values()) == pytest.approx(1.0)
    assert sum(result.mean_weights.values()) == pytest.approx(1.0, abs=1e-5)
    assert min(result.history) < result.history[0]


def test_lambda_is_learned_from_lines_that_are_held_out_of_the_counts(
    config: AdaptConfig, texts: dict[str, Path]
) -> None:
    prepared = prepare(changed(config, tune_lines=5))
    found = rows_of(prepared, "tune")
    lines = texts["train"].read_text().splitlines()
    rest = count_text(Corpus.from_text(lines[:-5], prepared.lm.vocabulary), order=3)
    block = NgramBlock(estimate(SMOOTHERS["modified-kneser-ney"](), rest))
    ids = Corpus.from_text(lines[-5:], prepared.lm.vocabulary).ids
    expected = block.rows(ids)
    predicted = ids != prepared.lm.vocabulary.start
    np.testing.assert_allclose(
        np.exp(found.log_probs_TD[predicted, 1:]), expected.probs_TK[predicted], rtol=1e-4, atol=1e-7
    )
    np.testing.assert_allclose(found.features_TF[predicted, 3:], expected.features_TF[predicted], rtol=1e-4, atol=1e-5)
    fit, stop = tuning_parts(prepared, {"tune": found, "valid": rows_of(prepared, "valid")})
    assert len(fit.ids) == len(ids) and len(stop.ids) == prepared.corpora["valid"].words + 2 * 12


@pytest.mark.parametrize("documents", [False, True])
def test_they_are_held_out_of_an_index_and_of_counts_beside_too(
    config: AdaptConfig, texts: dict[str, Path], tmp_path: Path, documents: bool
) -> None:
    vocabulary = prepare(config).lm.vocabulary
    lines, made = texts["train"].read_text().splitlines(), []
    for name, text, tune in (("all", lines, 5), ("rest", lines[:-5], 0)):
        place = tmp_path / f"{name}.txt"
        place.write_text(("\n\n" if documents else "\n").join(text) + "\n")
        index_text(place, tmp_path / name, vocabulary=vocabulary, documents=documents)
        beside = tmp_path / f"beside-{name}.txt"
        beside.write_text("\n".join(["the bank sold the company", *text]) + "\n")
        made.append(
            prepare(
                changed(config, beside=(beside,), index=(tmp_path / name,), tune_lines=tune if name == "all" else 0)
            )
        )
    found = rows_of(made[0], "tune")
    assert made[0].others.keys() == {"beside-all", "infinite"}
    predicted = found.ids != vocabulary.start
    for ours, theirs in (("infinite", "infinite"), ("beside-all", "beside-rest")):
        expected = made[1].others[theirs].rows(found.ids)
        own = [table[predicted] for table in found.block(ours)]
        np.testing.assert_allclose(np.exp(own[0]), expected.probs_TK[predicted], rtol=1e-4, atol=1e-7)
        np.testing.assert_allclose(own[1], expected.features_TF[predicted], rtol=1e-4, atol=1e-5)


def test_without_such_lines_the_validation_text_is_split_at_a_line(config: AdaptConfig) -> None:
    prepared = prepare(config)
    rows = {"valid": rows_of(prepared, "valid")}
    fit, stop = tuning_parts(prepared, rows)
    corpus = prepared.corpora["valid"]
    assert corpus.sentences == 12
    assert len(stop.ids) == corpus[10:].words + 2 * 2 and len(fit.ids) + len(stop.ids) == len(rows["valid"].ids)


def test_any_columns_stand_beside_the_model_and_the_saved_mixture_has_them(
    config: AdaptConfig, tmp_path: Path, texts: dict[str, Path]
) -> None:
    (tmp_path / "other.txt").write_text("the bank sold the company\n" * 3)
    lm = prepare(config).lm
    index_text([texts["train"]], tmp_path / "index", vocabulary=lm.vocabulary)
    every = changed(config, beside=(tmp_path / "other.txt",), online=2, cache=50, index=(tmp_path / "index",))
    result = adapt(every)
    assert list(result.model.blocks) == ["lm", "ngram", "other", "infinite", "online", "cache"]
    assert sum(result.weights.values()) == pytest.approx(1.0)
    result.model.save(tmp_path / "adapted")
    again = load(tmp_path / "adapted").perplexity(texts["test"])
    assert again.perplexity == pytest.approx(result.texts["test"]["learned"].perplexity, rel=1e-4)


def test_a_second_run_finds_the_models_pass_in_the_cache(config: AdaptConfig) -> None:
    first, second = adapt(config), adapt(config)
    assert "lm_tokens_per_second_test" in first.costs and "lm_tokens_per_second_test" not in second.costs
    assert first.texts["test"]["learned"] == second.texts["test"]["learned"]


def test_the_command_reports_saves_and_is_taken_by_other_commands(
    model_folder: Path, texts: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["adapt", "--hf", model_folder, "--text", texts["train"], "--valid", texts["valid"]]
    command += ["--test", texts["test"], "-o", tmp_path / "adapted", "--order", 2, "--hidden", 8, "--epochs", 2]
    command += ["--window", 40, "--hidden-state"]
    assert run([*map(str, command), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report["texts"]) == {"valid", "test"} and set(report["weights"]) == {"lm", "1-gram", "2-gram"}
    assert "adapted to train.txt" in (tmp_path / "adapted" / "card.md").read_text()
    assert run([*map(str, command), "--force"]) == 0
    assert "static, lm and orders" in capsys.readouterr().out
    assert run(["next", str(tmp_path / "adapted"), "the company", "-k", "2", "--json"]) == 0
    (first, second) = json.loads(capsys.readouterr().out)
    assert first["probability"] >= second["probability"] and "lm" in first["shares"]
    assert run(["inspect", str(tmp_path / "adapted"), "--verify"]) == 0
    assert "causal-lm" in capsys.readouterr().out
    assert run([*map(str, command)]) == 1
    assert "already exists" in capsys.readouterr().err


def test_settings_that_make_no_sense_are_refused(config: AdaptConfig) -> None:
    with pytest.raises(ConfigError, match="lines"):
        prepare(changed(config, tune_lines=24))
    with pytest.raises(InputError, match="no such file"):
        prepare(changed(config, test=Path("nothing.txt")))
    with pytest.raises(ConfigError, match="mixer"):
        changed(config, mixer="heuristic")
    with pytest.raises(ConfigError, match="at least 1"):
        mixer_run(hidden=0)
