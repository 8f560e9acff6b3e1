"""Columns made from the training text: refused where that is certain, warned of where it is likely."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.blocks import NgramBlock
from modlm.blocks.model import ModelBlock
from modlm.counts import export_counts
from modlm.counts.counting import count_text
from modlm.errors import ConfigError
from modlm.mixers import StaticMixer
from modlm.model.folder import save
from modlm.model.mixture import Mixture
from modlm.model.ngram.arpa import to_arpa
from modlm.model.ngram.estimation import heuristic_mixture
from modlm.model.ngram_lm import NgramLM
from modlm.smoothing import SMOOTHERS, estimate
from modlm.text import Corpus
from modlm.training.blocks import RunBlock, dense_blocks
from modlm.training.config import ColumnsConfig, RunConfig
from modlm.training.leaks import mean_log_prob, word_frequencies
from modlm.training.rows import rows
from modlm.training.run import train as train_run
from small_texts import EDGES, TEXT_LISTS, TEXTS
from tiny_runs import tiny_config

TEXT = TEXTS["random sentences"]
OTHER = [line for line in TEXT if "a" not in line] + ["h h h a b"]
REFUSED = r"columns\.x was made from the training text.*held out fold by fold"


@pytest.fixture
def train() -> Corpus:
    return Corpus.from_text(TEXT)


def check_refused(train: Corpus, **columns: object) -> None:
    with pytest.raises(ConfigError, match=REFUSED):
        made(train, **columns)


def made(train: Corpus, **columns: object) -> RunBlock:
    config = RunConfig(text="t", valid="v", columns={"x": ColumnsConfig(**columns)})  # type: ignore[arg-type]
    return dense_blocks(config, train)["x"]


def in_random_order(text: list[str]) -> list[str]:
    return random.Random(5).sample(text, len(text))


# ---- texts and counts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [TEXT, TEXT[7:40], ["before it", *TEXT, "behind it"], in_random_order(TEXT)],
    ids=["same", "part", "more", "shuffled"],
)
@pytest.mark.parametrize("positions", [(), (3, 2)])
def test_the_training_text_is_no_other_text(
    train: Corpus, text: list[str], positions: tuple[int, ...], tmp_path: Path
) -> None:
    path, other = tmp_path / "text.txt", tmp_path / "other.txt"
    path.write_text("\n".join(text) + "\n")
    other.write_text("\n".join(OTHER) + "\n")
    check_refused(train, text=(str(path),), positions=positions)
    made(train, text=(str(other),), positions=positions)


def test_every_file_of_a_block_is_looked_at(train: Corpus, tmp_path: Path) -> None:
    (tmp_path / "part.txt").write_text("\n".join(TEXT[7:40]) + "\n")
    (tmp_path / "other.txt").write_text("\n".join(OTHER))
    other, part = str(tmp_path / "other.txt"), str(tmp_path / "part.txt")
    check_refused(train, text=(other, part))
    block = made(train, text=(other, other), order=2).block
    expected = NgramBlock(
        estimate(SMOOTHERS["modified-kneser-ney"](), count_text(OTHER * 2, vocabulary=train.vocabulary, order=2))
    )
    assert np.array_equal(block.rows(train.ids).probs_TK, expected.rows(train.ids).probs_TK)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("smoothing", SMOOTHERS)
def test_counts_of_the_training_text_are_refused(train: Corpus, smoothing: str, edge: str, tmp_path: Path) -> None:
    for order in (1, 2, 4):
        count_text(train, order=order, edge=edge).save(tmp_path / "counts", overwrite=True)
        check_refused(train, counts=(str(tmp_path / "counts"),), smoothing=smoothing)
        count_text(OTHER, vocabulary=train.vocabulary, order=order, edge=edge).save(tmp_path / "counts", overwrite=True)
        made(train, counts=(str(tmp_path / "counts"),), smoothing=smoothing)


def test_a_count_file_of_the_training_text_is_refused(train: Corpus, tmp_path: Path) -> None:
    export_counts(count_text(train, order=3), tmp_path / "counts.txt")
    check_refused(train, counts=(str(tmp_path / "counts.txt"),))


@given(
    text=TEXT_LISTS,
    edge=st.sampled_from(EDGES),
    order=st.integers(1, 5),
    positions=st.sampled_from([None, (2,), (4, 2)]),
    smoothing=st.sampled_from(tuple(SMOOTHERS)),
)
def test_word_frequencies_are_known_whatever_counts_became(
    text: list[str], edge: str, order: int, positions: tuple[int, ...] | None, smoothing: str
) -> None:
    corpus = Corpus.from_text(text)
    counts = count_text(corpus, order=None if positions else order, edge=edge, positions=positions)
    found = word_frequencies(NgramBlock(estimate(SMOOTHERS[smoothing](), counts)))
    assert found.tolist() == np.bincount(corpus.ids, minlength=len(corpus.vocabulary) + 1)[:-1].tolist()


# ---- models ----------------------------------------------------------------------------------------------------------


def test_models_with_counts_of_the_training_text_are_refused(train: Corpus, tmp_path: Path) -> None:
    """With other words known, too, and deep inside a mixture."""
    ngram = NgramLM.fit(TEXT, 3, max_words=5)
    skip = heuristic_mixture(estimate(SMOOTHERS["kneser-ney"](), count_text(TEXT, positions=(3, 2))))
    blocks = {"one": ModelBlock(NgramLM.fit(OTHER, 2), train.vocabulary), "two": ModelBlock(skip, train.vocabulary)}
    both = Mixture(train.vocabulary, blocks, StaticMixer(np.array([0.5, 0.5])))
    for model in (ngram, skip, both):
        save(model, tmp_path / "model", overwrite=True)
        check_refused(train, model=str(tmp_path / "model"))
    save(NgramLM.fit(OTHER, 3), tmp_path / "model", overwrite=True)
    made(train, model=str(tmp_path / "model"))


def test_a_net_trained_on_the_training_text_is_refused(texts: Path) -> None:
    train_run(tiny_config(texts, kind="neural"), texts / "run", device="cpu")
    config = tiny_config(texts, kind="interpolated", columns={"x": ColumnsConfig(model=str(texts / "run"))})
    with pytest.raises(ConfigError, match=REFUSED):
        train_run(config, texts / "again", device="cpu")
    assert not (texts / "again").exists()
    (texts / "train.txt").write_text((texts / "train.txt").read_text() + "w1 w2 w3\n")
    train_run(config, texts / "another", device="cpu")


# ---- warnings --------------------------------------------------------------------------------------------------------


def write_arpa(text: Path, target: Path) -> None:
    model = NgramLM.fit(text, 4, smoothing="absolute", discounts=[[0.2]])  # few words make small differences
    to_arpa(model.compiled, model.vocabulary, target)


def warnings_of(texts: Path, columns: ColumnsConfig, caplog: pytest.LogCaptureFixture) -> list[str]:
    config = tiny_config(texts, kind="interpolated", columns={"x": columns}, schedule__epochs=0.5)
    train_run(config, texts / "run", device="cpu")
    return [record.message for record in caplog.records if "much better" in record.message]


def test_an_arpa_file_of_the_training_text_is_warned_of(texts: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_arpa(texts / "train.txt", texts / "old.arpa")
    (message,) = warnings_of(texts, ColumnsConfig(model=str(texts / "old.arpa")), caplog)
    assert message.startswith("columns.x predicts the training text much better than the validation text (perplexity ")
    assert "held out fold by fold" in message


def test_other_texts_and_held_out_columns_are_not_warned_of(texts: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_arpa(texts / "test.txt", texts / "old.arpa")
    assert not warnings_of(texts, ColumnsConfig(model=str(texts / "old.arpa")), caplog)
    caplog.clear()
    config = tiny_config(texts, kind="interpolated", columns={"x": ColumnsConfig(order=4)}, schedule__epochs=0.5)
    train_run(config, texts / "another", device="cpu")
    assert "much better" not in caplog.text


def test_the_mean_is_of_known_words_in_columns_mixed_alike(train: Corpus) -> None:
    counts = count_text(["a b", "a c"], vocabulary=train.vocabulary, order=2)
    block = NgramBlock(estimate(SMOOTHERS["maximum-likelihood"](), counts))
    found = rows(Corpus.from_text(["a b", "z z"], train.vocabulary), {"x": RunBlock(block)})
    words = len(train.vocabulary)
    first = (2 / 6 + 2 / 2) / 2  # a: two of six words, and always the first
    second = (1 / 6 + 1 / 2) / 2  # b: one of six, and after a one of two
    ends = (2 / 6 + 1 / 1) / 2, (2 / 6 + 1 / words) / 2  # after b always; after an unknown word uniform
    expected = np.mean(np.log([first, second, *ends]))
    assert mean_log_prob(found, "x", words) == pytest.approx(expected, rel=1e-6)


def test_a_word_that_no_column_gives_counts_as_uniform(train: Corpus) -> None:
    counts = count_text(["a"], vocabulary=train.vocabulary, order=1)
    block = NgramBlock(estimate(SMOOTHERS["maximum-likelihood"](), counts))
    found = rows(Corpus.from_text(["b"], train.vocabulary), {"x": RunBlock(block)})
    assert mean_log_prob(found, "x", 10) == pytest.approx(np.mean(np.log([1 / 10, 1 / 2])))
