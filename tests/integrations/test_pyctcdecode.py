"""Our models inside pyctcdecode's own beam search, beside its own class over KenLM."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.integrations.spoken import HEARD, LABELS, MEANT, emissions, word_model

from modlm.errors import ConfigError
from modlm.integrations.pyctcdecode import CtcLanguageModel

MODEL = word_model()
ALPHA, BETA = 0.7, 0.4


@pytest.fixture
def pyctcdecode() -> Iterator[Any]:
    """The package; what it says about small vocabularies is not ours to test."""
    package = pytest.importorskip(
        "pyctcdecode",
        reason="pyctcdecode is not installed; it wants numpy < 2: pip install --no-deps pyctcdecode pygtrie",
    )
    logging.disable(logging.WARNING)
    yield package
    logging.disable(logging.NOTSET)


def decoder_of(pyctcdecode: Any, lm: Any = None) -> Any:
    labels = ["" if label == "-" else " " if label == "|" else label for label in LABELS]
    return pyctcdecode.BeamSearchDecoderCTC(pyctcdecode.Alphabet.build_alphabet(labels), lm)


def test_the_model_corrects_the_word(pyctcdecode: Any) -> None:
    assert decoder_of(pyctcdecode).decode(emissions()) == HEARD
    assert decoder_of(pyctcdecode, CtcLanguageModel(MODEL)).decode(emissions()) == MEANT


@pytest.mark.parametrize("after", ["", " "], ids=["", "trailing space"])
def test_beams_score_logits_plus_weighted_log_probability(pyctcdecode: Any, after: str) -> None:
    lm = CtcLanguageModel(MODEL, alpha=ALPHA, beta=BETA, unk_score_offset=-0.1)
    beams = decoder_of(pyctcdecode, lm).decode_beams(emissions(after=after), prune_history=False)
    texts = {beam[0] for beam in beams}
    assert {HEARD, MEANT} <= texts
    for text, _, _, logit_score, score in beams:
        unknown = sum(word not in MODEL.vocabulary for word in text.split())
        log_prob = MODEL.score(text) + unknown * -0.1 * math.log(10)
        assert score == pytest.approx(logit_score + ALPHA * log_prob + BETA * len(text.split()), abs=1e-9)


def test_scores_are_those_of_its_own_class_over_kenlm(pyctcdecode: Any, tmp_path: Path) -> None:
    kenlm = pytest.importorskip("kenlm", reason="kenlm is not installed")
    from modlm.model.ngram.arpa import to_arpa

    to_arpa(MODEL.compiled, MODEL.vocabulary, tmp_path / "model.arpa")
    words = [word for word in MODEL.vocabulary.words if not word.startswith("<")]
    settings = {"alpha": ALPHA, "beta": BETA, "unk_score_offset": -3.0}
    theirs = pyctcdecode.LanguageModel(kenlm.Model(str(tmp_path / "model.arpa")), words, **settings)
    ours = CtcLanguageModel(MODEL, **settings)
    assert ours.order == theirs.order
    for boundary in (True, False):
        for lm in (theirs, ours):
            lm.reset_params(score_boundary=boundary)
        for sentence in ("the cat sat", "the zebra sat on a rug", "dog dog dog the"):
            state, other = ours.get_start_state(), theirs.get_start_state()
            for place, word in enumerate(sentence.split(), start=1):
                last = place == len(sentence.split())
                score, state = ours.score(state, word, is_last_word=last)
                expected, other = theirs.score(other, word, is_last_word=last)
                assert score == pytest.approx(expected, abs=1e-5)
    for piece in ("th", "the", "zeb", "zebrazebra", "a"):
        assert ours.score_partial_token(piece) == pytest.approx(theirs.score_partial_token(piece))


def test_hybrids_decode_too(pyctcdecode: Any) -> None:
    pytest.importorskip("torch")
    from nets.small_mixtures import mixture_of

    model = mixture_of(["the cat sat on the mat", "the cat saw a bat", "a cat"] * 3)
    lm = CtcLanguageModel(model, alpha=ALPHA, beta=BETA)
    beams = decoder_of(pyctcdecode, lm).decode_beams(emissions())
    text, _, _, logit_score, score = beams[0]
    assert score == pytest.approx(logit_score + ALPHA * model.score(text) + BETA * 3, abs=1e-4)


def test_decoding_goes_on_from_a_state(pyctcdecode: Any) -> None:
    decoder = decoder_of(pyctcdecode, CtcLanguageModel(MODEL))
    first = decoder.decode_beams(emissions("the ", "the "))[0]
    decoder.decode_beams(emissions("bat", "cat"), lm_start_state=first[1])


# ---- without the package -------------------------------------------------------------------------------------------


def test_an_empty_last_word_is_the_end_alone() -> None:
    lm = CtcLanguageModel(MODEL, alpha=ALPHA, beta=BETA)
    state = lm.get_start_state()
    total = 0.0
    for word in ("the", "cat"):
        score, state = lm.score(state, word)
        total += score
    end, _ = lm.score(state, "", is_last_word=True)
    assert total + end == pytest.approx(ALPHA * MODEL.score("the cat") + 2 * BETA)


def test_only_given_words_are_known() -> None:
    lm = CtcLanguageModel(MODEL, ["the", "cat", "zebra"], alpha=1.0, beta=0.0, unk_score_offset=-2.0)
    start = lm.get_start_state()
    log_unknown = np.log(MODEL.next_distribution()[0])
    for word in ("dog", "zebra", "</s>", "<s>"):  # not given, not in the model, no words
        assert lm.score(start, word)[0] == pytest.approx(log_unknown - 2 * math.log(10))
    assert [lm.score_partial_token(piece) for piece in ("th", "ca", "do", "zebrazebraze")] == [0, 0, -2, -4]


def test_settings_can_be_changed_and_others_are_refused() -> None:
    lm = CtcLanguageModel(MODEL)
    lm.reset_params(alpha=2, beta=None)
    assert (lm.alpha, lm.beta) == (2.0, 1.5)
    with pytest.raises(ConfigError, match="no setting 'gamma'"):
        lm.reset_params(gamma=1.0)


def test_saved_and_loaded(tmp_path: Path) -> None:
    lm = CtcLanguageModel(MODEL, ["the", "cat"], alpha=0.3, score_boundary=False)
    lm.save_to_dir(str(tmp_path))
    again = CtcLanguageModel.load_from_dir(str(tmp_path))
    assert (again.alpha, again.beta, again.score_boundary) == (0.3, 1.5, False)
    for word in ("the", "dog"):
        expected, _ = lm.score(lm.get_start_state(), word)
        assert again.score(again.get_start_state(), word)[0] == pytest.approx(expected)
