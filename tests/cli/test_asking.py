"""eval, score, compare, next and generate."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Files, Modlm

import modlm


def test_eval_json_has_the_promised_keys(ok: Modlm, files: Files) -> None:
    report = ok("eval", files.model, files.test, "--json").json
    expected = modlm.load(files.model).perplexity(files.test)
    assert report["perplexity"] == pytest.approx(expected.perplexity)
    assert report["perplexity_without_unknown"] == pytest.approx(expected.perplexity_without_unknown)
    assert (report["words"], report["predictions"]) == (expected.words, expected.words + 50)
    assert report["unknown"] == expected.unknown and report["words_per_second"] > 0


def test_eval_of_several_models_is_a_list_and_a_table(ok: Modlm, files: Files) -> None:
    reports = ok("eval", files.model, files.other, files.arpa, files.test, "--json").json
    assert [report["model"] for report in reports] == [str(path) for path in (files.model, files.other, files.arpa)]
    assert reports[0]["perplexity"] == pytest.approx(reports[2]["perplexity"], rel=1e-5)
    assert str(files.other) in ok("eval", files.model, files.other, files.test).out


def test_standard_input_serves_several_models(ok: Modlm, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    with files.test.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        piped = ok("eval", files.model, files.other, "-", "--json").json
    direct = ok("eval", files.model, files.other, files.test, "--json").json
    assert [one["perplexity"] for one in piped] == [one["perplexity"] for one in direct]


def test_eval_by_frequency_from_the_models_counts_or_a_text(ok: Modlm, files: Files) -> None:
    own = ok("eval", files.model, files.test, "--by-frequency", "--json").json
    text = ok("eval", files.arpa, files.test, "--by-frequency", "--train", files.train, "--json").json
    bands = own["by_frequency"]
    assert [band["limit"] for band in bands] == [10, 100, 1000, None]
    assert bands[-1]["perplexity"] == pytest.approx(own["perplexity"])
    assert [band["predictions"] for band in bands] == [band["predictions"] for band in text["by_frequency"]]
    assert "≤ 10" in ok("eval", files.model, files.test, "--by-frequency").out


def test_by_frequency_without_counts_says_how(modlm: Modlm, files: Files) -> None:
    outcome = modlm("eval", files.arpa, files.test, "--by-frequency")
    assert outcome.code == 1 and "training text" in outcome.err


def test_infinite_perplexity_is_null_in_json(ok: Modlm, modlm: Modlm, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b\na b\n")
    (tmp_path / "other").write_text("b a\n")
    assert modlm("ngram", tmp_path / "text", "-o", tmp_path / "m", "--smoothing", "maximum-likelihood").code == 0
    report = ok("eval", tmp_path / "m", tmp_path / "other", "--json").json
    assert report["perplexity"] is None and report["impossible"] > 0
    assert "∞" in ok("eval", tmp_path / "m", tmp_path / "other").out


def test_score_gives_each_sentence_and_each_word(ok: Modlm, files: Files) -> None:
    lm = modlm.load(files.model)
    sentences = files.test.read_text().splitlines()
    records = ok("score", files.model, files.test, "--words", "--json").json
    assert [record["sentence"] for record in records] == sentences
    assert [record["log_prob"] for record in records] == pytest.approx(lm.score_batch(sentences).tolist())
    first = records[0]
    assert [word["word"] for word in first["scores"]] == [*sentences[0].split(), "</s>"]
    assert sum(word["log_prob"] for word in first["scores"]) == pytest.approx(first["log_prob"])
    assert first["perplexity"] == pytest.approx(math.exp(-first["log_prob"] / (first["words"] + 1)))


def test_score_prints_tab_separated_lines_and_marks_unknown_words(ok: Modlm, files: Files, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("nila zork\n")
    lines = ok("score", files.model, tmp_path / "text", "--words").out.splitlines()
    assert [line.split("\t")[1:] for line in lines[:3]] == [["nila"], ["zork", "<unk>"], ["</s>"]]
    assert lines[3].split("\t")[2:] == ["1", "nila zork"]


def test_score_splits_words_as_training_does(ok: Modlm, files: Files, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("nila\u00a0nila \u3000 dafe\n", encoding="utf-8")  # Unicode spaces are letters here
    (record,) = ok("score", files.model, tmp_path / "text", "--words", "--json").json
    assert [word["word"] for word in record["scores"]] == ["nila\u00a0nila", "\u3000", "dafe", "</s>"]


def test_compare_tells_chance_from_difference(ok: Modlm, files: Files) -> None:
    same, other = (ok("compare", files.model, path, files.test, "--json").json[1] for path in (files.arpa, files.other))
    assert same["ratio"] == pytest.approx(1, abs=1e-5)
    assert other["interval"][0] <= other["ratio"] <= other["interval"][1]
    first, second = (modlm.load(path).perplexity(files.test).perplexity for path in (files.model, files.other))
    assert other["ratio"] == pytest.approx(second / first)
    assert "95% interval" in ok("compare", files.model, files.other, files.test).out


def test_next_json_is_a_list_of_words_with_shares(ok: Modlm, files: Files) -> None:
    predictions = ok("next", files.model, "nila dafe", "-k", 5, "--json").json
    expected = modlm.load(files.model).next_words("nila dafe", 5)
    assert [p["word"] for p in predictions] == [p.word for p in expected]
    assert [p["probability"] for p in predictions] == pytest.approx([p.probability for p in expected])
    for prediction in predictions:
        assert sum(prediction["shares"].values()) == pytest.approx(1)


def test_next_prints_a_line_for_each_word_and_names_unknown_ones(ok: Modlm, files: Files) -> None:
    out = ok("next", files.model, "zork nila", "-k", 4).out
    assert "unknown: zork" in out and "2-gram" in out
    assert len(out.splitlines()) == 1 + 2 + 4


def test_next_can_start_in_the_middle_of_a_sentence(ok: Modlm, files: Files) -> None:
    start = ok("next", files.model, "nila", "--json").json
    middle = ok("next", files.model, "nila", "--middle", "--json").json
    assert start != middle


def test_next_of_a_mixture_and_of_an_arpa_file(ok: Modlm, files: Files, tmp_path: Path) -> None:
    ok("interpolate", files.model, files.other, "--tune", files.valid, "-o", tmp_path / "mix")
    for path in (tmp_path / "mix", files.arpa):
        assert len(ok("next", path, "nila", "-k", 3, "--json").json) == 3


def test_generate_repeats_with_a_seed(ok: Modlm, files: Files) -> None:
    call = ("generate", files.model, "--count", 3, "--seed", 7, "--context", "nila")
    first, second = ok(*call).out, ok(*call).out
    assert first == second and len(first.splitlines()) == 3
    assert all(line.startswith("nila") for line in first.splitlines())
    assert ok(*call, "--json").json == first.splitlines()


def test_generate_at_temperature_zero_takes_the_most_probable_word(ok: Modlm, files: Files) -> None:
    (first, *_) = ok("generate", files.model, "-n", 1, "--temperature", 0, "--max-words", 1).out.split()
    row = modlm.load(files.model).next_distribution("").copy()
    row[0] = 0  # <unk> is not drawn
    assert first == modlm.load(files.model).vocabulary.word(int(np.argmax(row)))


def test_bytes_that_are_not_utf8_can_be_replaced(ok: Modlm, modlm: Modlm, files: Files, tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"nila \xff dafe nila dafe nila\n")
    (tmp_path / "good").write_text("nila \ufffd dafe nila dafe nila\n", encoding="utf-8")
    for command in ("eval", "score"):
        assert "--encoding-errors" in ok(command, "--help").out
        failed = modlm(command, files.model, tmp_path / "bad")
        assert failed.code == 1 and "line 1" in failed.err
        bad = ok(command, files.model, tmp_path / "bad", "--encoding-errors", "replace", "--json").json
        good = ok(command, files.model, tmp_path / "good", "--json").json
        key = "log_likelihood" if command == "eval" else "log_prob"
        first = (lambda found: found) if command == "eval" else (lambda found: found[0])
        assert first(bad)[key] == first(good)[key]
