"""`modlm score --documents` and `modlm filter`: the same records however they come, and nothing lost by a kill."""

from __future__ import annotations

import gzip
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import modlm
from modlm.cli.app import run
from modlm.evaluation.ranking import Ranking

WORDS = "the a cat dog sat saw on mat rug said company it was not".split()
NAMES = ("perplexity", "bits_per_byte", "words", "unknown", "sentences")


def text_of(number: int) -> str:
    """Sentences of known words, worse and worse: the more of them are unknown."""
    words = [WORDS[(number * k) % len(WORDS)] if k % 10 >= number % 7 else f"qx{number}zv{k}" for k in range(1, 31)]
    return "\n".join(" ".join(words[at : at + 10]) for at in range(0, 30, 10))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("models") / "model"
    modlm.NgramLM.fit([text_of(7 * n).replace("\n", " ") for n in range(60)], order=3, spelling=True).save(place)
    return place


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("documents") / "d.jsonl"
    place.write_text("".join(json.dumps({"url": f"u{n}", "text": text_of(n)}) + "\n" for n in range(700)))
    return place


def records_of(path: Path) -> list[dict]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.decode().splitlines()]


def test_a_record_has_what_perplexity_says_of_the_document(model: Path, documents: Path, tmp_path: Path) -> None:
    assert run(["score", str(model), str(documents), "--documents", "--id", "url", "-o", str(tmp_path / "o")]) == 0
    records, lm = records_of(tmp_path / "o"), modlm.load(model)
    assert [record["id"] for record in records] == [f"u{n}" for n in range(700)]
    for n in (0, 3, 699):
        alone = lm.perplexity(text_of(n).split("\n"))
        assert records[n] == {"id": f"u{n}", **{name: pytest.approx(getattr(alone, name)) for name in NAMES}}


def test_forms_packings_workers_and_python_give_the_same_numbers(
    model: Path,
    documents: Path,
    tmp_path: Path,
    capsysbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = records_of(documents)
    (tmp_path / "d.gz").write_bytes(gzip.compress(documents.read_bytes()))
    (tmp_path / "d.txt").write_text("\n\n".join(row["text"] for row in rows))
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pytest.importorskip("pyarrow").Table.from_pylist(rows), tmp_path / "d.parquet")
    want = list(modlm.load(model).score_documents(rows, batch=13, workers=2))
    assert want == list(modlm.load(model).score_documents(row["text"] for row in rows))
    for name, more in (("d.gz", ["--workers", "3"]), ("d.txt", ["--workers", "1"]), ("d.parquet", [])):
        capsysbinary.readouterr()
        assert run(["score", str(model), str(tmp_path / name), "--documents", *more]) == 0
        found = [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()]
        assert [{key: one[key] for key in NAMES} for one in found] == [pytest.approx(one) for one in want], name


def test_keep_and_buckets(model: Path, documents: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.jsonl.gz"
    assert (
        run(["score", str(model), str(documents), "--documents", "--keep", "--buckets", "terciles", "-o", str(out)])
        == 0
    )
    records = records_of(out)
    assert [record["url"] for record in records] == [f"u{n}" for n in range(700)] and records[5]["text"] == text_of(5)
    places = sorted(range(700), key=lambda n: records[n]["perplexity"])
    names = [records[n]["bucket"] for n in places]
    assert names == sorted(names, key=["head", "middle", "tail"].index) and 200 <= names.count("head") <= 234
    assert (
        run(["score", str(model), str(documents), "--documents", "--buckets", "30,5000", "-o", str(tmp_path / "b")])
        == 0
    )
    for record in records_of(tmp_path / "b"):
        assert record["bucket"] == (record["perplexity"] > 30) + (record["perplexity"] > 5000)


def test_broken_records_stop_or_are_told_and_left_out(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "d").write_text('{"text": "the cat"}\n{"text": \n{"text": ""}\n{"body": "x"}\n{"text": "a dog"}\n')
    command = ["score", str(model), str(tmp_path / "d"), "--documents", "-o", str(tmp_path / "o")]
    assert run(command) == 1
    assert "line 2" in (told := capsys.readouterr().err) and "--on-error skip" in told
    assert list(tmp_path.glob("o*")) == []
    assert run([*command, "--on-error", "skip", "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["broken"] == 2 and "line 2" in shown.err and "line 4" in shown.err
    records = records_of(tmp_path / "o")
    assert [record["line"] for record in records] == [1, 3, 5] and records[1]["perplexity"] is None


SLOWLY = """
import sys, time
from modlm.evaluation import document_files
from modlm.text import documents
document_files.COMMIT_SECONDS = 0.0
documents.BATCH_BYTES, batches = 1 << 14, documents.document_batches
def slowly(*given, **named):
    for batch in batches(*given, **named, batch_bytes=1 << 13):
        time.sleep(0.02)
        yield batch
document_files.document_batches = slowly
from modlm.cli.app import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_killed_run_goes_on_and_no_record_is_lost_or_twice(
    model: Path, documents: Path, tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / f"o{suffix}"
    command = ["score", str(model), str(documents), "--documents", "--id", "url", "-o", str(out)]
    started = [sys.executable, "-c", SLOWLY, *command]
    kills = 0
    while kills < 3:
        journal = tmp_path / f"{out.name}.unfinished.json"
        before = json.loads(journal.read_text())["state"]["batches"] if journal.exists() else 0
        process = subprocess.Popen(started, env=os.environ, stderr=subprocess.PIPE)
        until = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < until:
            with_more = journal.exists() and json.loads(journal.read_text())["state"]["batches"] > before + 2
            if with_more:
                process.send_signal(signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.005)
        process.communicate()
        assert process.returncode == -signal.SIGKILL, "it was to be killed on the way"
        assert not out.exists()
    done = subprocess.run(started, env=os.environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "going on after" in done.stderr
    assert run([*command[:-1], str(tmp_path / f"whole{suffix}")]) == 0
    assert records_of(out) == records_of(tmp_path / f"whole{suffix}")
    assert not list(tmp_path.glob("*.unfinished*"))


def test_an_unfinished_file_of_other_settings_is_refused(
    model: Path, documents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "o.unfinished").write_text("x\n")
    (tmp_path / "o.unfinished.json").write_text(json.dumps({"about": {"field": "'body'"}, "bytes": 2, "state": {}}))
    command = ["score", str(model), str(documents), "--documents", "-o", str(tmp_path / "o")]
    assert run(command) == 1 and "field" in capsys.readouterr().err
    assert run([*command, "--force"]) == 0 and len(records_of(tmp_path / "o")) == 700


def test_a_pipe_sees_records_before_all_is_read(model: Path) -> None:
    command = [sys.executable, "-m", "modlm", "score", str(model), "--documents", "--workers", "3"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ) as process:
        assert process.stdin and process.stdout
        for words in (2, 5):
            process.stdin.write(json.dumps({"text": "cat " * words}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["words"] == words
        process.communicate(timeout=60)


def test_a_tokenizer_is_used_for_documents_too(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    pytest.importorskip("tokenizers")
    from tests.small_tokenizers import SENTENCES, byte_level

    (tmp_path / "tokenizer.json").write_bytes(byte_level())
    (tmp_path / "t.txt").write_text("\n".join(SENTENCES) + "\n")
    asked = ["--tokenizer", str(tmp_path / "tokenizer.json")]
    named = [str(tmp_path / name) for name in ("t.txt", "lm", "lm.arpa")]
    assert run(["ngram", named[0], "-o", named[1], "--arpa", named[2], "--order", "2", *asked]) == 0
    found = []
    for model, more in ((named[1], []), (named[2], asked)):
        capsysbinary.readouterr()
        assert run(["score", model, named[0], "--documents", *more]) == 0
        found.append(json.loads(capsysbinary.readouterr().out))
    assert found[1] == pytest.approx(found[0], rel=1e-5) and found[0]["unknown"] == 0


def test_what_cannot_be_read_or_written_leaves_nothing(model: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "empty").write_text("")
    (tmp_path / "folder").mkdir()
    command = ["score", str(model), str(tmp_path / "empty"), "--documents", "--force", "-o"]
    for name, message in (("o", "no documents"), ("folder", "is a folder")):
        assert run([*command, str(tmp_path / name)]) == 1 and message in capsys.readouterr().err
    filtered = ["filter", str(model), str(tmp_path / "empty"), "-o", str(tmp_path / "o"), "--keep-best", "5%"]
    assert run([*filtered, "--histogram", str(tmp_path / "x.foo")]) == 1 and "svg, png" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "folder"]


def test_filter_keeps_the_best_and_shows_what_it_did(
    model: Path, documents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    assert run(["score", str(model), str(documents), "--documents", "--keep", "-o", str(tmp_path / "all")]) == 0
    ranked = sorted(records_of(tmp_path / "all"), key=lambda record: record["perplexity"])
    capsys.readouterr()
    out = tmp_path / "best.jsonl"
    assert run(["filter", str(model), str(documents), "-o", str(out), "--keep-best", "30%", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    kept = records_of(out)
    assert report["kept"] == len(kept) == 210
    assert sum(record["perplexity"] for record in kept) == pytest.approx(
        sum(record["perplexity"] for record in ranked[:210]), rel=1e-3
    )
    assert [record["url"] for record in kept] == sorted((r["url"] for r in kept), key=lambda url: int(url[1:]))
    assert [math.exp(one["ranked_by"]) for one in report["best"]] == pytest.approx(
        [r["perplexity"] for r in ranked[:10]]
    )
    assert [math.exp(one["ranked_by"]) for one in report["worst"]] == pytest.approx(
        [r["perplexity"] for r in ranked[-10:]]
    )
    middle = [math.exp(one["ranked_by"]) for one in report["middle"]]
    assert ranked[300]["perplexity"] <= middle[0] <= middle[-1] <= ranked[400]["perplexity"]
    assert (tmp_path / "best.jsonl.svg").read_text().lstrip().startswith("<?xml")

    limit = ranked[100]["perplexity"]
    for more, want in (
        (["--max-perplexity", str(limit)], [r for r in ranked if r["perplexity"] <= limit]),
        (["--between", f"{limit},{1.5 * limit}"], [r for r in ranked if limit <= r["perplexity"] <= 1.5 * limit]),
    ):
        assert run(["filter", str(model), str(documents), "-o", str(out), "--force", *more]) == 0
        assert len(records_of(out)) == pytest.approx(len(want), abs=1)
        assert "documents kept" in capsys.readouterr().out


def test_a_file_named_txt_holds_the_texts_that_stay(model: Path, tmp_path: Path, capsys) -> None:
    texts = ["the cat sat\n on the mat", "xq zvw", "a dog saw the cat"]
    (tmp_path / "d.txt").write_text("\n\n".join(texts))
    (tmp_path / "d.jsonl").write_text(
        "".join(json.dumps({"text": text.replace("\n", "\n\n")}) + "\n" for text in texts)
    )
    for source in ("d.txt", "d.jsonl"):
        for name, more in (("a.txt", ["--keep-best", "67%"]), ("b.txt.gz", ["--max-perplexity", "1e6"])):
            call = ["filter", str(model), str(tmp_path / source), "-o", str(tmp_path / name), "--force", *more]
            assert run(call) == 0 and f"{name}: text" in capsys.readouterr().out
            data = (tmp_path / name).read_bytes()
            data = gzip.decompress(data) if name.endswith("gz") else data
            assert data.decode() == f"{texts[0]}\n\n{texts[2]}\n\n"
    assert run(["filter", str(model), str(tmp_path / "d.txt"), "-o", str(tmp_path / "o"), "--keep-best", "67%"]) == 0
    assert "o: JSON lines" in capsys.readouterr().out and len(records_of(tmp_path / "o")) == 2


def test_what_is_read_is_not_written_over(model: Path, documents: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "d.jsonl").write_bytes(documents.read_bytes())
    (tmp_path / "link").symlink_to(tmp_path / "d.jsonl")
    for command in (["score", "--documents"], ["filter", "--keep-best", "5%"]):
        for name in ("d.jsonl", "link"):
            call = [command[0], str(model), str(tmp_path / "d.jsonl"), "-o", str(tmp_path / name), *command[1:]]
            for force in ([], ["--force"]):
                assert run([*call, *force]) == 1
                assert "among the files that are read" in capsys.readouterr().err
    assert (tmp_path / "d.jsonl").read_bytes() == documents.read_bytes()


def test_what_score_refuses(model: Path, documents: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["score", str(model), str(documents), "--documents"]
    for more, message in ((["--words"], "Leave one of them out"), (["--buckets", "60,30"], "but are 60.0, 30.0")):
        assert run([*call, *more]) == 1
        assert message in capsys.readouterr().err


def test_the_histogram_leaves_out_the_tails() -> None:
    ranking = Ranking()
    values = np.append(np.linspace(4, 6, 1990), [-10.0] * 5 + [100.0] * 5)
    ranking.add(values, values < 5, [""] * 2000, [""] * 2000, 0)
    edges, every, kept = ranking.bars()
    assert len(every) == len(kept) == len(edges) - 1 <= 80
    assert 3.9 < edges[0] < 4.1 and 5.9 < edges[-1] < 6.1
    assert 1980 <= every.sum() <= 1992 and kept.sum() == pytest.approx(995, abs=8)
    assert all(len(part) for part in Ranking().bars()), "also of nothing"


def test_the_difference_of_two_models_finds_the_domain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    domain, general = ["the cat sat on the mat", "a cat saw the dog"], ["it was not the company", "the company said it"]
    modlm.NgramLM.fit(domain * 3, order=2, spelling=True).save(tmp_path / "in")
    modlm.NgramLM.fit((domain + general) * 3, order=2, spelling=True).save(tmp_path / "out")
    (tmp_path / "d.txt").write_text("the company was not it\n\nthe dog sat on the mat\n\nit said it\n\na cat sat")
    command = ["filter", str(tmp_path / "in"), str(tmp_path / "d.txt"), "-o", str(tmp_path / "o"), "--keep-best", "0.5"]
    assert run([*command, "--against", str(tmp_path / "out")]) == 0
    kept = records_of(tmp_path / "o")
    assert [record["text"] for record in kept] == ["the dog sat on the mat", "a cat sat"]
    first, second = modlm.load(tmp_path / "in"), modlm.load(tmp_path / "out")
    bits = [lm.perplexity(["a cat sat"]).bits_per_byte for lm in (first, second)]
    assert kept[1]["difference"] == pytest.approx(bits[0] - bits[1])


def test_models_with_and_without_spelling_do_not_compare(
    model: Path, documents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    modlm.NgramLM.fit(["the cat sat"], order=2).save(tmp_path / "plain")
    asked = [str(documents), "-o", str(tmp_path / "o"), "--keep-best", "5%", "--against"]
    for one, other in ((model, tmp_path / "plain"), (tmp_path / "plain", model)):
        assert run(["filter", str(one), *asked, str(other)]) == 1
        assert "Train both with --spelling, or neither" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "one of --max-perplexity"),
        (["--keep-best", "half"], "such as 30% or 0.3, not half"),
        (["--keep-best", "130%"], "up to 100%, such as 30% or 0.3, not 130%"),
        (["--between", "5,2"], "lower and an upper"),
        (["--between", "nan,2"], "lower and an upper"),
        (["--max-perplexity", "nan"], "not nan"),
        (["--max-perplexity", "5", "--against", "x"], "differences"),
    ],
)
def test_what_filter_refuses(
    model: Path, documents: Path, tmp_path: Path, capsys, more: list[str], message: str
) -> None:
    assert run(["filter", str(model), str(documents), "-o", str(tmp_path / "o"), *more]) == 1
    assert message in capsys.readouterr().err
