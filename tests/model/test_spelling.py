"""Spellings: a proper distribution over strings, added to unknown words wherever real words are scored."""

from __future__ import annotations

import itertools
import logging
import pickle
from pathlib import Path

import numpy as np
import pytest

import modlm
from modlm.compat import kenlm
from modlm.errors import ConfigError, ModelFolderError
from modlm.model.interpolation import interpolate
from modlm.model.ngram.arpa import save_arpa
from modlm.model.spelling import BYTES, Spelling
from modlm.text.corpus import Corpus
from modlm.text.encoding import encode_bytes
from modlm.text.vocabulary import Vocabulary

WORDS = ["cat", "cats", "dog", "dogs", "häuser", "mat", "rug", "saw"]
TEXT = ["the cat sat on the mat", "the dog sat on the rug", "a cat saw the dog"]


@pytest.fixture(scope="module")
def spelling() -> Spelling:
    return Spelling.fit(WORDS)


def log_prob_of(spelling: Spelling, word: str) -> float:
    """log P of one spelling."""
    return float(spelling.log_probs(encode_bytes(f"{word}\n".encode(), Vocabulary.from_words(()))).sum())


def test_strings_up_to_a_length_and_what_is_longer_add_up_to_one(spelling: Spelling) -> None:
    """P(all strings of two bytes at most) + P(the first two are no ends) = 1, over all 256 bytes."""
    model = spelling.model
    ended, going = 0.0, {model.start(1).tobytes(): (model.start(1), 1.0)}
    for _ in range(3):
        after: dict[bytes, tuple[np.ndarray, float]] = {}
        for state, mass in going.values():
            row = model.distributions(state)[0].astype(np.float64)
            assert len(row) == 257 and row.sum() == pytest.approx(1, abs=1e-5)
            ended += mass * row[1]
            for byte in range(256):
                word = np.array([0 if byte == 0 else byte + 1], np.uint32)
                moved, log_prob = model.advance(state, word)
                key, more = moved.tobytes(), mass * np.exp(log_prob[0])
                after[key] = (moved, after.get(key, (moved, 0.0))[1] + more)
        going = after
    assert ended + sum(mass for _, mass in going.values()) == pytest.approx(1, abs=1e-4)
    assert 0 < ended < 1


def test_the_score_of_a_spelling_is_that_of_its_bytes_and_its_end(spelling: Spelling) -> None:
    state, total = spelling.model.start(1), 0.0
    for word in [*(byte + 1 for byte in "hät".encode()), 1]:
        state, log_prob = spelling.model.advance(state, np.array([word], np.uint32))
        total += float(log_prob[0])
    assert log_prob_of(spelling, "hät") == pytest.approx(total, rel=1e-6)


def test_words_that_look_like_words_cost_less(spelling: Spelling) -> None:
    assert log_prob_of(spelling, "cat") > log_prob_of(spelling, "mats") > log_prob_of(spelling, "xqzv")


def test_every_way_to_score_a_text_adds_the_spelling() -> None:
    plain, spelled = modlm.NgramLM.fit(TEXT, order=2), modlm.NgramLM.fit(TEXT, order=2, spelling=True)
    sentence = "the zebra saw <unk> xq"
    assert spelled.spelling is not None
    cost = log_prob_of(spelled.spelling, "zebra") + log_prob_of(spelled.spelling, "xq")
    expected = plain.score(sentence) + cost
    assert spelled.score(sentence) == pytest.approx(expected)
    assert spelled.score(sentence.split()) == pytest.approx(expected)
    assert spelled.score_batch([sentence, "the cat"]) == pytest.approx([expected, plain.score("the cat")])
    assert spelled.perplexity([sentence]).log_likelihood == pytest.approx(expected)
    assert spelled.score_batch([sentence], details=True).log_prob == pytest.approx([expected])
    assert next(spelled.score_documents([sentence]))["unknown"] == 3
    assert spelled.score("the cat sat") == pytest.approx(plain.score("the cat sat")), "known words cost what they did"
    for again in (pickle.loads(pickle.dumps(spelled)), spelled.resident(), spelled.pruned(1e-9)):
        assert again.spelling is not None


def test_a_mixture_may_have_one_too() -> None:
    mixture = modlm.NgramLM.fit(TEXT, order=2).as_mixture()
    before = mixture.score("the zebra")
    mixture.spelling = Spelling.fit(WORDS)
    assert mixture.score("the zebra") == pytest.approx(before + log_prob_of(mixture.spelling, "zebra"))


def test_words_that_the_vocabulary_leaves_out_teach_spelling_too() -> None:
    names = [f"zyx{a}{b}" for a, b in itertools.product("abcdef", repeat=2)]
    text = [*TEXT * 20, *names]
    cut = modlm.NgramLM.fit(text, order=2, max_words=8, spelling=True).spelling
    never = modlm.NgramLM.fit(TEXT * 20, order=2, spelling=True).spelling
    assert cut is not None and never is not None
    assert log_prob_of(cut, "zyxfg") > log_prob_of(never, "zyxfg") + 10


def test_saved_and_loaded(tmp_path: Path) -> None:
    model = modlm.NgramLM.fit(TEXT, order=2, spelling=True)
    model.save(tmp_path / "m")
    again = modlm.load(tmp_path / "m")
    assert again.score("the zebra") == model.score("the zebra")
    again.save(tmp_path / "again")
    assert modlm.load(tmp_path / "again", verify="full").score("the zebra") == model.score("the zebra")
    (tmp_path / "m" / "spelling" / "vocabulary.txt").write_text("<unk>\n</s>\nx\n")
    with pytest.raises(ModelFolderError):
        modlm.load(tmp_path / "m")


def test_tokens_have_no_spelling(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus.from_text(TEXT)
    monkeypatch.setattr(type(corpus.vocabulary), "units", "tokens")
    with pytest.raises(ConfigError, match="tokens"):
        modlm.NgramLM.fit(corpus, order=2, spelling=True)


def test_much_that_is_unknown_is_warned_of_unless_it_is_spelled(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "modlm")
    plain, spelled = modlm.NgramLM.fit(TEXT, order=2), modlm.NgramLM.fit(TEXT, order=2, spelling=True)
    caplog.clear()
    list(plain.score_documents(["the cat sat on the mat", "a b c the"]))  # 2 of 10: `a` is known
    spelled.perplexity(["x y z"])
    assert not caplog.records
    list(plain.score_documents(["x y z the"]))
    plain.perplexity(["x y z"])
    assert len(caplog.records) == 2 and "spelling=True" in caplog.text
    caplog.clear()
    known = ["the cat sat on the mat"] * 38
    list(plain.score_documents([*known, "x y the", "x y z"]))  # 1 in 20 documents is not more
    assert not caplog.records
    list(plain.score_documents([*known, "x y the", "x y z", "x"]))
    assert "Most words of 3 of 41 documents are unknown" in caplog.text and "spelling=True" in caplog.text
    assert len(BYTES) == 257


def test_mixing_keeps_a_spelling_model_and_says_whose(tmp_path: Path) -> None:
    plain, spelled = modlm.NgramLM.fit(TEXT, order=2), modlm.NgramLM.fit(TEXT, order=2, spelling=True)
    assert spelled.spelling is not None
    assert spelled.as_mixture().score("the zebra") == pytest.approx(spelled.score("the zebra"))
    result = interpolate({"a": plain, "b": spelled}, TEXT)
    assert result.speller == "b" and interpolate({"a": plain}, TEXT).speller == ""
    result.mixture.save(tmp_path / "m")
    unspelled = interpolate({"a": plain}, TEXT).mixture.score("the zebra")
    assert modlm.load(tmp_path / "m").score("the zebra") == pytest.approx(
        unspelled + log_prob_of(spelled.spelling, "zebra"), rel=1e-6
    )


def test_where_spelling_is_lost_a_warning_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    spelled = modlm.NgramLM.fit(TEXT, order=2, spelling=True)
    spelled.save(tmp_path / "m")
    with caplog.at_level(logging.WARNING, "modlm"):
        save_arpa(spelled, tmp_path / "m.arpa")
        assert "ARPA files hold no spelling model" in caplog.text
        kenlm.Model(str(tmp_path / "m"))
        assert "not used here" in caplog.text
        caplog.clear()
        kenlm.Model(str(tmp_path / "m.arpa"))
    assert not caplog.records
