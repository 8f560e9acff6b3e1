"""`modlm train --source`, `eval --source` and `modlm translate`, on a tiny language."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Modlm
from tests.small_pairs import write_pairs

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return write_pairs(tmp_path_factory.mktemp("pairs"))


@pytest.fixture(scope="module")
def trained(texts: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    from modlm.cli.app import run

    out = tmp_path_factory.mktemp("runs") / "run"
    flags = [word for name, path in texts.items() for word in (f"--{name.replace('_', '-')}", path)]
    small = ["--hidden", "8", "--epochs", "1", "--set", "folds=3", "--min-count", "1", "--device", "cpu"]
    assert run(["train", *flags, *small, "-o", str(out)]) == 0
    return out


def test_perplexity_needs_the_source(modlm: Modlm, trained: Path, texts: dict[str, str]) -> None:
    told = modlm("eval", trained, texts["test"], "--source", texts["test_source"], "--json")
    assert told.code == 0 and told.json["perplexity"] > 1
    without = modlm("eval", trained, texts["test"])
    assert without.code == 1 and "--source TEXT" in without.err
    other = modlm("eval", trained, texts["test"], "--source", texts["valid_source"])
    assert other.code == 1 and "has 15 lines" in other.err and "has 12" in other.err


def test_scores_of_sentences_need_the_source(modlm: Modlm, trained: Path, texts: dict[str, str]) -> None:
    told = modlm("score", trained, texts["test"], "--source", texts["test_source"], "--json")
    whole = modlm("eval", trained, texts["test"], "--source", texts["test_source"], "--json").json
    assert sum(one["log_prob"] for one in told.json) == pytest.approx(whole["log_likelihood"], abs=1e-4)
    turned = Path(texts["test_source"]).with_name("turned")
    turned.write_text("\n".join(Path(texts["test_source"]).read_text().splitlines()[::-1]) + "\n")
    other = modlm("score", trained, texts["test"], "--source", turned, "--json")
    assert [one["log_prob"] for one in other.json] != [one["log_prob"] for one in told.json]
    short = modlm("score", trained, texts["test"], "--source", texts["valid_source"])
    assert short.code == 1 and "has 15 lines" in short.err
    for wrong in (["--documents"], [texts["valid"]]):
        refused = modlm("score", trained, texts["test"], *wrong, "--source", texts["test_source"])
        assert refused.code == 1 and "Name one text" in refused.err


def test_next_words_and_sentences_are_those_beside_the_source(modlm: Modlm, trained: Path) -> None:
    one, other = (modlm("next", trained, "", "--source", source, "--json").json for source in ("f1 f2", "f5"))
    assert {word["word"] for word in one} and [word["probability"] for word in one] != [
        word["probability"] for word in other
    ]
    assert any(share.startswith("lexicon[2] f2") for share in one[0]["shares"])
    drawn = modlm("generate", trained, "-n", "2", "--source", "f1", "--seed", "1")
    assert drawn.code == 0 and len(drawn.out.splitlines()) == 2


def test_a_command_that_is_given_no_source_refuses(
    modlm: Modlm, trained: Path, texts: dict[str, str], tmp_path: Path
) -> None:
    lists = tmp_path / "lists.jsonl"
    lists.write_text('{"utt": "a", "nbest": [{"text": "e1 e2", "score": -1.0}, {"text": "e2", "score": -2.0}]}\n')
    for asked in (
        ["eval", trained, texts["test"]], ["compare", trained, trained, texts["test"]],
        ["score", trained, texts["test"]], ["next", trained, "e1"], ["generate", trained],
        ["rescore", trained, lists], ["certify", trained, texts["test"]],
    ):  # fmt: skip
        told = modlm(*asked)
        assert told.code == 1 and not told.out, asked
        assert "reads the source of each sentence, but none was given. Give it: --source TEXT" in told.err, asked


def test_it_is_certified_beside_the_source(modlm: Modlm, trained: Path, texts: dict[str, str]) -> None:
    told = modlm(
        "certify", trained, texts["test"], "--source", texts["test_source"], "--positions", 4, "--tokens", 12, "--json"
    )
    assert told.code == 0 and told.json["holds"] and "source" in told.json["fingerprints"]
    short = modlm("certify", trained, texts["test"], "--source", texts["valid_source"])
    assert short.code == 1 and "has 15 lines" in short.err


def test_models_are_compared_beside_the_source(modlm: Modlm, trained: Path, texts: dict[str, str]) -> None:
    told = modlm("compare", trained, trained, texts["test"], "--source", texts["test_source"], "--json")
    assert told.code == 0 and told.json[1]["ratio"] == 1


def test_translations_stand_one_on_a_line(modlm: Modlm, trained: Path, texts: dict[str, str]) -> None:
    told = modlm("translate", trained, texts["test_source"], "--beam", "2")
    assert told.code == 0 and len(told.out.splitlines()) == 12
    several = modlm("translate", trained, texts["test_source"], "--beam", "2", "--n-best", "2")
    first = [line.split(" ||| ") for line in several.out.splitlines()]
    assert [cells[0] for cells in first] == [str(number) for number in range(12) for _ in range(2)]
    assert [cells[1] for cells in first[::2]] == told.out.splitlines()
    as_json = modlm("translate", trained, texts["test_source"], "--beam", "2", "--json").json
    assert [best[0]["text"] for best in as_json] == told.out.splitlines()


def test_standard_input_is_translated(modlm: Modlm, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"f1 f2\n\nf3\n")))
    told = modlm("translate", trained)
    assert told.code == 0 and len(told.out.splitlines()) == 3


def test_a_reference_gives_scores(modlm: Modlm, trained: Path, texts: dict[str, str]) -> None:
    pytest.importorskip("sacrebleu")
    told = modlm("translate", trained, texts["test_source"], "--reference", texts["test"], "--json")
    assert [own["metric"] for own in told.json[str(trained)]] == ["BLEU", "chrF"]
    both = modlm("translate", trained, texts["test_source"], "--reference", texts["test"], "--against", texts["test"])
    assert both.code == 0 and "p = " in both.out


def test_a_model_without_a_source_is_refused(modlm: Modlm, tmp_path: Path, texts: dict[str, str]) -> None:
    assert modlm("ngram", texts["text"], "-o", tmp_path / "model").code == 0
    told = modlm("translate", tmp_path / "model", texts["test_source"])
    assert told.code == 1 and "reads no source" in told.err
