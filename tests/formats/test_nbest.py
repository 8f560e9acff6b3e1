"""N-best lists in every shape: what is read, what is refused, what is written."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from pathlib import Path

import numpy as np
import pytest
from tests.formats.nbest_samples import JSON_LINES, JSON_VARIANTS, KALDI, KALDI_COLUMN, KALDI_SCORES, MOSES

from modlm.errors import ConfigError, InputError
from modlm.formats.nbest import NBest, log_scores, read_nbest
from modlm.formats.nbest_writer import best_lines, write_best, write_nbest


def read(tmp_path: Path, text: str, **how: object) -> NBest:
    path = tmp_path / "lists"
    path.write_text(text, encoding="utf-8")
    return read_nbest(path, **how)  # type: ignore[arg-type]


def assert_the_two_lists(found: NBest) -> None:
    assert found.utterances == ("d1#0", "d2#0")
    assert found.starts.tolist() == [0, 2, 3]
    assert found.hypotheses == ("the bat sat", "the cat sat", "yes")
    assert found.scores.tolist() == [-1.5, -2.0, -0.5]
    assert found.list_of.tolist() == [0, 0, 1]


# ---- what is read --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [JSON_LINES, *JSON_VARIANTS.values()], ids=["nbest", *JSON_VARIANTS])
def test_json_lines_by_any_of_their_usual_names(tmp_path: Path, text: str) -> None:
    found = read(tmp_path, text)
    assert_the_two_lists(found)
    assert found.format == "jsonl"
    assert found.references == {"d1#0": "the cat sat", "d2#0": "yes"}


def test_kaldi_text_with_a_score_file(tmp_path: Path) -> None:
    (tmp_path / "scores").write_text(KALDI_SCORES)
    found = read(tmp_path, KALDI, score_files=[tmp_path / "scores"])
    assert_the_two_lists(found)
    assert (found.format, found.references) == ("kaldi", {})


def test_score_files_are_scaled_and_added(tmp_path: Path) -> None:
    (tmp_path / "ac_cost").write_text("a-1 100\na-2 90\n")
    (tmp_path / "lm_cost").write_text("a-2 3\na-1 1\n")
    files = [tmp_path / "ac_cost", tmp_path / "lm_cost"]
    found = read(tmp_path, "a-1 x\na-2 y\n", score_files=files, scales=[-0.1, -1.0])
    assert found.scores == pytest.approx([-11.0, -12.0])


def test_kaldi_text_with_scores_behind_the_names(tmp_path: Path) -> None:
    assert_the_two_lists(read(tmp_path, KALDI_COLUMN))


def test_kaldi_lists_sorted_by_name_are_put_in_order_of_their_numbers(tmp_path: Path) -> None:
    names = sorted(f"u-{n}" for n in range(1, 12))
    assert names[1] == "u-10"
    found = read(tmp_path, "".join(f"{name} -{name[2:]} w{name[2:]}\n" for name in names))
    assert found.utterances == ("u",)
    assert found.scores.tolist() == [-n for n in range(1, 12)]


def test_names_that_do_not_count_from_one_are_utterances_themselves(tmp_path: Path) -> None:
    assert read(tmp_path, "s-0001 -1 a\ns-0002 -2 b\n").utterances == ("s-0001", "s-0002")
    assert read(tmp_path, "s-7 -1 a\ns-8 -2 b\n").utterances == ("s-7", "s-8")
    assert read(tmp_path, "s -1 a\ns -2 b\n").starts.tolist() == [0, 2]


def test_a_hypothesis_may_be_empty(tmp_path: Path) -> None:
    assert read(tmp_path, "u-1 -1\nu-2 -2 a\n").hypotheses == ("", "a")
    assert read(tmp_path, "0 ||| ||| ||| -1\n").hypotheses == ("",)
    assert read(tmp_path, '{"utt": "u", "nbest": [{"hyp": "", "score": 0}]}\n').hypotheses == ("",)


def test_espnet_folders(tmp_path: Path) -> None:
    for n, text, score in [(1, "a x y\nb z\n", "a tensor(-1.5)\nb tensor(-0.25)\n"), (2, "a x\n", "a -2.5\n")]:
        place = tmp_path / f"{n}best_recog"
        place.mkdir()
        (place / "text").write_text(text)
        (place / "score").write_text(score)
    found = read_nbest(tmp_path)
    assert found.utterances == ("a", "b")
    assert found.hypotheses == ("x y", "x", "z")
    assert found.scores.tolist() == [-1.5, -2.5, -0.25]


def test_moses_lists(tmp_path: Path) -> None:
    found = read(tmp_path, MOSES)
    assert_the_two_lists(found)
    assert found.format == "moses"
    assert read(tmp_path, "0 ||| a b ||| -3\n").scores.tolist() == [-3.0]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_files(tmp_path: Path, pack: object) -> None:
    path = tmp_path / "lists"
    path.write_bytes(pack(JSON_LINES.encode()))  # type: ignore[operator]
    assert_the_two_lists(read_nbest(path))


def test_blank_lines_and_odd_spaces_do_not_matter(tmp_path: Path) -> None:
    assert_the_two_lists(read(tmp_path, MOSES.replace("\n", "\r\n\n").replace("the ", "the \t ")))


def test_scores_that_are_not_asked_for_may_lack(tmp_path: Path) -> None:
    assert read(tmp_path, '{"utt": "u", "nbest": ["a", "b"]}\n', scored=False).scores.tolist() == [0, 0]
    assert read(tmp_path, "u-1 a\nu-2 b\n", scored=False).hypotheses == ("a", "b")


# ---- what is refused -----------------------------------------------------------------------------------------------

GOOD = '{"utt": "u", "nbest": [{"hyp": "a", "score": -1}]}\n'
MALFORMED = {
    "an empty file": ("", "", "no hypotheses"),
    "no JSON": (GOOD + "{x}\n", "line 2", "not JSON"),
    "JSON that is no object": (GOOD + "[1]\n", "line 2", "one JSON object"),
    "deep JSON": ('{"utt": ' + "[" * 100_000, "line 1", "nested too deeply"),
    "an empty list": (GOOD + '{"utt": "v", "nbest": []}\n', "line 2", "is empty"),
    "a list that is none": ('{"utt": "v", "nbest": "a b"}\n', "line 1", "is a str"),
    "no list and no name": ('{"hyp": "a", "score": 1}\n', "line 1", "neither a list"),
    "an odd name": ('{"utt": [1], "nbest": ["a"]}\n', "line 1", "a string or a whole number"),
    "a hypothesis that is a number": ( '{"utt": "u", "nbest": [{"hyp": 3, "score": 1}]}\n', "line 1", "be a string"),
    "a score that is a word": ('{"utt": "u", "nbest": [{"hyp": "a", "score": "x"}]}\n', "line 1", "must be a number"),
    "no score": ('{"utt": "u", "nbest": [{"hyp": "a"}]}\n', "line 1", "has no score.*--scores none"),
    "a score that is NaN": ('{"utt": "u", "nbest": [{"hyp": "a", "score": NaN}]}\n', "line 1", "finite"),
    "a huge score": ('{"utt": "u", "nbest": [{"hyp": "a", "score": 1' + "0" * 400 + "}]}\n", "line 1", "finite"),
    "fewer scores": ('{"utt": "u", "nbest": ["a", "b"], "scores": [1]}\n', "line 1", "2 hypotheses.*scores are 1"),
    "half a character": ('{"utt": "u", "nbest": [{"hyp": "\\ud800", "score": 1}]}\n', "line 1", "surrogate"),
    "an utterance twice": (GOOD + GOOD, "line 2", "second time"),
    "an odd reference": ('{"utt": "u", "ref": 3, "nbest": [["a", 1]]}\n', "line 1", "not a string"),
    "a boundary in the words": (GOOD.replace('"a"', '"a </s>"'), "line 1", "</s>.*reserved"),
    "Kaldi without scores": ("u-1 a\nu-2 b\n", "line 1", "--score-file"),
    "Kaldi with a gap in the scores": ("u-1 -1 a\nu-2 b\n", "line 2", "no score"),
    "Kaldi's utterance twice": ("u -1 a\nv -1 a\nu -2 b\n", "line 3", "second time"),
    "a score that is nan": ("u-1 nan a\nu-2 -1 b\n", "line 1", "finite"),
    "Moses with one bar too few": ("0 ||| a || -1\n", "line 1", r"three bars"),
    "Moses without a number": ("0 ||| a ||| LM0= -1 ||| x\n", "line 1", "must be a number"),
    "Moses without an id": ("||| a ||| f= 1 ||| -1\n", "line 1", "id \\|\\|\\|"),
    "Moses' id again": ("0 ||| a ||| ||| -1\n1 ||| a ||| ||| -1\n0 ||| b ||| ||| -1\n", "line 3", "second time"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_are_refused_with_line_and_rule(tmp_path: Path, name: str) -> None:
    text, line, rule = MALFORMED[name]
    with pytest.raises(InputError, match=f"{line}.*{rule}"):
        read(tmp_path, text)


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "lists").write_bytes(b"u-1 -1 a\nu-2 -1 \xff\n")
    with pytest.raises(InputError, match=r"line 2.*UTF-8"):
        read_nbest(tmp_path / "lists")


def test_score_files_that_do_not_fit(tmp_path: Path) -> None:
    scores = tmp_path / "scores"
    scores.write_text("u-1 -1\n")
    with pytest.raises(InputError, match="line 2: there is no score for 'u-2'"):
        read(tmp_path, "u-1 a\nu-2 b\n", score_files=[scores])
    with pytest.raises(ConfigError, match="1 score files, but 2 scales"):
        read(tmp_path, "u-1 a\n", score_files=[scores], scales=[1, 2])
    with pytest.raises(ConfigError, match="go with Kaldi-style text"):
        read(tmp_path, MOSES, score_files=[scores])
    scores.write_text("u-1 -1\nu-1 -2\n")
    with pytest.raises(InputError, match="scores, line 2: 'u-1' comes a second time"):
        read(tmp_path, "u-1 a\n", score_files=[scores])
    scores.write_text("u-1 minus one\n")
    with pytest.raises(InputError, match=r"line 1.*a name and a number"):
        read(tmp_path, "u-1 a\n", score_files=[scores])


def test_unknown_formats_and_folders(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="auto, jsonl, kaldi, moses"):
        read(tmp_path, MOSES, form="xml")
    with pytest.raises(InputError, match="1best_recog"):
        read_nbest(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        read_nbest(tmp_path / "none")


# ---- what scores mean ----------------------------------------------------------------------------------------------


def test_scores_between_0_and_1_are_probabilities() -> None:
    logs, kind, floor = log_scores(np.array([0.5, 0.02, 0.0]))
    assert (kind, floor) == ("probability", 0.01)  # half of the smallest that is not 0
    assert logs == pytest.approx(np.log([0.5, 0.02, 0.01]))
    assert log_scores(np.array([0.5, 0.25]))[2] == 0.0


def test_other_scores_are_logarithms_unless_told_otherwise() -> None:
    assert log_scores(np.array([-3.0, 0.5]))[1] == "log"
    assert log_scores(np.array([0.0, 0.0]))[1] == "log"
    assert log_scores(np.array([0.5, 0.25]), "log")[0].tolist() == [0.5, 0.25]
    assert log_scores(np.array([3.0, 5.0]), "cost")[0].tolist() == [-3.0, -5.0]
    assert log_scores(np.array([3.0, 5.0]), "none")[0].tolist() == [0.0, 0.0]
    with pytest.raises(ConfigError, match=r"between 0 and 1, but there is a score of 3\.0"):
        log_scores(np.array([3.0, 0.5]), "probability")


# ---- what is written -----------------------------------------------------------------------------------------------

LOG_PROBS, TOTALS = np.array([-9.0, -3.0, -1.0]), np.array([-6.0, -3.5, -1.0])


def test_json_lines_keep_what_they_held(tmp_path: Path) -> None:
    write_nbest(read(tmp_path, JSON_LINES), tmp_path / "out", LOG_PROBS, TOTALS)
    first, second = map(json.loads, (tmp_path / "out").read_text().splitlines())
    assert first == {
        "utt": "d1#0",
        "ref": "the cat sat",
        "nbest": [
            {"hyp": "the cat sat", "score": -2, "lm_log_prob": -3.0, "total": -3.5},
            {"hyp": "the bat sat", "score": -1.5, "lm_log_prob": -9.0, "total": -6.0},
        ],
    }
    assert second["nbest"] == [{"hyp": "yes", "score": -0.5, "lattice": 7, "lm_log_prob": -1.0, "total": -1.0}]


@pytest.mark.parametrize("text", [JSON_LINES, *JSON_VARIANTS.values()])
def test_written_json_lines_are_read_again(tmp_path: Path, text: str) -> None:
    write_nbest(read(tmp_path, text), tmp_path / "out.xz", LOG_PROBS, TOTALS)
    again = read_nbest(tmp_path / "out.xz")
    assert again.hypotheses == ("the cat sat", "the bat sat", "yes")
    assert again.scores.tolist() == [-2.0, -1.5, -0.5]
    assert again.references == {"d1#0": "the cat sat", "d2#0": "yes"}


def test_kaldi_lists_are_numbered_anew(tmp_path: Path) -> None:
    write_nbest(read(tmp_path, KALDI_COLUMN), tmp_path / "out.gz", LOG_PROBS, TOTALS)
    expected = "d1#0-1 -3.500000 the cat sat\nd1#0-2 -6.000000 the bat sat\nd2#0-1 -1.000000 yes\n"
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).decode() == expected
    assert read_nbest(tmp_path / "out.gz").hypotheses == ("the cat sat", "the bat sat", "yes")


@pytest.mark.parametrize("end", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_files_are_packed_as_their_names_say(tmp_path: Path, end: str) -> None:
    if end == ".zst":
        pytest.importorskip("zstandard")
    write_nbest(read(tmp_path, MOSES), tmp_path / f"out{end}", LOG_PROBS, TOTALS)
    assert ((tmp_path / f"out{end}").read_bytes()[:4] == b"d1#0") == (end == "")
    assert read_nbest(tmp_path / f"out{end}").hypotheses == ("the cat sat", "the bat sat", "yes")


def test_moses_lists_get_a_feature(tmp_path: Path) -> None:
    write_nbest(read(tmp_path, MOSES), tmp_path / "out", LOG_PROBS, TOTALS)
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines[0] == "d1#0 ||| the cat sat ||| LM0= -4 WP0= -1 modlm= -3.000000 ||| -3.500000 ||| 0-0 1-1"
    assert lines[2] == "d2#0 ||| yes ||| LM0= -1 modlm= -1.000000 ||| -1.000000"


def test_best_hypotheses(tmp_path: Path) -> None:
    best = np.array([1, 2])
    assert list(best_lines(read(tmp_path, MOSES), best)) == ["the cat sat", "yes"]
    write_best(read(tmp_path, KALDI_COLUMN), tmp_path / "best", best)
    assert (tmp_path / "best").read_text() == "d1#0 the cat sat\nd2#0 yes\n"
