"""Families with parameters: given by name, learned from held-out words, kept in a model folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import pytest

import modlm
from modlm.errors import ConfigError
from modlm.families import SMOOTHERS, Member
from modlm.model.ngram_lm import NgramLM
from modlm.smoothing import ContextSums, HeldOutWords, Smoother, estimate, smoother_of
from small_texts import EDGES, TEXTS, counts_of, flat_ids

TEXT = TEXTS["random sentences"]


@dataclass(frozen=True)
class Keeps(Smoother):
    """Falls through by its parameter, and keeps what it was shown."""

    name: ClassVar[str] = "keeps"
    learns: ClassVar[bool] = True

    share: float = 0.5
    word: str = "none"

    def fallback(self, contexts: ContextSums) -> np.ndarray:
        return np.full_like(contexts.total, self.share)

    def learned(self, words: HeldOutWords) -> Self:
        SHOWN.append(words)
        return replace(self, share=float(words.probs_TN.mean()))


SHOWN: list[HeldOutWords] = []


@pytest.fixture(autouse=True)
def member(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SMOOTHERS._own, "keeps", Member("keeps", f"{__name__}:Keeps", "tests"))


def test_parameters_stand_behind_a_colon() -> None:
    assert smoother_of("keeps:share=0.25,word=two") == Keeps(share=0.25, word="two")
    assert smoother_of("keeps") == Keeps()
    assert smoother_of(Keeps(share=0.1)) == Keeps(share=0.1)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("keeps:shore=1", "keeps takes share, word, but is given 'shore=1'"),
        ("witten-bell:delta=1", "witten-bell has no parameters, but is given 'delta=1'"),
        ("witten-bill", "Did you mean 'witten-bell'"),
    ],
)
def test_what_does_not_fit_is_said(given: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        smoother_of(given)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("name", TEXTS)
def test_leaving_out_is_counting_without_each_word(name: str, edge: str) -> None:
    """Each row is what the counts would say of an occurrence if that one had not been counted."""
    counts = counts_of(TEXTS[name], order=3, edge=edge)
    SHOWN.clear()
    estimate(Keeps(), counts)
    (words,) = SHOWN
    ids = flat_ids(counts, TEXTS[name])
    contexts_TN, nodes_TN = counts.walk(ids)
    predicted = ids < len(counts.vocabulary)
    assert words.times_T.sum() == predicted.sum()
    expected = []
    for contexts, nodes in zip(contexts_TN[predicted], nodes_TN[predicted], strict=True):
        row = []
        for n, (context, node) in enumerate(zip(contexts.tolist(), nodes.tolist(), strict=True), start=1):
            layer = counts.layer(n)
            known = layer.low <= context < layer.high
            total = counts.total(n)[context - layer.low] - 1 if known else 0
            r = int(counts.frequencies[node]) if node else 0
            followers = counts.followers(n)[context - layer.low] - (r == 1) if known else 0
            row += [total, followers, (r - 1) / total if total else 1 / len(counts.vocabulary)]
        expected.append(row)
    found = np.stack((words.contexts.total, words.contexts.followers, words.probs_TN), axis=2).reshape(-1, 9)
    found = np.repeat(found, words.times_T.astype(int), axis=0)
    order = np.lexsort(found.T), np.lexsort(np.array(expected).reshape(-1, 9).T)
    assert np.allclose(found[order[0]], np.array(expected).reshape(-1, 9)[order[1]])


def test_words_of_a_held_out_text_have_the_columns_of_the_block() -> None:
    counts, held_out = counts_of(TEXT, order=3), ["a b a c nobody", "c c"]
    SHOWN.clear()
    made = estimate(Keeps(), counts, held_out=flat_ids(counts, held_out))
    (words,) = SHOWN
    rows = modlm.blocks.NgramBlock(made).rows(flat_ids(counts, held_out))
    predicted = flat_ids(counts, held_out) < len(counts.vocabulary)
    assert np.allclose(words.probs_TN, rows.probs_TK[predicted])
    assert made.smoother == Keeps(share=float(words.probs_TN.mean()))
    features_TF = rows.features_TF[predicted]
    assert np.allclose(np.log(np.maximum(words.contexts.total, 1)), features_TF[:, 1::3])


def test_what_was_learned_is_kept(tmp_path: Path) -> None:
    model = NgramLM.fit(TEXT, order=3, smoothing="keeps:word=mine", held_out=["a b", "b a"])
    mixture = model.as_mixture()
    model.save(tmp_path / "model")
    mixture.save(tmp_path / "mixture")
    assert model.settings is not None and model.settings.parameters["word"] == "mine"
    assert model.settings.parameters["share"] != Keeps().share
    for name in ("model", "mixture"):
        loaded = modlm.load(tmp_path / name)
        assert loaded.next_distribution("a") == pytest.approx(model.next_distribution("a"), rel=1e-6)
    again = modlm.load(tmp_path / "model")
    assert isinstance(again, NgramLM) and again.settings == model.settings
    assert again.as_mixture().next_distribution("a") == pytest.approx(mixture.next_distribution("a"))


@dataclass(frozen=True)
class Continuing(Keeps):
    """The same over continuation counts."""

    continuation: ClassVar[bool] = True


def test_continuation_counts_need_a_held_out_text() -> None:
    counts = counts_of(TEXT)
    with pytest.raises(ConfigError, match="held-out text to learn from"):
        estimate(Continuing(), counts)
    estimate(Continuing(), counts, held_out=flat_ids(counts, ["a b"]))
