"""The cache over a net's hidden vectors: the formula, proper columns, learning after scoring, one text in pieces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import modlm
from modlm.blocks.block import Beside, one_each
from modlm.errors import ConfigError
from modlm.evaluation.certificate import certify
from modlm.evaluation.subjects import subject_of
from modlm.mixers import StaticMixer
from modlm.model.mixture import Mixture
from modlm.nets.hidden_cache import THETAS, HiddenCacheBlock
from nets.small_mixtures import SENTENCES, ids_of, mixture_of
from small_texts import model_of

NETS: dict[str, dict[str, Any]] = {
    "lstm": {},
    "hybrid": {"order": 3},
    "across lines": {"context": "document"},
    "feedforward": {"body": "feedforward", "words": 2},
    "attention over the text": {"body": "transformer", "hidden": 8},
}


def block_of(name: str = "lstm", words: int = 70) -> HiddenCacheBlock:
    return HiddenCacheBlock(mixture_of(**{"order": 0, "inputs": ("word",), **NETS[name]}), words=words)


def test_the_columns_are_the_formula() -> None:
    block = block_of(words=5)
    ids = ids_of(block.model, ["a b c", "a b", "c a b c"])
    places = np.flatnonzero(ids != block.vocabulary.start)
    vectors, memory_1 = [], one_each(None, 1)
    for place in range(len(ids)):
        if place in places:
            states = (memory_1[0] or block.nothing).states
            vectors.append(block.net.hidden_after(*block.model.asked(states))[0][0].astype(np.float64))
        memory_1 = block.remember(memory_1, ids[place : place + 1])
    rows = block.rows(ids)
    for number, place in enumerate(places.tolist()):
        known = range(max(0, number - 5), number)
        for column, theta in enumerate(THETAS, start=1):
            powers = {i: np.exp(theta * vectors[number] @ vectors[i]) for i in known}
            same = sum(powers[i] for i in known if ids[places[i]] == ids[place])
            expected = same / sum(powers.values()) if powers else 1 / len(block.vocabulary)
            assert rows.probs_TK[place, column] == pytest.approx(expected, rel=1e-4)
    assert rows.probs_TK[places, 0] == pytest.approx(np.exp(block.model.log_probs(ids)[places]), rel=1e-6)


@pytest.mark.parametrize("name", NETS)
def test_words_are_scored_before_they_are_kept_and_every_way_of_reading_agrees(name: str) -> None:
    block = block_of(name)
    ids = ids_of(block.model, SENTENCES * 4)
    starts = ids == block.vocabulary.start
    rows, memory_1 = block.rows(ids), one_each(None, 1)
    assert (rows.probs_TK[starts] == 1).all() and (rows.features_TF[starts] == 0).all()
    for place, word in enumerate(ids.tolist()):
        columns_1JK, features_1F = block.after(np.zeros((1, 0), np.uint32), Beside(memory=memory_1))
        assert columns_1JK.sum(axis=1) == pytest.approx(1, abs=1e-6) and (columns_1JK >= 0).all()
        if not starts[place]:
            assert columns_1JK[0, word] == pytest.approx(rows.probs_TK[place], rel=1e-4)
            assert features_1F[0] == pytest.approx(rows.features_TF[place], abs=1e-4)
        memory_1 = block.remember(memory_1, ids[place : place + 1])
    cut = int(np.flatnonzero(starts)[9])
    first = block.rows(ids[:cut])
    second = block.rows(ids[cut:], Beside(memory=first.memory))
    assert np.concatenate((first.probs_TK, second.probs_TK)) == pytest.approx(rows.probs_TK, rel=1e-4)
    changed = ids.copy()
    changed[cut + 1 :][~starts[cut + 1 :]] = 0
    assert block.rows(changed).probs_TK[:cut] == pytest.approx(rows.probs_TK[:cut], rel=1e-4)


def test_what_is_kept_is_bounded_and_branches_share_it() -> None:
    block = block_of(words=100)
    memory = block.rows(ids_of(block.model, SENTENCES * 9)).memory
    for word in [3, 4] * 300:
        (memory,) = block.remember(one_each(memory, 1), np.array([word], np.uint32))
    assert 100 <= sum(len(words) for words, _ in memory.pieces) <= 200
    one, other = block.remember(one_each(memory, 2), np.array([3, 4], np.uint32))
    assert one.pieces[0][1] is other.pieces[0][1]
    assert [pieces[-1][0][-1] for pieces in (one.pieces, other.pieces)] == [3, 4]


@pytest.mark.parametrize("name", ["lstm", "hybrid", "across lines"])
def test_a_mixture_with_it_is_certified_and_comes_back_from_its_folder(name: str, tmp_path: Path) -> None:
    block = block_of(name)
    lm = Mixture(block.vocabulary, {"net": block}, StaticMixer(np.array([0.4, 0.1, 0.2, 0.3])))
    assert lm.column_names == ("net", *(f"net/hidden cache {theta}" for theta in THETAS))
    text = SENTENCES * 3
    certificate = certify(subject_of(lm, name="cache"), text, positions=20, seed=1)
    assert certificate.holds, certificate
    before = lm.score("a b c")
    lm.observe("a b c\na b c")
    assert lm.score("a b c") > before
    lm.forget()
    lm.save(tmp_path / "kept")
    assert float(modlm.load(tmp_path / "kept").perplexity(text)) == pytest.approx(float(lm.perplexity(text)))


def test_only_nets_have_one() -> None:
    with pytest.raises(ConfigError, match="weights come from a net"):
        HiddenCacheBlock(model_of(["a b"], order=2).as_mixture())
    with pytest.raises(ConfigError, match="at least 1 word"):
        block_of(words=0)
