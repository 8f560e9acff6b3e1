"""convert and inspect."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Files, Modlm

import modlm
from modlm.counts import open_counts


def test_model_to_arpa_to_model_to_arpa_is_the_same_file(ok: Modlm, files: Files, tmp_path: Path) -> None:
    ok("convert", files.model, tmp_path / "a.arpa.gz")
    assert gzip.decompress((tmp_path / "a.arpa.gz").read_bytes()) == files.arpa.read_bytes()
    ok("convert", tmp_path / "a.arpa.gz", tmp_path / "back")
    ok("convert", tmp_path / "back", tmp_path / "b.arpa")
    assert (tmp_path / "b.arpa").read_bytes() == files.arpa.read_bytes()


def test_the_compact_form_and_back_is_the_same_model(ok: Modlm, files: Files, tmp_path: Path) -> None:
    small, back = tmp_path / "small", tmp_path / "back"
    ok("convert", files.model, small, "--form", "compact")
    assert "compact" in ok("inspect", small).out
    ok("convert", small, back, "--form", "fast")
    for array in sorted(files.model.rglob("*.npy")):
        assert (back / array.relative_to(files.model)).read_bytes() == array.read_bytes()
    ok("convert", small, tmp_path / "a.arpa")
    assert (tmp_path / "a.arpa").read_bytes() == files.arpa.read_bytes()
    ok("convert", small, tmp_path / "counts", "--to", "counts")
    ok("ngram", small, "-o", tmp_path / "more", "--form", "compact")
    assert (tmp_path / "more/columns/ngram/bits.npy").read_bytes() == (small / "columns/ngram/bits.npy").read_bytes()
    for command in (["eval", small, files.test], ["next", small, "a"], ["generate", small]):
        assert ok(*command)


def test_counts_to_a_file_and_back_are_the_same_counts(ok: Modlm, files: Files, tmp_path: Path) -> None:
    ok("convert", files.counts, tmp_path / "all.tsv")
    ok("convert", tmp_path / "all.tsv", tmp_path / "back")
    here, back = open_counts(files.counts), open_counts(tmp_path / "back")
    assert here.vocabulary == back.vocabulary and np.array_equal(here.frequencies, back.frequencies)
    ok("convert", files.model, tmp_path / "of-model.tsv")
    assert (tmp_path / "of-model.tsv").read_bytes() == (tmp_path / "all.tsv").read_bytes()
    ok("convert", files.model, tmp_path / "counts", "--to", "counts")
    assert open_counts(tmp_path / "counts").order == 3


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ("train", "x.arpa", "modlm ngram"),
        ("arpa", "x.counts", "no counts"),
        ("model", "x.gz", "--to"),
        ("counts", "x.arpa", "modlm ngram"),
    ],
)
def test_what_cannot_be_converted_says_why(
    modlm: Modlm, files: Files, tmp_path: Path, source: str, target: str, words: str
) -> None:
    outcome = modlm("convert", getattr(files, source), tmp_path / target)
    assert outcome.code == 1 and words in outcome.err and not (tmp_path / target).exists()


def test_a_source_that_is_missing_is_said_to_be(modlm: Modlm, tmp_path: Path) -> None:
    outcome = modlm("convert", tmp_path / "none.bin", tmp_path / "a.arpa")
    assert outcome.code == 1 and "There is no" in outcome.err and not (tmp_path / "a.arpa").exists()


def test_json_says_what_became_what(ok: Modlm, files: Files, tmp_path: Path) -> None:
    found = ok("convert", files.model, tmp_path / "a.arpa", "--json").json
    assert (found["from"], found["to"], found["output"]) == ("model", "arpa", str(tmp_path / "a.arpa"))


def test_an_unknown_format_lists_the_known_ones(modlm: Modlm, files: Files, tmp_path: Path) -> None:
    outcome = modlm("convert", files.model, tmp_path / "x", "--to", "parquet")
    assert outcome.code == 1 and "count-file" in outcome.err


def test_no_kenlm_binary_is_written_and_no_folder_in_its_place(modlm: Modlm, files: Files, tmp_path: Path) -> None:
    outcome = modlm("convert", files.model, tmp_path / "x.binary")
    assert outcome.code == 1 and "build_binary" in outcome.err and "x.arpa" in outcome.err
    assert not (tmp_path / "x.binary").exists()
    assert modlm("convert", files.model, tmp_path / "x.binary", "--to", "model").code == 0


def test_inspect_knows_every_kind(ok: Modlm, files: Files, tmp_path: Path) -> None:
    ok("convert", files.counts, tmp_path / "all.counts")
    modlm.Corpus.from_text(files.test, folder=tmp_path / "corpus")
    kinds = {
        files.model: "model",
        files.counts: "counts",
        files.arpa: "arpa",
        files.train: "text",
        tmp_path / "all.counts": "count file",
        tmp_path / "corpus": "corpus",
    }
    for path, kind in kinds.items():
        assert ok("inspect", path, "--json").json["kind"] == kind
        assert kind in ok("inspect", path, "--verify").out


def test_inspect_gives_the_numbers_of_a_model(ok: Modlm, files: Files) -> None:
    about = ok("inspect", files.model, "--json").json
    model = modlm.load(files.model)
    assert about["order"] == 3 and about["words"] == len(model.vocabulary)
    assert about["vocabulary"] == model.vocabulary.fingerprint
    assert about["ngrams"] == ok("inspect", files.arpa, "--json").json["ngrams"]
    assert set(about["files"]) >= {"vocabulary.txt", "card.md"}
    assert any(name.startswith("columns/ngram/") for name in about["files"])


def test_a_run_folder_stands_for_its_model(ok: Modlm, files: Files, tmp_path: Path) -> None:
    ok("convert", files.arpa, tmp_path / "run" / "model")
    assert ok("inspect", tmp_path / "run", "--json").json["order"] == 3
    assert ok("eval", tmp_path / "run", files.test, "--json").json["perplexity"] > 1
