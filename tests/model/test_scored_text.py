"""Perplexity: numbers worked out by hand, what is counted, and the published numbers on the Penn Treebank."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from modlm.errors import InputError, ModlmError
from modlm.model.ngram_lm import NgramLM
from modlm.model.scored_text import ScoredText, names_of, score_sentences
from modlm.text import Corpus, Vocabulary
from small_texts import model_of, oracle_of

# Nine predictions: a 3, </s> 3, b 2, c 1, and u = 4 of them different; J = 5. Witten-Bell of order 1 gives
# P(w) = 9/13 c(w)/9 + 4/13 1/5 = (5 c(w) + 4) / 65: a 19, </s> 19, b 14, c 9, <unk> 4.
FEW = ["a b", "a b", "a c"]
TEXT = ["a z", "", "b"]  # a <unk> </s>, </s>, b </s>


@pytest.fixture
def model() -> NgramLM:
    return model_of(FEW, order=1, smoothing="witten-bell")


def test_numbers_by_hand(model: NgramLM) -> None:
    result = model.perplexity(TEXT)
    known, unknown = 19 * 19 * 19 * 14 * 19 / 65**5, 4 / 65
    assert (result.sentences, result.words, result.predictions, result.unknown) == (3, 3, 6, 1)
    assert result.log_likelihood == pytest.approx(math.log(known * unknown))
    assert result.perplexity == pytest.approx((known * unknown) ** (-1 / 6))
    assert result.perplexity_without_unknown == pytest.approx(known ** (-1 / 5))
    assert result.perplexity_without_ends == pytest.approx((known * unknown) ** (-1 / 3))
    assert result.bits == pytest.approx(-math.log2(known * unknown) / 6)
    assert result.impossible == 0
    assert float(result) == result.perplexity


def test_it_is_the_score_of_all_sentences_together(model: NgramLM) -> None:
    result = model.perplexity(TEXT)
    assert result.log_likelihood == pytest.approx(model.score_batch(TEXT).sum())
    assert result.log_likelihood == pytest.approx(
        oracle_of(FEW, order=1, smoothing="witten-bell").log_probability([sentence.split() for sentence in TEXT])
    )


def test_text_may_be_sentences_a_file_or_a_corpus(model: NgramLM, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(TEXT) + "\n")
    other_words = Vocabulary.from_words(["q", "b", "a"])
    texts = [path, str(path), [path], Corpus.from_text(TEXT, model.vocabulary), Corpus.from_text(TEXT, other_words)]
    expected = model.perplexity(TEXT)
    for text in texts:
        found = model.perplexity(text)
        assert found.perplexity == expected.perplexity
        assert (found.words, found.unknown) == (expected.words, expected.unknown)


def test_all_numbers_stand_in_the_record(model: NgramLM) -> None:
    record = model.perplexity(TEXT).as_dict()
    asked = {"perplexity", "perplexity_without_unknown", "words", "predictions", "unknown", "words_per_second"}
    assert asked <= set(record)
    assert record["bits"] == pytest.approx(math.log2(record["perplexity"]))
    assert record["words_per_second"] > 0


def test_impossible_words_make_perplexity_infinite() -> None:
    model = model_of(FEW, order=2, smoothing="maximum-likelihood")
    result = model.perplexity(["a b", "b"])  # b never begins a sentence
    assert result.impossible == 1
    assert result.perplexity == result.perplexity_without_unknown == result.perplexity_without_ends == math.inf
    assert result.bits == math.inf


def test_impossible_unknown_words_leave_the_perplexity_of_the_others() -> None:
    model = model_of(FEW, order=1, smoothing="maximum-likelihood")
    result = model.perplexity(["a z"])
    assert result.perplexity == math.inf
    assert result.impossible == result.unknown == 1
    assert result.perplexity_without_unknown == pytest.approx((3 / 9 * 3 / 9) ** (-1 / 2))


def test_sentences_without_words_have_no_perplexity_without_ends(model: NgramLM) -> None:
    result = model.perplexity(["", ""])
    assert math.isnan(result.perplexity_without_ends)
    assert result.perplexity == pytest.approx(65 / 19)


def test_a_text_without_sentences_is_an_error(model: NgramLM, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    with pytest.raises(InputError, match="no sentences"):
        model.perplexity(tmp_path / "empty.txt")
    with pytest.raises(InputError, match="no sentences"):
        model.perplexity([])


def test_a_text_that_is_not_there_is_an_error(model: NgramLM, tmp_path: Path) -> None:
    with pytest.raises(ModlmError, match=r"nowhere\.txt"):
        model.perplexity(tmp_path / "nowhere.txt")


def test_a_perplexity_too_large_for_a_float_is_infinite_and_its_bits_are_not() -> None:
    result = ScoredText(-2000.0, 0.0, sentences=1, words=1, unknown=0, impossible=0, seconds=1.0)
    assert result.perplexity == math.inf
    assert result.bits == pytest.approx(1000 / math.log(2))


@pytest.mark.long
@pytest.mark.parametrize(
    ("smoothing", "edge", "valid", "test"),
    [
        ("modified-kneser-ney", "repeat", None, pytest.approx(140.8, abs=0.05)),
        ("witten-bell", "repeat", None, pytest.approx(220.5, abs=0.05)),
        ("modified-kneser-ney", "once", pytest.approx(148.01, abs=0.005), pytest.approx(141.19, abs=0.005)),
    ],
)
def test_penn_treebank(data_folder: Path, smoothing: str, edge: str, valid: float | None, test: float) -> None:
    """The authors' program (edge repeat, uniform and unknown columns), and KenLM and SRILM (edge once), at order 5."""

    def text(part: str) -> Path:
        found = sorted((data_folder / "ptb").glob(f"ptb.{part}.txt*"))
        if not found:
            pytest.skip(f"{data_folder} has no ptb/ptb.{part}.txt")
        return found[0]

    extra = ("uniform", "unknown") if edge == "repeat" else ("uniform",)
    model = NgramLM.fit(text("train"), order=5, smoothing=smoothing, edge=edge, extra=extra)
    result = model.perplexity(text("test"))
    assert result.predictions == 82_430
    assert result.perplexity == test
    if valid is not None:
        assert model.perplexity(text("valid")).perplexity == valid


def test_sentences_words_and_parts_add_up(model: NgramLM) -> None:
    whole = score_sentences(model, TEXT)
    names = ["a", "z", "</s>", "</s>", "b", "</s>"]
    assert names_of(model.vocabulary, TEXT) == names and whole.bounds() == [0, 3, 4, 6]
    records = whole.sentence_records(names)
    for record, sentence in zip(records, TEXT, strict=True):
        alone = model.perplexity([sentence])
        expected = (alone.log_likelihood, alone.perplexity, alone.words, alone.unknown, alone.impossible)
        fields = ("log_prob", "perplexity", "words", "unknown", "impossible")
        assert tuple(record[name] for name in fields) == pytest.approx(expected)
        assert sum(word["log_prob"] for word in record["scores"]) == pytest.approx(alone.log_likelihood)
    assert [word["word"] for record in records for word in record["scores"]] == names
    assert records[0]["scores"][1]["known"] is False
    assert whole.sentence_sums() == pytest.approx([record["log_prob"] for record in records])
    assert whole == score_sentences(model, TEXT) != score_sentences(model, TEXT[:2])
    first, rest = whole.parts([1, 2])
    assert (first.sentences, rest.sentences, first.unknown, rest.unknown) == (1, 2, 1, 0)
    assert ScoredText.total([first, rest]).log_likelihood == pytest.approx(whole.log_likelihood)
