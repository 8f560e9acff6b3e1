"""Runs with a source: from files to a model that translates; what is refused; resumed to the same bits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.small_pairs import write_pairs

import modlm
from modlm.blocks.block import Beside
from modlm.counts.translation import align
from modlm.errors import ConfigError, InputError
from modlm.text.parallel import Parallel
from modlm.training.blocks import dense_blocks
from modlm.training.config import RunConfig
from modlm.training.config_file import check_files, read_config, run_config, to_toml
from modlm.training.rows import rows
from modlm.training.run import train
from modlm.training.signals import Interrupted
from modlm.training.texts import read_sources, read_texts

SMALL: dict[str, Any] = {
    "folds": 3,
    "vocabulary": {"min_count": 1},
    "net": {"hidden": 12},
    "schedule": {"epochs": 3.0, "batch_words": 60, "patience": 0},
    "optimiser": {"learning_rate": 0.02},
}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return write_pairs(tmp_path_factory.mktemp("pairs"))


def test_a_text_with_a_source_makes_a_conditional_model_that_translates(texts: dict[str, str], tmp_path: Path) -> None:
    lm = modlm.train(**texts, out=tmp_path / "run", **SMALL)  # type: ignore[arg-type]
    assert [name for name, _ in lm.blocks.items()] == ["ngram", "lexicon", "copy", "uniform", "unknown", "delta"]  # type: ignore[attr-defined]
    found = lm.perplexity(texts["test"], source=texts["test_source"])
    result = (tmp_path / "run" / "result.json").read_text(encoding="utf-8")
    assert f'"test_perplexity": {float(found):.4f}'[:24] in result
    assert float(found) < float(lm.perplexity(texts["test"], source=[""] * 12)), "the source helps"
    assert lm.described()["model"] == "conditional"
    (best,) = lm.translate(["f1 8"])
    assert set(best[0].words) <= set(lm.vocabulary.words)


def test_the_lexicon_is_held_out(texts: dict[str, str]) -> None:
    config = run_config({**SMALL, **texts})
    corpora = read_texts(config)
    pairs = read_sources(config, corpora)
    blocks = dense_blocks(config, corpora["train"], pairs["train"])
    assert len(blocks["lexicon"].folds) == 3 and not blocks["copy"].folds
    sources = pairs["train"].sources
    held_out = rows(corpora["train"], blocks, folds=3, sources=sources).over_sources
    told = rows(corpora["train"], blocks, sources=sources).over_sources
    assert held_out is not None and told is not None
    starts, cells = corpora["train"].starts, held_out.cells
    for sentence, fold in ((0, 0), (len(sources) - 1, 2)):
        ids = np.asarray(corpora["train"].ids[starts[sentence] : starts[sentence + 1]])
        own = blocks["lexicon"].folds[fold].rows(ids, Beside([sources[sentence]])).probs_TK[1:]
        found = held_out.log_probs["lexicon"][cells[sentence] : cells[sentence + 1]].reshape(own.shape)
        np.testing.assert_allclose(np.exp(found), own, atol=1e-6)
    first = [np.exp(own.log_probs["lexicon"][: cells[1]]).sum() for own in (told, held_out)]
    assert first[0] > first[1], "the word of the first sentence alone has a translation only if one has seen it"
    np.testing.assert_array_equal(held_out.log_probs["copy"], told.log_probs["copy"])


@pytest.mark.parametrize("per", ["exact", "example"])
def test_block_dropout_names_blocks_over_the_source(texts: dict[str, str], tmp_path: Path, per: str) -> None:
    dropped = {"rate": 0.5, "per": per, "groups": [["lexicon", "copy"], ["ngram"]]}
    short = {**SMALL, "schedule": {**SMALL["schedule"], "epochs": 0.5}}
    result = train(run_config({**short, **texts, "block_dropout": dropped}), tmp_path / "run", device="cpu")
    assert np.isfinite(result.valid_perplexity)


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(texts: dict[str, str], tmp_path: Path) -> None:
    config = run_config({**SMALL, **texts})
    whole = train(config, tmp_path / "whole", device="cpu")
    lines = list[object]()

    def stop(line: object) -> None:
        lines.append(line)
        if len(lines) == 3:
            raise Interrupted

    with pytest.raises(Interrupted):
        train(config, tmp_path / "parts", device="cpu", watch=stop)
    again = train(config, tmp_path / "parts", device="cpu", resume=True)
    assert again.test_perplexity == whole.test_perplexity


def test_a_fitted_mixer_takes_columns_over_the_source(texts: dict[str, str], tmp_path: Path) -> None:
    columns = {"lexicon": {"block": "lexicon"}, "copy": {"block": "copy"}}
    table = {**texts, "kind": "interpolated", "mixer": "static", "columns": columns, "folds": 3}
    result = train(run_config(table), tmp_path / "run")
    lm = modlm.load(tmp_path / "run")
    assert float(lm.perplexity(texts["test"], source=texts["test_source"])) == pytest.approx(result.test_perplexity)


def test_empty_lines_on_either_side_are_sentences_like_any_other(texts: dict[str, str], tmp_path: Path) -> None:
    holes = {}
    for name, path in texts.items():
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        for place in (2, 5) if "source" in name else (3, 5):  # without a source, without a target, without both
            lines[place] = ""
        holes[name] = str(tmp_path / name)
        Path(holes[name]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    lm = modlm.train(**holes, out=tmp_path / "run", **SMALL)  # type: ignore[arg-type]
    found = lm.perplexity(holes["test"], source=holes["test_source"])
    assert found.sentences == 12 and np.isfinite(float(found))
    told = json.loads((tmp_path / "run" / "result.json").read_text(encoding="utf-8"))
    assert told["test_perplexity"] == pytest.approx(float(found), rel=1e-4)
    assert len(list(lm.translate(["", "f1 8"], width=2))) == 2
    assert lm.given("").score("") < 0


@pytest.fixture
def lexicon(texts: dict[str, str], tmp_path: Path) -> Path:
    """A folder with the run's settings and, beside them, tables as a folder and as lines."""
    table = align(Parallel.read(Path(texts["source"]), Path(texts["text"]))).table
    table.save(tmp_path / "tables" / "folder")
    table.write(tmp_path / "tables" / "lines.tsv")
    return tmp_path


def from_file(texts: dict[str, str], lexicon: Path, settings: str) -> RunConfig:
    named = "".join(f'{name} = "{path}"\n' for name, path in texts.items())
    toml = lexicon / "run.toml"
    toml.write_text(
        f'{named}kind = "interpolated"\nmixer = "static"\nfolds = 3\n[vocabulary]\nmin_count = 1\n'
        f'[columns.estimated]\nblock = "lexicon"\n[columns.given]\nblock = "lexicon"\nsettings = {settings}\n'
    )
    return read_config(toml)


@pytest.mark.parametrize("file", ["tables/folder", "tables/lines.tsv"])
def test_a_table_from_a_file_stands_beside_an_estimated_one(
    texts: dict[str, str], lexicon: Path, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lexicon / "elsewhere").mkdir()
    monkeypatch.chdir(lexicon / "elsewhere")
    config = from_file(texts, lexicon, f'{{ file = "{file}" }}')
    assert config.columns["given"].settings["file"] == str(lexicon / file), "as seen from the settings"
    check_files(config)
    result = train(config, lexicon / "run")
    lm = modlm.load(lexicon / "run")
    own = {name: block.table.row("f1") for name, block in lm.blocks.items() if name in ("estimated", "given")}  # type: ignore[attr-defined]
    assert own["given"]["e1"] == pytest.approx(own["estimated"]["e1"], abs=1e-4)
    assert float(lm.perplexity(texts["test"], source=texts["test_source"])) == pytest.approx(result.test_perplexity)


def test_a_lexicon_that_is_not_there_or_is_estimated_as_well_is_refused(texts: dict[str, str], lexicon: Path) -> None:
    with pytest.raises(InputError, match=r"no such file, but columns\.given\.settings\.file names it"):
        check_files(from_file(texts, lexicon, '{ file = "none.tsv" }'))
    config = from_file(texts, lexicon, '{ file = "tables/lines.tsv", nonsense = 3, hmm = 2 }')
    with pytest.raises(ConfigError, match=r"columns\.given\.settings names a file and nonsense, hmm"):
        train(config, lexicon / "run")


def test_the_settings_come_back_from_their_file(texts: dict[str, str], tmp_path: Path) -> None:
    config = run_config({**SMALL, **texts})
    (tmp_path / "run.toml").write_text(to_toml(config), encoding="utf-8")
    assert read_config(tmp_path / "run.toml") == config


def test_what_has_no_source_is_refused(texts: dict[str, str]) -> None:
    alone = {name: path for name, path in texts.items() if "source" not in name}
    with pytest.raises(ConfigError, match="reads a source"):
        run_config({**alone, "kind": "conditional"})
    with pytest.raises(ConfigError, match="reads a source"):
        run_config({**alone, "kind": "neural", "net": {"body": "attention"}})
    with pytest.raises(ConfigError, match="valid_source"):
        run_config({**alone, "source": texts["source"]})
    with pytest.raises(ConfigError, match="reads a source"):
        config = run_config({**alone, "columns": {"lexicon": {"block": "lexicon"}}})
        dense_blocks(config, read_texts(config)["train"])


def test_texts_that_are_not_aligned_are_named_with_their_lines(texts: dict[str, str], tmp_path: Path) -> None:
    short = tmp_path / "short.txt"
    short.write_text("f1\nf2\n", encoding="utf-8")
    config = run_config({**SMALL, **texts, "source": str(short)})
    with pytest.raises(InputError, match=r"short\.txt has 2 lines and .*train\.target has 80"):
        train(config, tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()
