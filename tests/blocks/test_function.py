"""A Python function as columns: asked once for each context, checked, saved by its name or asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import modlm
from modlm.blocks.function import FunctionBlock, imported, name_of
from modlm.errors import ConfigError
from modlm.mixers import StaticMixer
from modlm.model.mixture import Mixture
from modlm.text import Corpus, Vocabulary
from small_texts import TEXTS, counts_of

VOCABULARY = counts_of(TEXTS["random sentences"]).vocabulary


def repeats(windows: list[list[str]], vocabulary: Vocabulary) -> np.ndarray:
    """Half of the mass on the word before, half on all words alike."""
    probs_BJ = np.full((len(windows), len(vocabulary)), 0.5 / len(vocabulary))
    for row, window in zip(probs_BJ, windows, strict=True):
        row[vocabulary.id(window[-1]) if window else 0] += 0.5
    return probs_BJ


def two(windows: list[list[str]], vocabulary: Vocabulary) -> np.ndarray:
    """The same, and the uniform column."""
    return np.stack([repeats(windows, vocabulary), np.full((len(windows), len(vocabulary)), 1 / len(vocabulary))], 1)


def block_of(function: object = repeats, **settings: object) -> FunctionBlock:
    return FunctionBlock(function, vocabulary=VOCABULARY, **{"context_length": 2, **settings})  # type: ignore[arg-type]


def test_rows_are_entries_of_the_columns() -> None:
    block = block_of(two, columns=("again", "flat"))
    ids = Corpus.from_text(["a b b", "", "c"], VOCABULARY).ids
    rows = block.rows(ids)
    share = 1 / len(VOCABULARY)
    b, end = VOCABULARY.id("b"), 1
    assert rows.probs_TK[ids == VOCABULARY.start] == pytest.approx(1)
    assert rows.probs_TK[3] == pytest.approx([0.5 + share / 2, share])  # the second b, after a b
    assert ids[3] == b and rows.probs_TK[4] == pytest.approx([share / 2, share])  # </s> after b b
    window_1C = np.array([[7, VOCABULARY.id("a"), b]], np.uint32)
    columns_BJK, _ = block.after(window_1C)
    assert columns_BJK[0, b] == pytest.approx(rows.probs_TK[3])
    assert columns_BJK[0, end] == pytest.approx([share / 2, share])
    assert block.rows_after(window_1C, np.array([b], np.uint32)).probs_TK[0] == pytest.approx(rows.probs_TK[3])


def test_each_context_is_asked_for_once() -> None:
    asked: list[list[str]] = []

    def counting(windows: list[list[str]], vocabulary: Vocabulary) -> np.ndarray:
        asked.extend(windows)
        return repeats(windows, vocabulary)

    block_of(counting, context_length=1).rows(Corpus.from_text(["a a a a", "a a"], VOCABULARY).ids)
    assert sorted(asked) == [[], ["a"]]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda windows, words: repeats(windows, words) * 2, r"column 'function' after .*sum to 2"),
        (lambda windows, words: repeats(windows, words) - 0.1, "the least is -0"),
        (lambda windows, words: repeats(windows, words)[:, :3], "one distribution over the"),
        (lambda windows, words: np.full((len(windows), len(words)), np.nan), "sum to nan"),
    ],
)
def test_what_is_no_distribution_is_refused(wrong: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        block_of(wrong).rows(Corpus.from_text(["a b"], VOCABULARY).ids)


def test_only_functions_of_ones_own_are_imported() -> None:
    assert imported("modlm.blocks.function:name_of") is name_of
    for target in ("os:system", "subprocess:call", "os.path:join", "modlm.blocks.function:Rows", "nothing", "no:thing"):
        with pytest.raises(ConfigError, match=r"no function for a column|cannot be imported"):
            imported(target)


def test_a_model_with_a_function_is_saved_and_opened(tmp_path: Path) -> None:
    mixture = Mixture(
        VOCABULARY, {"mine": block_of(lambda windows, words: repeats(windows, words))}, StaticMixer(np.ones(1))
    )
    mixture.save(tmp_path / "model")
    with pytest.raises(ConfigError, match=r"functions=\{'mine': your_function\}"):
        modlm.load(tmp_path / "model")
    again = modlm.load(tmp_path / "model", functions={"mine": repeats})
    assert again.score("a a b") == mixture.score("a a b")
