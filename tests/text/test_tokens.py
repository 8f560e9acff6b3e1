"""A tokenizer's tokens as a vocabulary: which ids stand for what, texts in bulk, folders that keep the tokenizer."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from modlm import Corpus, NgramLM, Vocabulary, load
from modlm.counts import open_counts
from modlm.errors import InputError, ModelFolderError, VocabularyError
from modlm.text.encoding import count_words
from modlm.text.tokens import TokenVocabulary, with_tokenizer
from modlm.text.vocabulary import END, UNKNOWN

pytest.importorskip("tokenizers", reason="needs modlm[hf]")

from tokenizers import Tokenizer

from small_tokenizers import SENTENCES, byte_level, pieces_with_white_space, word_pieces


@pytest.fixture(scope="module")
def vocabulary() -> TokenVocabulary:
    return TokenVocabulary.from_tokenizer(byte_level())


def test_every_token_has_one_id_and_the_line_end_is_the_end(vocabulary: TokenVocabulary) -> None:
    tokenizer = Tokenizer.from_str(byte_level().decode())
    assert len(vocabulary) == tokenizer.get_vocab_size()
    assert sorted(vocabulary.theirs.tolist()) == list(range(len(vocabulary)))
    np.testing.assert_array_equal(vocabulary.ours[vocabulary.theirs], np.arange(len(vocabulary)))
    assert vocabulary.theirs[END] == tokenizer.token_to_id("Ċ")
    assert vocabulary.theirs[UNKNOWN] == tokenizer.token_to_id("<|endoftext|>")


def test_a_sentence_is_what_the_tokenizer_makes_of_it(vocabulary: TokenVocabulary) -> None:
    tokenizer = Tokenizer.from_str(byte_level().decode())
    for sentence in (*SENTENCES, "  two  spaces ", "", "ünï✓"):
        ids = vocabulary.encode(sentence)
        assert vocabulary.theirs[ids].tolist() == tokenizer.encode(sentence, add_special_tokens=False).ids
        assert vocabulary.split(sentence) == tokenizer.encode(sentence, add_special_tokens=False).tokens
        assert vocabulary.join(vocabulary.split(sentence)) == sentence


def test_a_special_token_in_a_text_is_text(vocabulary: TokenVocabulary) -> None:
    ids = vocabulary.encode("the <|endoftext|> bank")
    assert UNKNOWN not in ids
    assert vocabulary.join(vocabulary.decode(ids)) == "the <|endoftext|> bank"


def test_half_a_surrogate_pair_is_replaced(vocabulary: TokenVocabulary) -> None:
    assert vocabulary.join(vocabulary.split("a\ud800b")) == "a?b"


def test_tokens_may_be_given_by_name(vocabulary: TokenVocabulary) -> None:
    tokens = vocabulary.split(SENTENCES[0])
    np.testing.assert_array_equal(vocabulary.encode(tokens), vocabulary.encode(SENTENCES[0]))


def test_a_corpus_holds_each_line_with_its_boundaries(vocabulary: TokenVocabulary, tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("the bank\r\n\n the  company\n")
    corpus = Corpus.from_text(file, vocabulary)
    expected = [
        np.concatenate(([vocabulary.start], vocabulary.encode(line), [END]))
        for line in ("the bank", "", " the  company")
    ]
    assert [ids.tolist() for ids in corpus] == [ids.tolist() for ids in expected]
    assert corpus.size is not None
    assert (corpus.size.words, corpus.size.bytes) == (4, len(file.read_bytes()))


def test_words_between_white_space_are_counted_as_python_splits_them() -> None:
    for text in ("", "a", " a b\n\nc\t d\n", "ab\n", "\n\n", "x y "):
        assert count_words(text.encode(), len(text)) == len(text.split())


def test_a_tokenizer_without_a_line_end_ends_lines_with_its_own_token() -> None:
    vocabulary = TokenVocabulary.from_tokenizer(word_pieces())
    tokenizer = Tokenizer.from_str(word_pieces().decode())
    assert vocabulary.theirs[END] == tokenizer.token_to_id("[SEP]")
    assert vocabulary.theirs[UNKNOWN] == tokenizer.token_to_id("[UNK]")
    assert vocabulary.encode("the Ω bank").tolist().count(UNKNOWN) == 1


def test_tokens_that_cannot_be_words_are_escaped() -> None:
    vocabulary = TokenVocabulary.from_tokenizer(pieces_with_white_space(), size=10)
    assert vocabulary.words == (
        "<unk>", "</s>", "<token-1>", "<token-2>", "a", "b", r"\x20", r"a\x20b", "<unused-8>", "<unused-9>",
    )  # fmt: skip
    assert vocabulary.theirs.tolist() == [0, 5, 1, 2, 3, 4, 6, 7, 8, 9]
    assert vocabulary.join(vocabulary.split("a b a")) == "a b a"


def test_vocabularies_with_other_tokenizers_are_not_equal_and_not_translated(vocabulary: TokenVocabulary) -> None:
    other = TokenVocabulary.from_tokenizer(byte_level(tokens=290))
    same = TokenVocabulary.from_tokenizer(byte_level())
    plain = Vocabulary.from_words(vocabulary.words)
    assert vocabulary == same and hash(vocabulary) == hash(same) and pickle.loads(pickle.dumps(vocabulary)) == same
    assert vocabulary != other and vocabulary != plain and plain != vocabulary
    for unlike in (other, plain):
        with pytest.raises(VocabularyError, match="Use one tokenizer"):
            vocabulary.mapping(unlike)
        with pytest.raises(VocabularyError, match="Use one tokenizer"):
            unlike.mapping(vocabulary)


def test_a_model_folder_keeps_its_tokenizer_and_encodes_raw_text(vocabulary: TokenVocabulary, tmp_path: Path) -> None:
    model = NgramLM.fit(list(SENTENCES), order=3, vocabulary=vocabulary)
    model.save(tmp_path / "model")
    found = load(tmp_path / "model", verify="full")
    assert found.vocabulary == vocabulary
    assert found.score(SENTENCES[1]) == model.score(SENTENCES[1])
    ids = model.sentence_ids(SENTENCES[1])
    assert found.score(SENTENCES[1]) == pytest.approx(float(model.log_probs(ids).sum()))
    np.testing.assert_allclose(found.score_batch(list(SENTENCES)), [model.score(s) for s in SENTENCES])
    assert [part.word for part in found.explain(SENTENCES[3])] == [*vocabulary.split(SENTENCES[3]), "</s>"]


def test_counts_and_corpora_on_disk_keep_the_tokenizer(vocabulary: TokenVocabulary, tmp_path: Path) -> None:
    model = NgramLM.fit(list(SENTENCES), order=2, vocabulary=vocabulary, memory="50MB")
    assert model.vocabulary == vocabulary
    assert model.counts is not None
    model.counts.save(tmp_path / "counts")
    assert open_counts(tmp_path / "counts").vocabulary == vocabulary
    Corpus.from_text(list(SENTENCES), vocabulary).save(tmp_path / "corpus")
    assert Corpus.open(tmp_path / "corpus").vocabulary == vocabulary


def test_a_folder_with_another_tokenizer_is_refused(vocabulary: TokenVocabulary, tmp_path: Path) -> None:
    NgramLM.fit(list(SENTENCES), order=2, vocabulary=vocabulary).save(tmp_path / "model")
    file = tmp_path / "model" / "tokenizer.json"
    file.write_bytes(file.read_bytes().replace(b'"version":"1.0"', b'"version":"1.1"'))
    with pytest.raises(ModelFolderError, match="not the tokenizer"):
        load(tmp_path / "model")


def test_perplexity_is_per_token_per_word_and_per_byte(vocabulary: TokenVocabulary) -> None:
    model = NgramLM.fit(list(SENTENCES), order=3, vocabulary=vocabulary)
    text = ["the bank said", "shares  fell, the"]
    result = model.perplexity(text)
    total = sum(map(model.score, text))
    tokens = sum(len(vocabulary.encode(line)) + 1 for line in text)
    size = sum(len(line.encode()) + 1 for line in text)
    assert result.perplexity == pytest.approx(np.exp(-total / tokens))
    assert result.perplexity_per_word == pytest.approx(np.exp(-total / (6 + 2)))
    assert result.bits_per_byte == pytest.approx(-total / np.log(2) / size)
    assert (result.predictions, result.text_words, result.bytes) == (tokens, 6, size)


def test_a_plain_vocabulary_of_tokens_can_be_given_its_tokenizer(vocabulary: TokenVocabulary) -> None:
    shuffled = Vocabulary.from_words(sorted(vocabulary.words[2:]))
    tokens = with_tokenizer(shuffled, byte_level())
    assert tokens.decode(tokens.encode(SENTENCES[0])) == vocabulary.split(SENTENCES[0])
    with pytest.raises(VocabularyError, match="not the one"):
        with_tokenizer(Vocabulary.from_words(["alpha", "beta"]), byte_level())


def test_words_that_are_no_tokens_are_known_by_their_spelling() -> None:
    """SentencePiece writes what it does not know as it is spelled, and models of such text know it."""
    own = TokenVocabulary.from_tokenizer(word_pieces())
    tokens = with_tokenizer(Vocabulary.from_words([*own.words[2:], "☂"]), word_pieces())
    assert "<unk>" in own.split("the ☂ bank ☃")
    found = tokens.split("the ☂ bank ☃")
    assert "☂" in found and found[-1] == "<unk>" and [*found].count("<unk>") == 1


def test_what_is_no_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        TokenVocabulary.from_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match=r"not a tokenizer\.json"):
        TokenVocabulary.from_tokenizer(tmp_path)


def test_places_say_which_characters_a_token_is(vocabulary: TokenVocabulary) -> None:
    sentence = "the company 😀 said"
    places = vocabulary.places(sentence)
    assert len(places) == len(vocabulary.split(sentence))
    assert places[0][0] == 0 and places[-1][1] == len(sentence)
    assert all(start <= after for (start, _), (_, after) in pairwise(places))


def test_continuations_put_together_are_the_text(vocabulary: TokenVocabulary) -> None:
    sentence = "the company 😀 said naïve"
    ids = vocabulary.encode(sentence)
    pieces = [vocabulary.continuation(ids[:at], int(token)) for at, token in enumerate(ids)]
    assert "".join(pieces) == sentence
    assert pieces.count("") == 4  # three of the four bytes of the face, one of the two of ï
