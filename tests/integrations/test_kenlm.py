"""KenLM files as language models and columns, with the real `kenlm` package where it is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from modlm import Corpus, NgramLM, Vocabulary
from modlm.blocks.block import NOTHING
from modlm.errors import InputError, MissingPackageError
from modlm.integrations.kenlm import KenlmModel
from modlm.model.interpolation import interpolate
from modlm.model.ngram.arpa import to_arpa

pytest.importorskip("kenlm", reason="kenlm is not installed (extra: peers)")

RNG = np.random.default_rng(11)
SENTENCES = [" ".join(RNG.choice(list("abcdef"), RNG.integers(1, 9))) for _ in range(80)]


@pytest.fixture(scope="module")
def ours() -> NgramLM:
    return NgramLM.fit(SENTENCES[:60], 3)


@pytest.fixture(scope="module")
def path(ours: NgramLM, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("kenlm") / "lm.arpa"
    to_arpa(ours.compiled, ours.vocabulary, target)
    return target


@pytest.fixture(scope="module")
def theirs(ours: NgramLM, path: Path) -> KenlmModel:
    return KenlmModel(path, ours.vocabulary)


def test_scores_are_ours(ours: NgramLM, theirs: KenlmModel) -> None:
    text = Corpus.from_text([*SENTENCES[60:], "a zork b"], ours.vocabulary)
    assert theirs.log_probs(text.ids) == pytest.approx(ours.log_probs(text.ids), abs=1e-4)


def test_distributions_are_ours_and_sum_to_one(ours: NgramLM, theirs: KenlmModel) -> None:
    for context, start in (("", True), ("a b", True), ("b c", False), ("zork", False)):
        window = ours.window(context, start=start)
        found = theirs.distributions(theirs.state_after(window))[0]
        assert found.sum() == pytest.approx(1, abs=1e-12)
        assert found == pytest.approx(ours.distributions(ours.state_after(window))[0], abs=1e-5)


def test_states_move_as_texts_do(theirs: KenlmModel) -> None:
    sentence = theirs.sentence_ids("a b a c")
    states, total = theirs.start(), 0.0
    for word in sentence[1:]:
        states, log_probs = theirs.advance(states, np.array([word], np.uint32))
        total += float(log_probs[0])
    assert total == pytest.approx(theirs.score("a b a c"))
    again, silent = theirs.advance(states, np.array([theirs.vocabulary.start], np.uint32))
    assert np.array_equal(again, theirs.start()) and silent[0] == 0


@pytest.mark.parametrize("words", [["a", "b"], ["a", "b", "zork", "quux"], ["zork"]])
def test_another_vocabulary_is_proper_too(path: Path, words: list[str]) -> None:
    model = KenlmModel(path, Vocabulary.from_words(words))
    window = model.window("a zork")
    row = model.distributions(model.state_after(window))[0]
    assert row.sum() == pytest.approx(1, abs=1e-12) and row.min() >= 0
    for word in range(len(model.vocabulary)):
        _, log_prob = model.advance(model.state_after(window), np.array([word], np.uint32))
        assert np.exp(log_prob[0]) == pytest.approx(row[word])
    lost = [word for word in range(len(row)) if model.vocabulary.word(word) in ("<unk>", "zork", "quux")]
    assert row[lost] == pytest.approx(np.full(len(lost), row[0]))  # they share alike


def test_it_is_a_column_of_a_mixture(ours: NgramLM, theirs: KenlmModel) -> None:
    small = NgramLM.fit(["a"], 1, vocabulary=ours.vocabulary)
    result = interpolate({"small": small, "kenlm": theirs}, SENTENCES[60:])
    assert result.weights["kenlm"] > 0.5
    row = result.mixture.next_distribution("a b")
    assert row.sum() == pytest.approx(1)
    assert result.mixture.next_words("a b", 2)[0].shares["kenlm"] > 0


def test_an_empty_window_is_the_empty_context(ours: NgramLM, theirs: KenlmModel) -> None:
    empty = np.full((1, 2), NOTHING, np.uint32)
    expected = ours.distributions(ours.state_after(empty))[0]
    assert theirs.distributions(theirs.state_after(empty))[0] == pytest.approx(expected, abs=1e-5)


def test_files_that_kenlm_cannot_read_are_refused(tmp_path: Path, ours: NgramLM) -> None:
    with pytest.raises(InputError, match="no such file"):
        KenlmModel(tmp_path / "none", ours.vocabulary)
    (tmp_path / "bad").write_text("this is no model\n")
    with pytest.raises(InputError, match="KenLM cannot read it"):
        KenlmModel(tmp_path / "bad", ours.vocabulary)


def test_without_the_package_the_extra_is_named(path: Path, ours: NgramLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kenlm", None)
    with pytest.raises(MissingPackageError, match="peers"):
        KenlmModel(path, ours.vocabulary)
