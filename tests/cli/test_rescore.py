"""`modlm rescore` from lists to reports, files and refusals."""

from __future__ import annotations

import gzip
import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Files, Modlm

from modlm.evaluation.rescored_lists import prepare, rescore
from modlm.formats.nbest import read_nbest
from modlm.model.folder import load


@pytest.fixture
def lists(files: Files, tmp_path: Path) -> Path:
    """Lists in which the text's own sentences compete with shuffled ones that the first pass likes better."""
    rng = np.random.default_rng(3)
    path = tmp_path / "lists.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        for number, sentence in enumerate(files.test.read_text(encoding="utf-8").splitlines()):
            words = sentence.split()
            shuffled = " ".join(rng.permutation(words)) if words else ""
            first, second = -1 - rng.random(), -2 - rng.random()
            nbest = [{"hyp": shuffled, "score": first}, {"hyp": " ".join(words), "score": second}]
            record = {"utt": f"s{number // 5}#{number % 5}", "ref": " ".join(words), "nbest": nbest}
            stream.write(json.dumps(record) + "\n")
    return path


def test_weights_are_tuned_and_errors_reported(files: Files, lists: Path, ok: Modlm) -> None:
    report = ok("rescore", files.model, lists, "--json").json
    assert report["tuned"] == ["lm_weight", "word_penalty"]
    assert report["utterances"] == report["development"]["utterances"] + report["test"]["utterances"] == 50
    assert report["sessions"] == report["development"]["sessions"] + report["test"]["sessions"] == 10
    for part in ("development", "test"):
        wer = report[part]["wer"]
        assert wer["oracle"]["errors"] == 0
        assert wer["rescored"]["errors"] < wer["first_pass"]["errors"]
        low, high = wer["first_pass"]["interval"]
        assert low <= wer["first_pass"]["rate"] <= high
        assert wer["change"]["probability_better"] > 0.9


def test_the_report_for_people(files: Files, lists: Path, ok: Modlm) -> None:
    out = ok("rescore", files.model, lists).out
    for part in ("50 utterances of 10 sessions, 100 hypotheses", "weights: lm-weight", "first pass", "oracle", "WER %"):
        assert part in out
    assert "best score" not in out  # the first of each list has the best score
    records = map(json.loads, lists.read_text(encoding="utf-8").splitlines())
    unsorted = lists.with_name("unsorted.jsonl")
    unsorted.write_text("".join(json.dumps(one | {"nbest": one["nbest"][::-1]}) + "\n" for one in records))
    assert "best score" in ok("rescore", files.model, unsorted).out
    assert "nan" not in ok("rescore", files.model, lists, "--draws", 0).out


def test_weights_that_are_given_are_used(files: Files, lists: Path, ok: Modlm) -> None:
    report = ok("rescore", files.model, lists, "--lm-weight", 0, "--json").json
    assert report["weights"] == {"lm_weight": 0, "word_penalty": 0, "rank_weight": 0}
    assert (report["tuned"], report["test"]["utterances"]) == ([], 50)
    assert report["test"]["wer"]["rescored"] == report["test"]["wer"]["first_pass"]
    ranked = ok("rescore", files.model, lists, "--use-rank", "--json").json
    assert ranked["tuned"] == ["lm_weight", "word_penalty", "rank_weight"]
    fixed = ok("rescore", files.model, lists, "--lm-weight", 2, "--tune", lists, "--json").json
    assert (fixed["weights"]["lm_weight"], fixed["tuned"]) == (2, ["word_penalty"])


def test_python_does_what_the_command_does(files: Files, lists: Path, ok: Modlm) -> None:
    report = ok("rescore", files.model, lists, "--lm-weight", 1.5, "--use-rank", "--draws", 20, "--json").json
    prepared = prepare(load(files.model), read_nbest(lists))
    found = rescore(prepared, given={"lm_weight": 1.5}, tune_others=True, use_rank=True, draws=20)
    assert found.tuned == report["tuned"] == ["word_penalty", "rank_weight"]
    assert asdict(found.weights) == report["weights"]
    assert {name: part.as_dict() for name, part in found.measured.items()} == {
        name: report[name] for name in ("development", "test")
    }


def test_lists_of_their_own_to_tune_on(files: Files, lists: Path, tmp_path: Path, ok: Modlm, modlm: Modlm) -> None:
    lines = lists.read_text().splitlines(keepends=True)
    (tmp_path / "dev").write_text("".join(lines[:25]))
    (tmp_path / "test").write_text("".join(lines[25:]))
    report = ok("rescore", files.model, tmp_path / "test", "--dev", tmp_path / "dev", "--json").json
    assert (report["development"]["utterances"], report["test"]["utterances"]) == (25, 25)
    shared = modlm("rescore", files.model, lists, "--dev", tmp_path / "dev")
    assert (shared.code, "must not share" in shared.err) == (1, True)


def test_rescored_lists_and_best_hypotheses_are_written(files: Files, lists: Path, tmp_path: Path, ok: Modlm) -> None:
    out, best = tmp_path / "out.jsonl.gz", tmp_path / "best.txt"
    report = ok("rescore", files.model, lists, "--lm-weight", 5, "-o", out, "--best", best, "--json").json
    assert report["output"] == [str(out), str(best)]
    again = ok("rescore", files.model, out, "--lm-weight", 5, "--json").json
    assert again["test"]["wer"]["first_pass"] == report["test"]["wer"]["rescored"]
    records = [json.loads(line) for line in gzip.decompress(out.read_bytes()).splitlines()]
    assert best.read_text().splitlines() == [f"{record['utt']} {record['nbest'][0]['hyp']}" for record in records]
    for record in records:
        for entry in record["nbest"]:
            assert entry["total"] == pytest.approx(entry["score"] + 5 * entry["lm_log_prob"])


def test_without_references_the_best_hypotheses_are_printed(files: Files, tmp_path: Path, ok: Modlm) -> None:
    (tmp_path / "nbest").write_text("a-1 -1 q w\na-2 -1.5 e\nb -3 r\n".replace("b ", "b-1 "))
    assert ok("rescore", files.model, tmp_path / "nbest", "--lm-weight", 0).out == "a q w\nb r\n"
    (tmp_path / "moses").write_text("0 ||| q w ||| f= 1 ||| -1\n0 ||| e ||| f= 1 ||| -2\n")
    assert ok("rescore", files.model, tmp_path / "moses", "--lm-weight", 0, "--word-penalty", -3).out == "e\n"
    found = ok("rescore", files.model, tmp_path / "moses", "--lm-weight", 0, "--json").json
    assert found["best"] == [{"utt": "0", "hyp": "q w"}]


def test_kaldi_lists_with_score_files_and_references(files: Files, tmp_path: Path, ok: Modlm) -> None:
    (tmp_path / "text").write_text("a-1 q w\na-2 e\nb-1 r\nc-1 e\nc-2 q\n")
    (tmp_path / "ac").write_text("a-1 10\na-2 30\nb-1 5\nc-1 1\nc-2 2\n")
    (tmp_path / "ref").write_text("a e\nb r\nc e\n")
    options = ["--score-file", tmp_path / "ac", "--score-scale=-0.1", "--tune", tmp_path / "ref"]
    report = ok(
        "rescore", files.model, tmp_path / "text", *options, "--lm-weight", 0, "--word-penalty", -3, "--json"
    ).json
    assert (report["format"], report["test"]["wer"]["rescored"]["errors"]) == ("kaldi", 0)
    assert report["test"]["wer"]["first_pass"]["errors"] == 2  # "q w" for "e"


def test_neural_models_rescore_too(lists: Path, tmp_path: Path, ok: Modlm) -> None:
    pytest.importorskip("torch")
    from nets.small_mixtures import mixture_of

    model = mixture_of()
    model.save(tmp_path / "hybrid")
    (tmp_path / "nbest").write_text("u-1 -1 a b c\nu-2 -2 c b\n")
    out = ok("rescore", tmp_path / "hybrid", tmp_path / "nbest", "--lm-weight", 0.5, "-o", tmp_path / "out").out
    assert "wrote" in out
    totals = {line.split(" ", 2)[2]: float(line.split()[1]) for line in (tmp_path / "out").read_text().splitlines()}
    expected = {"a b c": -1 + 0.5 * model.score("a b c"), "c b": -2 + 0.5 * model.score("c b")}
    assert totals == pytest.approx(expected, abs=1e-5)


REFUSED = {
    "a missing file": (["none.jsonl"], "no such file"),
    "a damaged list": (["bad.jsonl"], "bad.jsonl, line 1: this is not JSON"),
    "a share above 1": (["LISTS", "--dev", "1.5"], "between 0 and 1"),
    "one session": (["LISTS", "--session", "s"], "one session"),
    "an unknown unit": (["LISTS", "--unit", "phones"], "words or characters"),
    "an unknown format": (["LISTS", "--format", "xml"], "auto, jsonl, kaldi, moses"),
    "scores that are no probabilities": (["LISTS", "--scores", "probability"], "between 0 and 1"),
    "references that lack": (["LISTS", "--tune", "few.txt"], "no reference for utterance"),
    "a weight that is none": (["LISTS", "--lm-weight", "nan"], "--lm-weight must be a finite number"),
    "a target that is there": (["LISTS", "-o", "few.txt"], "--force"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_mistakes_are_told_in_a_line(
    name: str, files: Files, lists: Path, modlm: Modlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(lists.parent)
    Path("bad.jsonl").write_text("{x\n")
    Path("few.txt").write_text("".join(f"s{n // 5}#{n % 5} a\n" for n in range(40)))
    arguments, message = REFUSED[name]
    outcome = modlm("rescore", files.model, *(lists if word == "LISTS" else word for word in arguments))
    assert (outcome.code, outcome.err.count("\n"), outcome.out) == (1, 1, "")
    assert message in outcome.err


def test_lists_from_standard_input(files: Files, ok: Modlm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("u-1 -1 q\nu-2 -2 w\n")
    with (tmp_path / "in").open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert ok("rescore", files.model, "-", "--lm-weight", 0).out == "u q\n"
