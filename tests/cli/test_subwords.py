"""Subwords on the command line: a tokenizer is given once, and the model knows it from then on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cli.conftest import Files, Modlm

import modlm as package
from modlm.cli.app import run

pytest.importorskip("tokenizers", reason="needs modlm[hf]")

from small_tokenizers import byte_level


@dataclass(frozen=True)
class Subwords:
    tokenizer: Path
    model: Path
    arpa: Path


@pytest.fixture(scope="module")
def subwords(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Subwords:
    place = tmp_path_factory.mktemp("subwords")
    found = Subwords(place / "tokenizer.json", place / "model", place / "model.arpa")
    found.tokenizer.write_bytes(byte_level())
    command = ["ngram", files.train, "-o", found.model, "--order", 3, "--tokenizer", place, "--arpa", found.arpa]
    assert run([str(word) for word in command]) == 0
    return found


def test_models_of_words_and_of_subwords_are_reported_in_like_units(
    ok: Modlm, files: Files, subwords: Subwords
) -> None:
    tokens, words = ok("eval", subwords.model, files.model, files.test, "--json").json
    assert tokens["bytes"] == words["bytes"] == files.test.stat().st_size
    assert tokens["text_words"] == words["text_words"] == words["words"] < tokens["words"]
    assert words["perplexity_per_word"] == pytest.approx(words["perplexity"])
    assert tokens["perplexity_per_word"] > tokens["perplexity"]
    table = ok("eval", subwords.model, files.model, files.test).out
    assert "per word" in table and "bits/byte" in table


def test_an_arpa_file_over_tokens_takes_its_tokenizer(ok: Modlm, files: Files, subwords: Subwords) -> None:
    own = ok("eval", subwords.model, files.test, "--json").json
    other = ok("eval", subwords.arpa, files.test, "--tokenizer", subwords.tokenizer, "--json").json
    assert other["perplexity"] == pytest.approx(own["perplexity"], rel=1e-5)


def test_tokens_are_scored_predicted_and_joined_again(
    ok: Modlm, files: Files, subwords: Subwords, tmp_path: Path
) -> None:
    line = files.test.read_text(encoding="utf-8").splitlines()[0]
    (tmp_path / "line.txt").write_text(line + "\n")
    (record,) = ok("score", subwords.model, tmp_path / "line.txt", "--words", "--json").json
    model = package.load(subwords.model)
    assert [part["word"] for part in record["scores"]] == [*model.vocabulary.split(line), "</s>"]
    assert record["log_prob"] == pytest.approx(model.score(line))
    assert len(ok("next", subwords.model, line[:9], "-k", 3, "--json").json) == 3
    (drawn,) = ok("generate", subwords.model, "-n", 1, "--context", line[:9], "--seed", 1, "--json").json
    assert drawn.startswith(line[:9])


def test_models_that_split_texts_differently_are_not_compared_word_by_word(
    modlm: Modlm, ok: Modlm, files: Files, subwords: Subwords
) -> None:
    outcome = modlm("compare", files.model, subwords.model, files.test)
    assert outcome.code == 1 and "bits per byte" in outcome.err
    same = ok("compare", subwords.model, subwords.model, files.test, "--json").json
    assert same[1]["ratio"] == pytest.approx(1.0)


def test_a_tokenizer_and_limits_on_words_exclude_each_other(
    modlm: Modlm, files: Files, subwords: Subwords, tmp_path: Path
) -> None:
    flags = ["-o", tmp_path / "model", "--tokenizer", subwords.tokenizer, "--max-words", 5]
    outcome = modlm("ngram", files.train, *flags)
    assert outcome.code == 1 and "--vocab and --tokenizer say what to know" in outcome.err
    pytest.importorskip("torch")
    outcome = modlm("train", "--text", files.train, "--valid", files.valid, *flags)
    assert outcome.code == 1 and "vocabulary.tokenizer brings its own tokens" in outcome.err


def test_a_net_is_trained_on_tokens(
    modlm: Modlm, files: Files, subwords: Subwords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("MODLM_CACHE", str(tmp_path / "cache"))
    texts = ["--text", files.train, "--valid", files.valid, "--tokenizer", subwords.tokenizer]
    small = ["--hidden", 8, "--order", 2, "--epochs", 1, "--set", "folds=3"]
    outcome = modlm("train", *texts, *small, "-o", tmp_path / "run", "--json")
    assert outcome.code == 0, outcome.err
    found = modlm("eval", tmp_path / "run", files.valid, "--json").json
    assert found["perplexity"] == pytest.approx(outcome.json["valid_perplexity"], rel=1e-4)
    assert package.load(tmp_path / "run").vocabulary.units == "tokens"


def test_nemo_reads_tokens_as_characters_of_their_ids(ok: Modlm, subwords: Subwords, tmp_path: Path) -> None:
    ok("convert", subwords.model, tmp_path / "nemo.arpa", "--arpa-tokens", "nemo")
    own, back = package.load(subwords.model), package.load(tmp_path / "nemo.arpa")
    ids = own.vocabulary.theirs[own.vocabulary.encode("the bank said it")].tolist()
    letters = [chr(token + 100) for token in ids]
    assert back.score(letters) == pytest.approx(own.score("the bank said it"), abs=1e-4)
    assert set(map(len, back.vocabulary.words[2:])) == {1}
    rows = [line.split("\t") for line in (tmp_path / "nemo.arpa").read_text("utf-8").split("\n") if line.count("\t")]
    named = {"<s>", "</s>", "<unk>"}  # as NeMo's reader takes a row apart: these names, or one character and a space
    for _, ngram, *_ in rows:
        assert all(part in named or len(part) == 1 for part in ngram.split(" "))


def test_nemo_needs_tokens_and_an_arpa_file(modlm: Modlm, files: Files, subwords: Subwords, tmp_path: Path) -> None:
    words = modlm("convert", files.model, tmp_path / "x.arpa", "--arpa-tokens", "nemo")
    assert words.code == 1 and "--tokenizer" in words.err
    folder = modlm("convert", files.arpa, tmp_path / "x", "--arpa-tokens", "nemo")
    assert folder.code == 1 and "--to arpa" in folder.err
    other = modlm("convert", subwords.model, tmp_path / "x.arpa", "--arpa-tokens", "nemmo")
    assert other.code == 1 and "Did you mean 'nemo'" in other.err
    assert not list(tmp_path.iterdir())
