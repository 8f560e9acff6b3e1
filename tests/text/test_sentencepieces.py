"""SentencePiece models split texts here as they do there."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

import modlm
from modlm.errors import InputError
from modlm.text.tokens import TokenVocabulary

sentencepiece = pytest.importorskip("sentencepiece")
pytest.importorskip("tokenizers")
pytest.importorskip("google.protobuf")
SYLLABLES = "ka lo mi ne ru sta tri vo wen xa é über 東 京".split()


def sentences(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)

    def word() -> str:
        return "".join(rng.choices(SYLLABLES, k=rng.randrange(1, 5)))

    return [" ".join(word() for _ in range(rng.randrange(1, 9))) for _ in range(count)]


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sp") / "sp.model"
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences(1, 400)), model_writer=out, vocab_size=90, model_type=request.param,
        minloglevel=2,
    )  # fmt: skip
    path.write_bytes(out.getvalue())
    return path


def test_texts_are_split_as_there(model: Path) -> None:
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(model))
    ours = TokenVocabulary.from_tokenizer(model)
    for text in [*sentences(2, 200), "  two  spaces ", "ｆｕｌｌ width ﬁ", "kalo…"]:
        expected = theirs.encode_as_pieces(text)
        found = ["<unk>" if piece not in ours else piece for piece in expected]
        assert ours.split(text) == found, text


def test_a_model_of_pieces(model: Path, tmp_path: Path) -> None:
    vocabulary = TokenVocabulary.from_tokenizer(model)
    lm = modlm.NgramLM.fit(sentences(1, 400), order=3, vocabulary=vocabulary)
    lm.save(tmp_path / "m")
    again = modlm.load(tmp_path / "m")
    assert again.score("kalo mine") == lm.score("kalo mine") and again.vocabulary.units == "tokens"


def test_what_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "x.model").write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match="SentencePiece"):
        TokenVocabulary.from_tokenizer(tmp_path / "x.model")
