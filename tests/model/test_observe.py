"""`observe`, `forget` and `session`: what a model with columns that learn has read before it is asked."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import modlm
from modlm.blocks.block import Beside
from modlm.blocks.cache import CacheBlock
from modlm.blocks.model import ModelBlock
from modlm.blocks.online import OnlineBlock
from modlm.errors import ConfigError, InputError
from modlm.mixers import StaticMixer
from modlm.model.interpolation import interpolate
from modlm.model.mixture import Mixture
from modlm.text.corpus import Corpus
from small_texts import TEXTS, model_of

TEXT = TEXTS["random sentences"]


@pytest.fixture
def lm() -> Mixture:
    ngram = model_of(TEXT, order=2)
    blocks = {
        "model": ModelBlock(ngram, ngram.vocabulary), "online": OnlineBlock(ngram.vocabulary, order=2),
        "cache": CacheBlock(ngram.vocabulary, words=20),
    }  # fmt: skip
    return Mixture(ngram.vocabulary, blocks, StaticMixer(np.array([0.5, 0.1, 0.3, 0.1])))


def test_what_was_observed_counts_until_it_is_forgotten(lm: Mixture, tmp_path: Path) -> None:
    before = lm.score("a d"), float(lm.perplexity(["a d", "d a"]))
    assert lm.observe("a d a d\na d") == 6
    after = lm.score("a d")
    assert after > before[0] and lm.score("a d") == after  # scoring does not learn
    assert float(lm.perplexity(["a d", "d a"])) < before[1]
    assert lm.next_words("a", k=1)[0].word == "d"
    explained = lm.explain("a d")
    assert np.log([word.probability for word in explained]).sum() == pytest.approx(after)
    assert lm.score_batch(["a d", "a d"]).tolist() == pytest.approx([after, after])
    states, log_prob = lm.advance(lm.start(), lm.vocabulary.encode("a"))
    assert lm.distributions(states)[0].sum() == pytest.approx(1)
    assert log_prob[0] == pytest.approx(np.log(explained[0].probability))
    lm.save(tmp_path / "kept")
    lm.forget()
    assert lm.score("a d") == before[0] == modlm.load(tmp_path / "kept").score("a d")


def test_texts_come_as_strings_paths_sentences_and_corpora(lm: Mixture, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("a d a\nb d\n", encoding="utf-8")
    given = ("a d a\nb d\n", path, ["a d a", "b d"], Corpus.from_text(path, lm.vocabulary))
    found = []
    for text in given:
        assert lm.observe(text) == 5
        found.append(lm.score("a d b"))
        lm.forget()
    assert found == [found[0]] * 4
    for sentence in ("a d a", "b d"):  # bit by bit is the same
        lm.observe(sentence)
    assert lm.score("a d b") == pytest.approx(found[0])
    with pytest.raises(InputError, match="Path"):
        lm.observe(str(path))


def test_sessions_are_apart(lm: Mixture) -> None:
    plain = lm.score("a d")
    one, other = lm.session(), lm.session()
    one.observe("a d a d")
    third = one.session()
    third.observe("b b b b")
    assert lm.score("a d") == other.score("a d") == plain
    assert one.score("a d") > plain and one.score("b b") < third.score("b b")
    assert one.blocks["online"] is lm.blocks["online"]


def test_a_text_reads_as_if_it_followed_what_was_observed(lm: Mixture) -> None:
    ids = np.concatenate([lm.sentence_ids(line) for line in ("a d a d", "d d", "a b c", "a d")])
    whole = lm.log_probs(ids)
    lm.observe(["a d a d", "d d"])
    assert np.allclose(lm.log_probs(ids[10:]), whole[10:])
    assert np.allclose(lm.log_probs(ids[10:], Beside(memory=lm.observed)), whole[10:])


def test_a_model_that_learns_nothing_says_so_and_what_to_do() -> None:
    for model in (model_of(TEXT, order=2), model_of(TEXT, order=2).as_mixture()):
        for ask in (lambda own: own.observe("a"), lambda own: own.forget(), lambda own: own.session()):
            with pytest.raises(ConfigError, match="--online"):
                ask(model)


def test_a_mixture_inside_a_mixture_learns_too(lm: Mixture) -> None:
    outer = Mixture(lm.vocabulary, {"inner": ModelBlock(lm, lm.vocabulary)}, StaticMixer(np.ones(1)))
    outer.observe("a d a d")
    lm.observe("a d a d")
    assert outer.score("a d") == pytest.approx(lm.score("a d"))


@pytest.mark.parametrize("mixer", ["static", "gli"])
def test_weights_are_learned_along_the_text(mixer: str) -> None:
    """A text that repeats itself: the online columns take over, and with features where they know the context."""
    ngram = model_of(TEXT, order=2)
    lines = ["d b a c", "c c a", "d b a c", "a b"] * 30
    found = interpolate({"kn": ngram}, lines, mixer=mixer, columns={"online": partial(OnlineBlock, order=3)})
    assert sum(weight for name, weight in found.weights.items() if name != "kn") > 0.5
    assert float(found.mixture.perplexity(lines)) == pytest.approx(found.history[-1])
    assert found.history[-1] < float(ngram.perplexity(lines)) / 2


def test_from_python_and_from_a_table(tmp_path: Path) -> None:
    for name in ("train", "valid"):
        (tmp_path / f"{name}.txt").write_text("\n".join(TEXT * 3) + "\n", encoding="utf-8")
    columns = {"ngram": modlm.Ngram(order=2), "online": modlm.Online(order=2, words=100), "cache": modlm.Cache(words=9)}
    lm = modlm.train(tmp_path / "train.txt", tmp_path / "valid.txt", columns=columns, mixer="gli")
    assert lm.reads.learns and lm.blocks["online"].settings["words"] == 100
    before = lm.score("d d d")
    lm.observe("d d d d d d")
    assert lm.score("d d d") != before
    lm.forget()
    assert lm.score("d d d") == before
    with pytest.raises(ConfigError, match=r"columns\.online\.settings"):
        columns["online"] = modlm.Online(orders=3)
        modlm.train(tmp_path / "train.txt", tmp_path / "valid.txt", columns=columns, mixer="gli")
