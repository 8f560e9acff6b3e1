"""Several texts in a run: every fold takes a part of each, columns can be of one, and nothing tells the net which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from modlm.blocks import NgramBlock
from modlm.blocks.log_rows import LogRows
from modlm.counts.counting import count_text
from modlm.errors import ConfigError, InputError
from modlm.smoothing import SMOOTHERS, estimate
from modlm.text import Corpus
from modlm.text.folds import fold_cuts
from modlm.training.blocks import columns_of, dense_blocks
from modlm.training.config import ColumnsConfig, RunConfig
from modlm.training.config_file import read_config
from modlm.training.rows import fold_ranges, inside, rows
from modlm.training.texts import read_texts

ORDER, FOLDS = 3, 4


def sentences(seed: int, words: Sequence[str], count: int) -> list[str]:
    """Random sentences over some words, the first the most frequent."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, len(words) + 1)
    drawn = [rng.choice(words, size=rng.integers(1, 9), p=weights / weights.sum()) for _ in range(count)]
    return [" ".join(line) for line in drawn]


@pytest.fixture
def texts(tmp_path: Path) -> tuple[str, str, str]:
    """Two texts of a run and a third, of another kind each."""
    kinds = {"home": ("abcdefgh", 60), "away": ("hgxyzab", 90), "more": ("hgxy", 40)}
    made = {name: sentences(seed, list(words), count) for seed, (name, (words, count)) in enumerate(kinds.items())}
    for name, lines in made.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    home, away, more = (str(tmp_path / name) for name in made)
    return home, away, more


def config_of(texts: tuple[str, ...], **columns: ColumnsConfig) -> RunConfig:
    return RunConfig(text=texts, valid=texts[0], kind="interpolated", folds=FOLDS, extra=(), columns=columns)


def lines_of(corpus: Corpus) -> list[str]:
    return [" ".join(corpus.vocabulary.decode(ids[1:-1])) for ids in corpus]


def slowly(corpus: Corpus, column: ColumnsConfig) -> list[np.ndarray]:
    """Log rows and features of all folds, from what is left of the counted texts counted and smoothed anew."""
    log_probs, features = [], []
    for number, fold in enumerate(corpus.folds(FOLDS)):
        counted = corpus.source(column.source) if column.source else corpus
        rest = [line for place, part in enumerate(counted.folds(FOLDS)) if place != number for line in lines_of(part)]
        for path in column.text:
            rest += Path(path).read_text().splitlines()
        counts = count_text(rest, vocabulary=corpus.vocabulary, order=column.order, edge=column.edge)
        made = NgramBlock(estimate(SMOOTHERS[column.smoothing](), counts)).rows(np.asarray(fold.ids))
        with np.errstate(divide="ignore"):
            log_probs.append(np.log(made.probs_TK))
        features.append(made.features_TF)
    return [np.concatenate(log_probs), np.concatenate(features)]


def in_order_of_folds(corpus: Corpus, made: LogRows) -> list[np.ndarray]:
    """The rows as `slowly` has them."""
    places = np.concatenate([np.arange(*part) for fold in fold_ranges(corpus, FOLDS) for part in fold])
    return [made.log_probs_TD[places], made.features_TF[places]]


@pytest.mark.parametrize("smoothing", ["maximum-likelihood", "witten-bell", "modified-kneser-ney"])
@pytest.mark.parametrize("edge", ["once", "repeat"])
@pytest.mark.parametrize(("source", "further"), [(0, False), (1, False), (2, False), (2, True)])
def test_rows_of_a_source_are_those_of_counts_without_its_part_of_the_fold(
    texts: tuple[str, str, str], smoothing: str, edge: str, source: int, further: bool
) -> None:
    column = ColumnsConfig(
        order=ORDER, smoothing=smoothing, edge=edge, source=source, text=texts[2:] if further else ()
    )  # fmt: skip
    config = config_of(texts[:2], mine=column)
    corpus = read_texts(config)["train"]
    found = in_order_of_folds(corpus, rows(corpus, dense_blocks(config, corpus), folds=FOLDS))
    for ours, expected in zip(found, slowly(corpus, column), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=3e-7, atol=1e-7)


def test_rows_of_some_sentences_are_those_among_all(texts: tuple[str, str, str]) -> None:
    config = config_of(texts[:2], mine=ColumnsConfig(order=ORDER, source=2))
    corpus = read_texts(config)["train"]
    columns, kept = dense_blocks(config, corpus), np.array([0, 7, 61, 62, 140])
    some, every = rows(corpus, columns, folds=FOLDS, kept=kept), rows(corpus, columns, folds=FOLDS)
    wanted = np.concatenate([np.arange(corpus.starts[n], corpus.starts[n + 1]) for n in kept])
    assert np.array_equal(some.log_probs_TD, every.log_probs_TD[wanted])
    assert np.array_equal(some.features_TF, every.features_TF[wanted])


def test_several_texts_get_a_block_each(texts: tuple[str, str, str]) -> None:
    assert columns_of(config_of(texts[:2])) == {"ngram1": ColumnsConfig(source=1), "ngram2": ColumnsConfig(source=2)}


def test_a_list_of_texts_in_a_file_and_on_the_command_line_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('kind = "hybrid"\ntext = ["a", "b"]\nvalid = "c"\n')
    config = read_config(tmp_path / "run.toml")
    assert config.text == (str(tmp_path / "a"), str(tmp_path / "b"))
    assert [block.source for block in config.columns.values()] == [1, 2]


def test_a_source_that_no_text_is_is_refused(texts: tuple[str, str, str]) -> None:
    with pytest.raises(ConfigError, match=r"columns.mine.source is 3, but the run has 2 texts"):
        config_of(texts[:2], mine=ColumnsConfig(source=3))


def test_a_text_without_sentences_among_several_is_refused(texts: tuple[str, str, str], tmp_path: Path) -> None:
    (tmp_path / "nothing").write_text("")
    with pytest.raises(InputError, match="no sentences"):
        read_texts(config_of((texts[0], str(tmp_path / "nothing"))))


def test_what_of_a_fold_was_counted() -> None:
    fold = [(2, 5), (10, 14)]
    assert inside(fold, (0, 6)) == slice(0, 3)
    assert inside(fold, (6, 20)) == slice(3, 7)
    assert inside(fold, (0, 99)) == slice(0, 7)


# ---- nothing in a row tells the fold or the source ----------------------------------------------------------------


def told(features_TF: np.ndarray, labels_T: np.ndarray, other_TF: np.ndarray, other_T: np.ndarray) -> float:
    """How often a linear classifier fitted to one half finds the labels of the other, above guessing the commonest."""
    mean, scale = features_TF.mean(axis=0), features_TF.std(axis=0) + 1e-3
    ones = [np.c_[(each - mean) / scale, np.ones(len(each))] for each in (features_TF, other_TF)]
    targets = np.eye(labels_T.max() + 1)[labels_T]
    weights = np.linalg.lstsq(ones[0].T @ ones[0] + np.eye(ones[0].shape[1]), ones[0].T @ targets, rcond=None)[0]
    guessed = np.bincount(other_T).max() / len(other_T)
    return float(np.mean((ones[1] @ weights).argmax(axis=1) == other_T) - guessed)


def told_of_half(features_TF: np.ndarray, labels_T: np.ndarray) -> float:
    """The same for one text, half of its positions against the other half."""
    order = np.random.default_rng(0).permutation(len(features_TF))
    one, two = order[::2], order[1::2]
    return told(features_TF[one], labels_T[one], features_TF[two], labels_T[two])


def as_the_net_sees_them(made: LogRows) -> np.ndarray:
    """Features at predicted positions, those that do not depend on the context at their mean."""
    predicted = np.ones(len(made.ids), np.bool_)
    predicted[made.starts[:-1]] = False
    return np.where(made.steady_F, 0.0, made.features_TF)[predicted]


def labels_of(corpus: Corpus, by_sentence: np.ndarray) -> np.ndarray:
    """The label of its sentence at every predicted position."""
    return np.repeat(by_sentence, np.diff(corpus.starts) - 1)


def test_features_tell_neither_fold_nor_source_better_than_those_of_other_text(tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(600)]
    kinds = {"home": words, "away": words[200:] + words[:100]}
    for number, (source, known) in enumerate(kinds.items()):
        (tmp_path / f"{source}.train").write_text("\n".join(sentences(number, known, 2000)))
        (tmp_path / f"{source}.valid").write_text("\n".join(sentences(10 + number, known, 1000)))
    config = config_of(
        (str(tmp_path / "home.train"), str(tmp_path / "away.train")), all=ColumnsConfig(order=ORDER)
    )  # fmt: skip
    corpus = read_texts(config)["train"]
    other = Corpus.from_text([tmp_path / f"{source}.valid" for source in kinds], corpus.vocabulary)
    columns = dense_blocks(config, corpus)
    made = rows(corpus, columns, folds=FOLDS)
    seen, unseen = as_the_net_sees_them(made), as_the_net_sees_them(rows(other, {"all": columns["all"]}))

    def source_told(features_TF: np.ndarray, text: Corpus) -> float:
        return told_of_half(features_TF, labels_of(text, np.repeat(np.arange(2), text.sources)))

    def fold_told(features_TF: np.ndarray, folds: np.ndarray) -> float:
        return told_of_half(features_TF, labels_of(corpus, folds))

    assert source_told(seen, corpus) < source_told(unseen, other) + 0.02
    fold_of = np.empty(corpus.sentences, np.int64)
    for fold, stretches in enumerate(fold_cuts(corpus.sources, FOLDS)):
        for first, after in stretches:
            fold_of[first:after] = fold
    assert fold_told(seen, fold_of) < 0.02
    # what this would catch: features of order 1 as they are name the fold, and folds of one stretch each the source
    assert fold_told(made.features_TF[made.ids != corpus.vocabulary.start], fold_of) > 0.3
    one_text = replace(corpus, sources=())
    before = rows(one_text, columns, folds=FOLDS).features_TF[made.ids != corpus.vocabulary.start]
    assert source_told(before, corpus) > source_told(unseen, other) + 0.1
