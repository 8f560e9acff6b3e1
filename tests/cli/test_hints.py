"""Mistakes that are easy to make: the message names the way out, in Python's words there and in flags here."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import modlm
from modlm.cli.app import run
from modlm.cli.outcome import in_flags
from modlm.errors import InputError, ModelFolderError
from modlm.formats.kinds import KENLM_MAGIC

JSON = '{"body": "the cat sat"}\n'


@pytest.fixture
def model(tmp_path: Path) -> Path:
    modlm.NgramLM.fit(["the cat sat on the mat", "a dog saw the cat"], order=2).save(tmp_path / "model")
    return tmp_path / "model"


def said(capsys: pytest.CaptureFixture[str], *command: object) -> str:
    capsys.readouterr()
    assert run([str(word) for word in command]) in (0, 1)
    return capsys.readouterr().err


def test_json_as_text(model: Path, tmp_path: Path, capsys, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "d.jsonl").write_text(JSON)
    for command in ("eval", "score"):
        assert "add --documents to modlm score, with --field" in said(capsys, command, model, tmp_path / "d.jsonl")
    with caplog.at_level(logging.WARNING, "modlm"):
        modlm.load(model).perplexity(tmp_path / "d.jsonl")
    assert "use lm.score_documents, with field=" in caplog.text
    assert "--spelling" in said(capsys, "eval", model, tmp_path / "d.jsonl"), "most of it is unknown"


def test_the_wrong_field(model: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "d.jsonl").write_text(JSON)
    told = said(capsys, "score", model, tmp_path / "d.jsonl", "--documents")
    assert "--field" in told and "body" in told
    with pytest.raises(InputError, match="field="):
        list(modlm.load(model).score_documents([{"body": "x"}]))


def test_one_string_for_many(model: Path) -> None:
    lm = modlm.load(model)
    with pytest.raises(InputError, match="into a list"):
        lm.score_batch("the cat sat")
    with pytest.raises(InputError, match=r"\[text\]"):
        next(lm.score_documents("the cat sat"))


def test_a_sentence_for_a_path(model: Path, capsys) -> None:
    with pytest.raises(InputError, match=r"in a list: \[sentence\]"):
        modlm.load(model).perplexity("the cat sat")
    assert "standard input" in said(capsys, "eval", model, "the cat sat")


def test_arguments_the_wrong_way_round(model: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "t.txt").write_text("the cat sat\n")
    for command in (["eval", tmp_path / "t.txt", model], ["score", model, model], ["next", "the cat", model]):
        assert "The model comes first, then the text" in said(capsys, *command), command
    with pytest.raises(ModelFolderError, match=r"modlm\.load comes first"):
        modlm.load(tmp_path / "t.txt")


def test_what_is_no_text_is_not_called_one(tmp_path: Path, capsys) -> None:
    (tmp_path / "rand.bin").write_bytes(bytes(range(256)) * 8)
    (tmp_path / "cut.bin").write_bytes(KENLM_MAGIC[:10])
    (tmp_path / "latin.txt").write_bytes("hä".encode("latin-1") + b"\n")
    for command in (["eval", tmp_path / "rand.bin", tmp_path / "latin.txt"], ["inspect", tmp_path / "rand.bin"]):
        assert "binary data" in said(capsys, *command)
    for command in (["eval", tmp_path / "cut.bin", tmp_path / "latin.txt"], ["inspect", tmp_path / "cut.bin"]):
        assert "truncated: 10 bytes" in said(capsys, *command)
    assert "have such bytes replaced with --encoding-errors replace" in said(capsys, "inspect", tmp_path / "latin.txt")
    assert not said(capsys, "inspect", tmp_path / "latin.txt", "--encoding-errors", "replace")


def test_a_base_model_that_was_moved(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from modlm.integrations.hugging_face.causal_lm import Reading
    from modlm.integrations.hugging_face.lm_block import CausalLmBlock

    source = {"path": str(tmp_path / "gone"), "gguf": ""}
    with pytest.raises(InputError, match=r"load_adapted\(FOLDER, model\)") as found:
        _ = CausalLmBlock(modlm.Vocabulary.from_words(["a"]), Reading(), (), source=source).lm
    assert (told := in_flags(str(found.value))).endswith("Put it back, or link it there (ln -s).") and "(F" not in told


def test_an_unfinished_run(tmp_path: Path, capsys) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "journal.jsonl").write_text("")
    with pytest.raises(ModelFolderError, match=r"modlm\.train\(\.\.\., out=.*resume=True\)"):
        modlm.load(tmp_path / "run")
    assert f"modlm train --resume -o {tmp_path / 'run'}" in said(capsys, "eval", tmp_path / "run", tmp_path / "t.txt")


def test_gguf_weights_that_were_not_named(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from modlm.integrations.hugging_face.causal_lm import CausalLm

    (tmp_path / "small.gguf").write_bytes(b"GGUF")
    with pytest.raises(InputError, match=r'gguf="small\.gguf"') as found:
        CausalLm.load(tmp_path)
    assert "--gguf small.gguf" in in_flags(str(found.value))
