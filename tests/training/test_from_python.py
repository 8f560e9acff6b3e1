"""`modlm.train`: the same runs as from a file, from Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import modlm
from modlm.errors import ConfigError
from modlm.families import BODIES
from modlm.model.mixture import Mixture
from modlm.nets.bodies import FeedForward
from modlm.text import Vocabulary
from modlm.training.config_file import read_config, run_config, to_toml
from modlm.training.from_python import settings_of
from small_texts import TEXTS, model_of

QUICK = {"schedule": {"batch_words": 64}, "net": {"hidden": 4}}


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("MODLM_CACHE", str(tmp_path / "cache"))
    for name in ("train", "valid"):
        (tmp_path / name).write_text("\n".join(TEXTS["random sentences"]) + "\n")
    return {"text": tmp_path / "train", "valid": tmp_path / "valid"}


def alike(windows: list[list[str]], vocabulary: Vocabulary) -> np.ndarray:
    return np.full((len(windows), len(vocabulary)), 1 / len(vocabulary))


class Doubled(FeedForward):
    """A body of one's own."""


def test_columns_of_every_kind_are_mixed_by_a_net(texts: dict[str, Any], tmp_path: Path) -> None:
    model_of(["a b c"], order=2).save(tmp_path / "other")
    lm = modlm.train(
        **texts,
        out=tmp_path / "run",
        columns={
            "ngram": modlm.Ngram(order=2),
            "same": modlm.Ngram(order=2, smoothing="witten-bell"),
            "other": modlm.Model(tmp_path / "other"),
            "mine": modlm.FunctionBlock(alike, columns=("mine",), context_length=1),
            "uniform": modlm.Uniform(),
            "delta": modlm.Delta(),
        },
        mixer=modlm.Lstm(hidden=4, dropout=0.1),
        block_dropout=0.5,
        epochs=1,
        seed=3,
    )
    assert isinstance(lm, Mixture)
    assert list(lm.blocks) == ["ngram", "same", "other", "mine", "uniform", "delta"]
    assert lm.described()["model"] == "hybrid"
    assert lm.perplexity(texts["valid"]).perplexity > 1
    config = read_config(tmp_path / "run" / "config.toml")
    assert (config.seed, config.net.body, config.block_dropout.rate) == (3, "lstm", 0.5)
    assert modlm.load(tmp_path / "run", functions={"mine": alike}).score("a b") == lm.score("a b")


def test_a_table_and_a_call_describe_the_same_run(texts: dict[str, Any], tmp_path: Path) -> None:
    called = run_config(
        settings_of(
            **texts,
            columns={"mine": modlm.Ngram(order=3), "delta": modlm.Delta(), "unknown": modlm.Unknown()},
            mixer=modlm.Gru(hidden=7),
            epochs=3,
            settings={"optimiser": {"learning_rate": 0.5}},
        )
    )
    (tmp_path / "again.toml").write_text(to_toml(called))
    assert read_config(tmp_path / "again.toml") == called
    assert (called.kind, called.extra, called.optimiser.learning_rate) == ("hybrid", ("unknown",), 0.5)


@pytest.mark.parametrize("mixer", ["heuristic", "static", "rnn", modlm.FeedForward(hidden=3)])
def test_any_mixer_takes_the_same_call(texts: dict[str, Any], mixer: Any) -> None:
    lm = modlm.train(
        **texts, mixer=mixer, epochs=1, columns={"ngram": modlm.Ngram(order=2), "uniform": modlm.Uniform()}
    )
    assert lm.described()["model"] == ("mixture" if mixer in ("heuristic", "static") else "interpolated")
    assert sum(lm.next_distribution("a")) == pytest.approx(1, abs=1e-6)


def test_heuristic_weights_are_those_of_the_n_gram_model(texts: dict[str, Any]) -> None:
    columns = {"ngram": modlm.Ngram(order=3), "uniform": modlm.Uniform()}
    lm = modlm.train(**texts, mixer="heuristic", columns=columns)
    ngram = modlm.NgramLM.fit(texts["text"], order=3)
    assert lm.score("a b c") == pytest.approx(ngram.score("a b c"), rel=1e-6)


def test_a_body_of_ones_own_is_trained(texts: dict[str, Any]) -> None:
    lm = modlm.train(**texts, mixer=Doubled, epochs=1, **QUICK)
    assert isinstance(lm, Mixture)
    assert lm.mixer.net.config.body in BODIES  # type: ignore[attr-defined]
    assert type(lm.mixer.net.body) is Doubled  # type: ignore[attr-defined]


def test_what_does_not_fit_is_answered(texts: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"columns\['x'\] is a int"):
        modlm.train(**texts, columns={"x": 3})  # type: ignore[dict-item]
    with pytest.raises(ConfigError, match="must be on disk"):
        modlm.Model(model_of(["a b"]))
    with pytest.raises(ConfigError, match="one block of n-gram columns, but there are 2"):
        modlm.train(**texts, mixer="heuristic", columns={n: modlm.Ngram(order=2) for n in "ab"})
    with pytest.raises(ConfigError, match="mixer must be"):
        modlm.train(**texts, mixer=3)  # type: ignore[arg-type]


def test_a_block_of_another_kind_comes_from_its_settings(texts: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(
        f'kind = "interpolated"\ntext = "{texts["text"]}"\nvalid = "{texts["valid"]}"\n'
        f'[columns.mine]\nblock = "function"\n[columns.mine.settings]\n'
        f'function = "small_texts:alike"\ncolumns = ["mine"]\ncontext_length = 1\n'
    )
    config = read_config(tmp_path / "run.toml", ["columns.mine.settings.context_length=2"])
    assert config.columns["mine"].settings["context_length"] == 2
    with pytest.raises(ConfigError, match=r"kind of column 'functoin'.*'function'"):
        read_config(tmp_path / "run.toml", ["columns.mine.block=functoin"])
