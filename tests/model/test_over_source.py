"""Mixtures with columns over a source: p = D times lambda sums to one whatever the source, and all ways to it agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import modlm
from modlm.blocks import DeltaBlock, NgramBlock, UniformBlock
from modlm.blocks.block import ALONE, Beside, Block, ColumnLayout, Reads
from modlm.blocks.copy import CopyBlock
from modlm.blocks.lexicon import LexiconBlock
from modlm.counts.counting import count_text
from modlm.counts.translation import align
from modlm.errors import ConfigError
from modlm.ground.arrays import Floats, Ids
from modlm.mixers import HeuristicMixer, StaticMixer
from modlm.mixers.mixer import Mixer, State
from modlm.model import mixture as mixture_module
from modlm.model.folder import load
from modlm.model.interpolation import rows_of
from modlm.model.mixture import Mixture
from modlm.smoothing import estimate
from modlm.smoothing.witten_bell import WittenBell
from modlm.store.folder import Parts
from modlm.text.parallel import Parallel

PAIRS = Parallel.read(["le chat 7", "le chien", "un chat", ""], ["the cat 7", "the dog", "a cat", "well"])
TABLE = align(PAIRS).table
VOCABULARY = TABLE.target
SOURCES = {0: "", 1: "chat", 4: "le chat nobody 7", 200: "le chat " * 100, 1000: "le chat un 7 chien " * 200}
IDS = PAIRS.target.ids


class Attentive(Mixer):
    """Weights by the features of columns over the source and by the word before: all that a net can look at."""

    kind = "attentive"
    reads = Reads(words=1, source=True)

    def __init__(self, layout: ColumnLayout) -> None:
        self.columns, self.deltas, self.over_source = len(layout), layout.deltas, len(layout.over_source)

    def log_weights(
        self, contexts_BW: Ids, features_BF: Floats, state_BS: State, beside: Beside = ALONE
    ) -> tuple[Floats, State]:
        count, longest = len(contexts_BW), beside.longest
        scores_BX = np.full((count, self.columns + self.over_source * longest), 0.1)
        scores_BX[:, 0] = contexts_BW[:, -1] + 1
        dense = self.columns - self.deltas
        for row, features_SF in enumerate(beside.features):
            for block in range(self.over_source):
                at = dense + block * longest
                scores_BX[row, at : at + longest] = 0.0
                scores_BX[row, at : at + len(features_SF)] = 1 + features_SF[:, block] + np.arange(len(features_SF)) % 3
        with np.errstate(divide="ignore"):
            return np.log(scores_BX / scores_BX.sum(axis=1, keepdims=True)), state_BS

    def parts(self) -> Parts:
        return Parts()

    @classmethod
    def from_parts(cls, stored: object, layout: ColumnLayout) -> Attentive:
        return cls(layout)


def blocks(*, deltas: bool) -> dict[str, Block]:
    dense: dict[str, Block] = {
        "lexicon": LexiconBlock(TABLE),
        "ngram": NgramBlock(estimate(WittenBell(), count_text(PAIRS.target, order=2))),
        "copy": CopyBlock(TABLE.source, VOCABULARY),
        "uniform": UniformBlock(VOCABULARY),
    }
    return {**dense, "delta": DeltaBlock(VOCABULARY)} if deltas else dense


def mixtures() -> dict[str, Mixture]:
    plain, whole = blocks(deltas=False), blocks(deltas=True)
    layouts = [ColumnLayout(plain), ColumnLayout(whole)]
    return {
        "static": Mixture(VOCABULARY, plain, StaticMixer(np.array([0.1, 0.2, 0.2, 0.3, 0.2]), layouts[0])),
        "attentive": Mixture(VOCABULARY, plain, Attentive(layouts[0])),
        "attentive with deltas": Mixture(VOCABULARY, whole, Attentive(layouts[1])),
    }


MIXTURES = mixtures()
EVERY = pytest.mark.parametrize("name", MIXTURES)


@EVERY
@pytest.mark.parametrize("size", SOURCES)
def test_p_sums_to_one_for_every_context_whatever_the_source(name: str, size: int) -> None:
    mixture = MIXTURES[name]
    beside = mixture.beside([SOURCES[size]])
    assert len(beside.sources[0]) == size
    for context in ("", "the", "the cat cat"):
        window_1C = mixture.window(context)
        whole_J = mixture.distributions(mixture.state_after(window_1C, beside))[0]
        assert whole_J.sum() == pytest.approx(1.0, abs=1e-12) and (whole_J >= 0).all()
        columns_JK, weights_K = mixture.columns_after(window_1C, beside)
        assert np.allclose(columns_JK.sum(axis=0)[weights_K > 0], 1, atol=1e-9)
        assert np.allclose(columns_JK @ weights_K, whole_J, atol=1e-12)
        names, probs_JK, shares_JK = mixture.shares_after(
            window_1C, np.arange(len(VOCABULARY), dtype=np.uint32), beside
        )
        assert len(names) == probs_JK.shape[1] == len(set(names))
        assert np.allclose((probs_JK * shares_JK).sum(axis=1), whole_J, atol=1e-12)


@EVERY
def test_along_a_text_and_step_by_step_are_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mixture = MIXTURES[name]
    ids = np.concatenate([IDS, IDS[: PAIRS.target.starts[1]]])
    beside = mixture.beside(list(SOURCES.values()))
    whole = mixture.log_probs(ids, beside)
    starts = [*PAIRS.target.starts.tolist(), len(ids)]
    for n, source in enumerate(beside.sources):
        sentence = ids[starts[n] : starts[n + 1]]
        states, found = mixture.start(1, Beside([source])), []
        for word in sentence[1:]:
            states, log_prob = mixture.advance(states, np.array([word], np.uint32))
            found.append(log_prob[0])
        assert np.allclose(found, whole[starts[n] + 1 : starts[n + 1]], atol=1e-12)
        _, probs_TK, weights_TK = mixture.shares_along(sentence, Beside([source]))
        assert np.allclose(np.log((probs_TK * weights_TK).sum(axis=1)), found, atol=1e-12)
    monkeypatch.setattr(mixture_module, "CHUNK", 3)
    assert np.allclose(mixture.log_probs(ids, beside), whole, atol=1e-12)


@EVERY
def test_states_with_different_sources_stand_side_by_side(name: str) -> None:
    mixture = MIXTURES[name]
    beside = mixture.beside(list(SOURCES.values()))
    together_BJ = mixture.distributions(mixture.start(len(SOURCES), beside))
    alone_BJ = [mixture.distributions(mixture.start(1, Beside([source])))[0] for source in beside.sources]
    assert np.allclose(together_BJ, alone_BJ, atol=1e-12)


def test_what_explains_a_word_names_the_source_word_it_came_from() -> None:
    told = MIXTURES["static"].given("le chat 7").explain("the 7")
    assert {"lexicon[1] le", "lexicon[2] chat", "lexicon[3] 7", "copy[3] 7", "1-gram", "uniform"} <= set(told[0].shares)
    assert told[0].shares["lexicon[1] le"] > 0.1 > told[0].shares["lexicon[3] 7"]
    assert told[1].shares["copy[3] 7"] > 0.2 and told[1].shares["copy[2] chat"] == 0
    assert all(sum(one.shares.values()) == pytest.approx(1) for one in told)


def test_beside_one_source_it_is_a_language_model_like_any_other() -> None:
    mixture = MIXTURES["attentive with deltas"]
    given = mixture.given("le chien")
    beside = mixture.beside(["le chien"] * len(PAIRS))
    assert given.perplexity(PAIRS.target).log_likelihood == pytest.approx(mixture.log_probs(IDS, beside).sum())
    assert len(given.next_words("the", k=3)) == 3
    assert mixture.source is None


def test_a_source_may_be_empty_if_it_is_given() -> None:
    mixture = MIXTURES["static"]
    beside = mixture.beside([""] * len(PAIRS))
    assert np.array_equal(mixture.given("").log_probs(IDS), mixture.log_probs(IDS, beside))


@EVERY
def test_asked_without_a_source_it_refuses_however_it_is_asked(name: str) -> None:
    mixture = MIXTURES[name]
    window = np.array([[mixture.vocabulary.start]], np.uint32)
    for ask in (
        lambda: mixture.log_probs(IDS), lambda: mixture.score("the cat"), lambda: mixture.score_batch(["the cat"]),
        lambda: mixture.perplexity(["the cat"]), lambda: mixture.next_words("the"), lambda: mixture.explain("the"),
        lambda: list(mixture.generate()), lambda: mixture.start(), lambda: mixture.state_after(window),
        lambda: mixture.sentence_log_probs(IDS), lambda: modlm.certify(mixture, ["the cat"]),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match="none was given"):
            ask()


def test_a_saved_mixture_comes_back_with_its_source_words(tmp_path: Path) -> None:
    mixture = MIXTURES["static"]
    mixture.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert isinstance(again, Mixture) and again.source_vocabulary == TABLE.source
    beside = again.beside(["le chat", "", "7", "chien"])
    assert np.array_equal(again.log_probs(IDS, beside), mixture.log_probs(IDS, beside))
    assert again.described()["weights"].keys() >= {"lexicon", "copy", "uniform"}


def test_mixers_that_cannot_weigh_columns_over_a_source_are_refused() -> None:
    own = blocks(deltas=False)
    layout = ColumnLayout(own)
    with pytest.raises(ConfigError, match=r"columns over source words of 0 blocks, but there are 2 \(lexicon, copy\)"):
        Mixture(VOCABULARY, own, StaticMixer(np.full(len(layout), 1 / len(layout))))
    with pytest.raises(ConfigError, match="static weights, or a net"):
        Mixture(VOCABULARY, own, HeuristicMixer(layout, WittenBell()))
    with pytest.raises(ConfigError, match="besides those over a source"):
        Mixture(
            VOCABULARY, {"lexicon": own["lexicon"]}, StaticMixer(np.ones(1), ColumnLayout({"lexicon": own["lexicon"]}))
        )
    with pytest.raises(ConfigError, match="reads no source"):
        Mixture(VOCABULARY, {"uniform": own["uniform"]}, StaticMixer(np.ones(1))).beside(["le chat"])


def test_static_weights_are_spread_evenly_over_the_words_of_a_source() -> None:
    mixture = MIXTURES["static"]
    names, _, weights_1K = mixture.shares(mixture.window(""), VOCABULARY.encode("cat"), mixture.beside(["le chat"]))
    shown = dict(zip(names, weights_1K[0].tolist(), strict=True))
    assert shown["lexicon[1] le"] == shown["lexicon[2] chat"] == pytest.approx(0.15)
    assert shown["copy[2] chat"] == pytest.approx(0.1) and shown["uniform"] == pytest.approx(0.2)
    names, _, weights_1K = mixture.shares(mixture.window(""), VOCABULARY.encode("cat"), mixture.beside([""]))
    assert dict(zip(names, weights_1K[0].tolist(), strict=True))["uniform"] == pytest.approx(0.2 / 0.5)


def test_static_weights_are_fitted_to_the_means_over_each_source() -> None:
    own = {name: block for name, block in blocks(deltas=False).items() if name in ("lexicon", "uniform")}
    layout, first, sources = ColumnLayout(own), PAIRS.target[:3], PAIRS.sources[:3]
    equal = Mixture(VOCABULARY, own, StaticMixer(np.full(2, 0.5), layout))
    rows = rows_of(equal, first, sources)
    assert rows.probs_TK.shape == (len(first.ids) - 3, 2)
    mean = (TABLE.row("le")["the"] + TABLE.row("chat").get("the", 0) + TABLE.row("7").get("the", 0)) / 3
    assert rows.probs_TK[0].tolist() == pytest.approx([1 / len(VOCABULARY), mean])
    fitted = Mixture(VOCABULARY, own, StaticMixer.fitted(layout, own, rows))
    found = [mixture.log_probs(first.ids, Beside(sources)).sum() for mixture in (equal, fitted)]
    assert found[1] > found[0]
