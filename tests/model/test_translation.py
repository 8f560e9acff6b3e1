"""Beam search: against a search of all sentences, against the best word at every step, and where words come from."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.small_pairs import conditional, pairs

from modlm.blocks.block import Beside
from modlm.errors import ConfigError
from modlm.model.mixture import Mixture
from modlm.model.translation import Beam, over_source, search
from modlm.text.vocabulary import END, UNKNOWN


@pytest.fixture(scope="module")
def model() -> Mixture:
    return conditional(seed=3)[0]


def log_prob(model: Mixture, words: list[int], source: str) -> float:
    ids = np.array([model.vocabulary.start, *words, END], np.uint32)
    return float(model.log_probs(ids, model.beside([source])).sum())


def greedy(model: Mixture, source: str, longest: int) -> list[int]:
    states, words = model.start(1, model.beside([source])), list[int]()
    while len(words) < longest:
        word = int(model.distributions(states)[0].argmax())
        if word == END:
            break
        words.append(word)
        states, _ = model.advance(states, np.array([word], np.uint32))
    return words


def test_a_beam_of_one_takes_the_best_word_at_every_step(model: Mixture) -> None:
    sources = [*pairs(20, 5)[0], "", "f1 " * 30]
    found = search(model, model.beside(sources), Beam(width=1, longest=1.0))
    for source, own in zip(sources, found, strict=True):
        assert own[0][0] == greedy(model, source, len(source.split()) + 9)


def test_a_beam_as_wide_as_can_be_finds_the_most_probable_sentence(model: Mixture) -> None:
    words = [word for word in range(len(model.vocabulary)) if word != END]
    every = [list(own) for size in range(3) for own in itertools.product(words, repeat=size)]
    best = max(every, key=lambda own: log_prob(model, own, "f1"))
    beam = Beam(width=400, n_best=400, length_penalty=0.0)
    found = {tuple(own): value for own, value in search(model, model.beside(["f1"]), beam)[0]}
    short = {own: value for own, value in found.items() if len(own) < 3}
    assert max(short, key=short.__getitem__) == tuple(best)


def test_what_comes_out_has_the_probability_that_the_model_gives_it(model: Mixture) -> None:
    sources = pairs(7, 9)[0]
    for source, best in zip(sources, model.translate(sources, n_best=3, unknown="keep"), strict=True):
        assert len(best) == 3 and len({one.words for one in best}) == 3
        assert [one.score for one in best] == sorted((one.score for one in best), reverse=True)
        for one in best:
            ids = [model.vocabulary.id(word) for word in one.words]
            assert one.log_prob == pytest.approx(log_prob(model, ids, source), abs=1e-4)
            assert len(one.places) == len(one.words)
            assert one.score == pytest.approx(one.log_prob / ((5 + len(ids) + 1) / 6))


def test_sentences_are_translated_alone_as_they_are_in_a_batch(model: Mixture) -> None:
    sources = pairs(9, 11)[0]
    together = [str(best[0]) for best in model.translate(sources)]
    assert together == [str(next(model.translate([source]))[0]) for source in sources]


def test_unknown_words_come_from_the_lexicon_or_the_source_itself() -> None:
    model, _ = conditional(seed=3)
    names = [*pairs(9, 2)[0], "Tokyo Kyoto", "Tokyo"]
    kept = [one[0] for one in model.translate(names, width=1, unknown="keep")]
    replaced = [one[0] for one in model.translate(names, width=1)]
    never = [one[0] for one in model.translate(names, width=1, unknown="never")]
    assert any("<unk>" in one.words for one in kept), "the net says <unk> somewhere, or this tests nothing"
    for source, one, other in zip(names, kept, replaced, strict=True):
        known = {*model.vocabulary.words, *source.split()}
        assert "<unk>" not in other.words and set(other.words) <= known
        same = [a == b for a, b in zip(one.words, other.words, strict=True)]
        assert same == [word != "<unk>" for word in one.words]
    assert all("<unk>" not in one.words for one in never)


def test_shares_over_the_source_are_no_more_than_all(model: Mixture) -> None:
    source = model.beside(["f1 f2 8"]).sources[0]
    ids = np.array([model.vocabulary.start, model.vocabulary.id("e1"), model.vocabulary.id("8"), END], np.uint32)
    weights_TS, gave_TS = over_source(model, ids, source)
    assert weights_TS.shape == gave_TS.shape == (3, 3)
    assert (gave_TS.sum(axis=1) <= 1 + 1e-9).all() and (weights_TS.sum(axis=1) < 1).all()
    _, probs_TK, weights_TK = model.shares_along(ids, Beside([source]))
    assert gave_TS.sum(axis=1) == pytest.approx(
        (probs_TK * weights_TK)[:, 1:-1].sum(axis=1) / (probs_TK * weights_TK).sum(axis=1)
    )


def test_a_model_without_columns_over_the_source_translates_too() -> None:
    model, _ = conditional(blocks=False)
    (best,) = model.translate(["f1 f2"], n_best=2)
    assert len(best) == 2 and best[0].places == ()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [({"n_best": 6}, "n_best"), ({"length_penalty": -1.0}, "length_penalty"), ({"unknown": "drop"}, "unknown")],
)
def test_what_cannot_be_asked_for_is_refused(model: Mixture, wrong: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        model.translate(["f1"], **wrong)


def test_no_word_has_the_id_of_the_unknown_one_when_it_may_not_be_said(model: Mixture) -> None:
    found = search(model, model.beside(pairs(6, 4)[0]), Beam(unknown="never"))
    assert all(UNKNOWN not in words for own in found for words, _ in own)
