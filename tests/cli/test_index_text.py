"""`modlm index`, `find` and `overlap` as people type them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from modlm.cli.app import run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("the cat sat on the mat\nthe dog sat on the rug\n")
    assert run(["index", "text.txt", "-o", "index"]) == 0
    said = capsys.readouterr().out
    assert "12 words, 2 sentences, 1 documents, 1 shard" in said and "bytes per word" in said
    return tmp_path


def test_find_and_overlap(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["find", "index", "sat on the", "-k", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "2 times in 12 words"
    assert run(["find", "index", "mat the dog", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["count"] == 1 and found["hits"][0]["line"] == 1 and found["hits"][0]["words"] == "mat ⏎ the dog"
    Path("copy.txt").write_text("who said\nthe mat the dog sat\non it\n")
    assert run(["overlap", "index", "copy.txt", "--least", "5"]) == 0
    said = capsys.readouterr().out
    assert "copy.txt:2, 6 words, as in:\ntext.txt:1" in said
    assert run(["overlap", "index", "copy.txt", "--least", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["covered"] == 6


def test_a_long_copy_is_cut_on_the_screen_and_whole_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [f"word{n}" for n in range(2000)]
    (tmp_path / "long.txt").write_text(" ".join(words) + "\n")
    index, text = str(tmp_path / "index"), str(tmp_path / "long.txt")
    assert run(["index", text, "-o", index]) == 0
    capsys.readouterr()
    assert run(["overlap", index, text]) == 0
    said = capsys.readouterr().out
    assert "2000 words" in said and "word0 word1 " in said and " … " in said and said.endswith(" word1999 ⏎\n")
    assert max(map(len, said.splitlines())) < 200 + len(text)
    assert run(["overlap", index, text, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["stretches"][0]["hit"]["words"].split()[:2000] == words


def test_more_text_and_an_index_among_models(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("more.txt").write_text("a bird sat on the cat\n")
    assert run(["index", "more.txt", "-o", "index", "--add", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["shards"] == 2
    assert run(["ngram", "text.txt", "-o", "model", "--vocab", "index/vocabulary.txt", "--order", "2"]) == 0
    capsys.readouterr()
    assert run(["interpolate", "model", "index", "--tune", "more.txt", "-o", "mixed", "--json"]) == 0
    assert "index/∞-gram 4+" in json.loads(capsys.readouterr().out)["weights"]
    assert run(["next", "mixed", "a bird sat", "-k", "1", "--json"]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["find", "nowhere", "a"], "There is no folder nowhere"),
        (["index", "missing.txt", "-o", "other"], "missing.txt"),
        (["index", "empty.txt", "-o", "other"], "the text is empty"),
        (["index", "text.txt", "-o", "index"], "already exists"),
        (["index", "text.txt", "-o", "index"], "put the texts beside those it has with --add, or overwrite"),
        (["index", "text.txt", "-o", "other", "--add"], "There is no folder other"),
        (["overlap", "index", "missing.txt"], "missing.txt"),
        (["find", "index", ""], "no words"),
    ],
)
def test_what_goes_wrong_is_said_in_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    Path("empty.txt").write_text("")
    assert run(arguments) == 1
    assert said in capsys.readouterr().err
    assert not Path("other").exists()
