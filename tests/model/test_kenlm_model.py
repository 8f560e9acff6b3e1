"""KenLM binaries as language models: scores, states, distributions, columns, conversion."""

from __future__ import annotations

import copy
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from tests.kenlm_files import ALL, EXACT, FOLDER, PROBING, SENTENCES, TRIES, WORDLESS, arpa_of, their_model

import modlm
from modlm import Corpus, NgramLM, Vocabulary
from modlm.blocks.block import NOTHING
from modlm.blocks.model import ModelBlock
from modlm.errors import InputError, ModelFolderError, VocabularyError
from modlm.model.interpolation import interpolate
from modlm.model.kenlm import KenlmModel
from modlm.model.ngram.arpa import save_arpa


def opened(name: str) -> KenlmModel:
    model = modlm.load(FOLDER / name)
    assert isinstance(model, KenlmModel)
    return model


@pytest.mark.parametrize("name", ALL)
def test_every_word_has_kenlms_own_probability(name: str) -> None:
    model, theirs = opened(name), their_model(name)
    for sentence in SENTENCES:
        expected = [log10 for log10, _, _ in theirs.full_scores(sentence)]
        found = model.log_probs(model.sentence_ids(sentence))[1:] / math.log(10)
        assert found.tolist() == pytest.approx(expected, abs=1e-12, rel=1e-12)


@pytest.mark.parametrize("name", EXACT)
def test_scores_are_those_of_the_arpa_file(name: str) -> None:
    model, from_arpa = opened(name), modlm.load(arpa_of(name))
    for sentence in SENTENCES:
        assert model.score(sentence) == pytest.approx(from_arpa.score(sentence), abs=1e-5)


@pytest.mark.parametrize("name", ALL)
def test_a_text_is_scored_as_its_sentences_are(name: str) -> None:
    model = opened(name)
    text = [sentence for sentence in SENTENCES * 40 if sentence]  # longer than a stretch that is looked for at once
    assert model.score_batch(text).tolist() == pytest.approx([model.score(sentence) for sentence in text], abs=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_states_move_as_texts_do_and_equal_states_have_equal_futures(name: str) -> None:
    model = opened(name)
    for sentence in SENTENCES[:30]:
        ids = model.sentence_ids(sentence)
        states, along = model.start(), model.log_probs(ids)
        for place, word in enumerate(ids[1:], start=1):
            states, log_probs = model.advance(states, np.array([word], np.uint32))
            assert log_probs[0] == pytest.approx(along[place], abs=1e-12)
        window = ids[None, -model.window_length - 1 : -1] if len(ids) > model.window_length else ids[None, :-1]
        again, log_probs = model.advance(model.state_after(window), ids[-1:])
        assert np.array_equal(again, states) and log_probs[0] == pytest.approx(along[-1], abs=1e-12)
    anew, silent = model.advance(states, np.array([model.vocabulary.start], np.uint32))
    assert np.array_equal(anew, model.start()) and silent[0] == 0
    nothing, _ = model.advance(states, np.array([NOTHING], np.uint32))
    assert np.array_equal(nothing, model.state_after(np.full((1, 1), NOTHING, np.uint32)))


@pytest.mark.parametrize("name", ("o2.probing", "o3.rest", "o5.trie", "o5.trie-a", "o5.probing"))
def test_distributions_are_those_of_words_and_sum_to_one(name: str) -> None:
    model = opened(name)
    for context, start in (("", True), ("nila dafe", True), ("kone nila nila nila", False), ("zork", False)):
        states = model.state_after(model.window(context, start=start))
        row = model.distributions(states)[0]
        assert row.sum() == pytest.approx(1, abs=1e-5)
        words = np.arange(len(row), dtype=np.uint32)
        _, log_probs = model.advance(np.repeat(states, len(words), axis=0), words)
        assert np.exp(log_probs) == pytest.approx(row)
    assert model.next_words("nila", 2)[0].probability == pytest.approx(model.next_distribution("nila").max())


@pytest.mark.parametrize("name", TRIES)
def test_a_trie_converts_to_a_model_and_an_arpa_file_with_its_numbers(name: str, tmp_path: Path) -> None:
    model = opened(name)
    converted = model.as_ngram()
    save_arpa(converted, tmp_path / "again.arpa")
    model.save(tmp_path / "folder")
    for other in (converted, modlm.load(tmp_path / "again.arpa"), modlm.load(tmp_path / "folder")):
        assert isinstance(other, NgramLM) and other.order == model.order
        for sentence in SENTENCES:
            assert other.score(sentence) == pytest.approx(model.score(sentence), abs=1e-5)
    if name in EXACT:  # the same rows, in another order
        save_arpa(modlm.load(arpa_of(name)), tmp_path / "given.arpa")
        given, again = ((tmp_path / file).read_text().split("\n") for file in ("given.arpa", "again.arpa"))
        assert sorted(again) == sorted(given)


@pytest.mark.parametrize("name", PROBING)
def test_hash_tables_cannot_be_listed(name: str, tmp_path: Path) -> None:
    model = opened(name)
    with pytest.raises(InputError, match="hashes in place of n-grams"):
        model.as_ngram()
    model.save(tmp_path / "folder")  # which keeps the file as it is
    again = modlm.load(tmp_path / "folder", verify="full")
    for one in (again, pickle.loads(pickle.dumps(again))):
        assert isinstance(one, KenlmModel) and one.score_batch(SENTENCES) == pytest.approx(model.score_batch(SENTENCES))
    cut = np.load(tmp_path / "folder" / "kenlm.npy")[:-40]
    np.save(tmp_path / "folder" / "kenlm.npy", cut)
    with pytest.raises(ModelFolderError):
        modlm.load(tmp_path / "folder")


@pytest.mark.parametrize("name", WORDLESS)
def test_without_its_words_a_file_scores_but_names_nothing(name: str, tmp_path: Path) -> None:
    model, named = opened(name), opened(name.removesuffix("-v"))
    (tmp_path / "text").write_text("\n".join(SENTENCES) + "\n")
    expected, found = named.perplexity(tmp_path / "text"), model.perplexity(tmp_path / "text")
    assert found.perplexity == pytest.approx(expected.perplexity) and found.unknown == expected.unknown
    assert "nila" in model.vocabulary and "zork" not in model.vocabulary and "<s>" in model.vocabulary
    assert len(model.vocabulary) == len(named.vocabulary)
    assert pickle.loads(pickle.dumps(model.vocabulary)).encode("nila zork").tolist()[1] == 0
    for ask in (lambda: model.next_words("nila"), lambda: [list(model.generate()) for _ in range(99)], model.as_ngram):
        with pytest.raises((VocabularyError, InputError), match=r"without its words|hashes in place"):
            ask()
    (tmp_path / "bad").write_text("a </s> b\n")
    with pytest.raises(InputError, match="line 1"):
        model.perplexity(tmp_path / "bad")


@pytest.mark.parametrize("name", ("o5.probing", "o5.trie-qa", "o5.trie-v", "o5.probing-v"))
def test_it_is_a_column_over_other_words(name: str) -> None:
    other = Vocabulary.from_words(["nila", "dafe", "kone", "quux"])
    block = ModelBlock(opened(name), other)
    text = Corpus.from_text(["nila quux dafe", "kone"], other)
    columns_BJK, _ = block.after(np.array([[other.start, other.id("nila")]], np.uint32))
    assert columns_BJK[0, :, 0].sum() == pytest.approx(1, abs=1e-9)
    _, nila, quux, dafe, *_ = block.rows(text.ids).probs_TK[:, 0].tolist()
    assert columns_BJK[0, other.id("quux"), 0] == pytest.approx(quux) and min(nila, dafe) > 0


@pytest.mark.parametrize("name", ("o5.trie", "o5.probing"))
def test_it_takes_part_in_a_mixture(name: str, tmp_path: Path) -> None:
    theirs = opened(name)
    small = NgramLM.fit(["nila"], 1, vocabulary=theirs.vocabulary)
    result = interpolate({"small": small, "kenlm": theirs}, [sentence for sentence in SENTENCES[:20] if sentence])
    assert result.weights["kenlm"] > 0.5
    assert result.mixture.next_words("nila dafe", 2)[0].shares["kenlm"] > 0
    result.mixture.save(tmp_path / "mixed")
    assert modlm.load(tmp_path / "mixed").score("nila dafe") == pytest.approx(
        result.mixture.score("nila dafe"), abs=1e-5
    )


def test_models_pickle_by_their_path() -> None:
    model = opened("o5.trie-qa")
    assert pickle.loads(pickle.dumps(model)).score("nila dafe") == copy.copy(model).score("nila dafe")
