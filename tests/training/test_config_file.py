"""A run from a file, a preset and `--set`, and back to a file; mistakes are answered with path, value, right name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.errors import ConfigError, InputError
from modlm.nets.config import BlockDropoutConfig, NetConfig
from modlm.training.config import ColumnsConfig, RunConfig
from modlm.training.config_file import (
    assigned,
    check_files,
    find_table,
    merged,
    preset_names,
    read_config,
    run_config,
    settings,
    to_toml,
)

TEXTS = {"text": "/t/train.txt", "valid": "/t/valid.txt"}


def written(folder: Path, text: str) -> Path:
    path = folder / "run.toml"
    path.write_text(text, encoding="utf-8")
    return path


# ---- reading ---------------------------------------------------------------------------------------------------------


def test_a_file_gives_its_settings_and_the_defaults_for_the_rest(tmp_path: Path) -> None:
    path = written(tmp_path, 'text = "a.txt"\nvalid = "/else/b.txt"\n[net]\nbody = "gru"\nhidden = 50\n')
    config = read_config(path)
    assert config.text == (str(tmp_path / "a.txt"),)  # seen from the folder of the file
    assert config.valid == "/else/b.txt"
    assert (config.net.body, config.net.hidden, config.net.layers) == ("gru", 50, NetConfig().layers)
    assert config.kind == "hybrid"


@pytest.mark.parametrize(
    ("kind", "dropout", "rate", "inputs", "extra", "blocks"),
    [
        ("neural", 0.5, 0.0, ("word",), (), []),
        ("interpolated", 0.0, 0.0, ("counts", "word"), ("uniform", "unknown"), ["ngram"]),
        ("hybrid", 0.5, 0.5, ("counts", "word"), ("uniform", "unknown"), ["ngram"]),
    ],
)
def test_what_nobody_set_is_what_the_paper_did_for_this_kind(
    kind: str, dropout: float, rate: float, inputs: tuple[str, ...], extra: tuple[str, ...], blocks: list[str]
) -> None:
    config = run_config(TEXTS | {"kind": kind})
    assert (config.net.dropout, config.block_dropout.rate, config.net.inputs) == (dropout, rate, inputs)
    assert (config.extra, list(config.columns)) == (extra, blocks)


def test_a_named_block_takes_the_place_of_the_usual_one() -> None:
    config = run_config(TEXTS | {"columns": {"kn": {"order": 3}}})
    assert config.columns == {"kn": ColumnsConfig(order=3)}


def test_what_a_file_says_stands_above_what_is_usual() -> None:
    assert run_config(TEXTS | {"kind": "hybrid", "net": {"dropout": 0.1}}).net.dropout == 0.1


def test_positions_make_the_order_and_repeat_the_edge(tmp_path: Path) -> None:
    config = run_config(TEXTS | {"columns": {"skip": {"positions": [4, 3, 2]}}})
    skip = config.columns["skip"]
    assert (skip.order, skip.edge, skip.positions, skip.held_out) == (4, "repeat", (4, 3, 2), True)
    assert read_config(written(tmp_path, to_toml(config))) == config


# ---- --set -----------------------------------------------------------------------------------------------------------


def test_set_takes_its_type_from_the_field() -> None:
    changes = [
        "kind = interpolated",
        "net.hidden=64",
        "net.inputs=counts",
        "optimiser.learning_rate=3e-4",
        "schedule.epochs=2",
        "extra=uniform,unknown",
        "columns.kn.order=4",
        "columns.kn.smoothing='witten-bell'",
        "columns.skip.positions=4, 2",
        "block_dropout.groups=kn/uniform,unknown",
    ]
    config = run_config(assigned(dict(TEXTS), changes))
    assert (config.kind, config.net.hidden, config.net.inputs) == ("interpolated", 64, ("counts",))
    assert (config.optimiser.learning_rate, config.schedule.epochs) == (3e-4, 2.0)
    assert config.extra == ("uniform", "unknown")
    assert config.columns["kn"] == ColumnsConfig(order=4, smoothing="witten-bell")
    assert config.columns["skip"] == ColumnsConfig(positions=(4, 2))
    assert config.block_dropout.groups == (("kn",), ("uniform", "unknown"))


def test_lists_may_be_written_as_toml_or_empty() -> None:
    table = assigned({}, ['net.inputs=["word"]', "extra=", "net.tied=true", 'block_dropout.groups=[["a"], ["b", "c"]]'])
    assert table["net"] == {"inputs": ("word",), "tied": True}
    assert table["extra"] == ()
    assert table["block_dropout"]["groups"] == (("a",), ("b", "c"))


def test_files_in_set_are_seen_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = assigned({}, ["test=test.txt", "columns.news.text=a.txt,b.txt", "vocabulary.file="])
    assert table["test"] == str(tmp_path / "test.txt")
    assert table["columns"]["news"]["text"] == (str(tmp_path / "a.txt"), str(tmp_path / "b.txt"))
    assert table["vocabulary"]["file"] == ""


# ---- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[net]\nhiden = 3", ["net.hiden", "'hidden'"]),
        ("knd = 'hybrid'", ["knd", "'kind'"]),
        ("[nett]\nhidden = 3", ["nett", "'net'"]),
        ("[net]\nhidden = 'many'", ["net.hidden", "'many'".replace("'", '"'), "whole number"]),
        ("[net]\nhidden = 2.5", ["net.hidden", "2.5", "whole number"]),
        ("[net]\ntied = 1", ["net.tied", "1", "true or false"]),
        ("[net]\nbody = 'lstn'", ["net.body", "'lstn'", "'lstm'"]),
        ("[net]\ninputs = [1]", ["net.inputs", "[1]", "list of texts"]),
        ("net = 3", ["net", "3", "table"]),
        ("kind = 'hybird'", ["kind", "'hybird'", "'hybrid'"]),
        ("[columns.kn]\nsmoothing = 'kneserney'", ["columns.kn.smoothing", "'kneserney'", "'kneser-ney'"]),
        ("[columns.kn]\nordr = 3", ["columns.kn.ordr", "'order'"]),
        ("[columns.kn]\npositions = 3", ["columns.kn.positions", "list of whole numbers"]),
        ("[columns.kn]\npositions = ['2']", ["columns.kn.positions", "list of whole numbers"]),
        ("[columns.kn]\npositions = [0]", ["columns.kn.positions", "between 1"]),
        ("[columns.kn]\npositions = [3, 2]\norder = 4", ["columns.kn.order", "4", "2 positions make it 3"]),
        ("[columns.kn]\npositions = [3, 2]\nmodel = 'x'", ["columns.kn.positions", "Leave it out"]),
        ("[columns]\norder = 3", ["columns.order", "table"]),
        ("[columns.'a b']\norder = 3", ["columns.a b", "letters"]),
        ("[columns.uniform]\norder = 3", ["columns.uniform", "none of"]),
        ("[block_dropout]\ngroups = [['ngrm']]", ["block_dropout.groups", "'ngrm'", "'ngram'"]),
        ("[block_dropout]\ngroups = ['ngram']", ["block_dropout.groups", "list of lists"]),
        ("[optimiser]\nlearning_rate = -1", ["optimiser.learning_rate", "-1"]),
        ("kind = ", ["not a TOML file", "line 3"]),
        ("when = 2016-11-01", ["when"]),
        ("seed = 2016-11-01", ["seed", "2016-11-01"]),
    ],
)
def test_mistakes_in_a_file_name_the_file_the_setting_and_the_way_out(
    tmp_path: Path, text: str, parts: list[str]
) -> None:
    path = written(tmp_path, f"text = 'a'\nvalid = 'b'\n{text}\n")
    with pytest.raises(ConfigError) as raised:
        read_config(path)
    for part in [str(path), *parts]:
        assert part in str(raised.value)


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ("net.hiden=3", ["net.hiden", "'net.hidden'"]),
        ("hidden=3", ["hidden", "'net.hidden'"]),
        ("net.hidden=many", ["net.hidden", "'many'", "whole number"]),
        ("net.hidden=", ["net.hidden", "''", "whole number"]),
        ("net.tied=yes", ["net.tied", "'yes'", "true or false"]),
        ("columns.kn.positions=2,x", ["columns.kn.positions", "2,x", "list of whole numbers"]),
        ("net=3", ["net", "table", "net.hidden"]),
        ("columns.kn=3", ["columns.kn", "table"]),
        ("net.hidden", ["NAME=VALUE", "net.hidden"]),
        ("=3", ["NAME=VALUE"]),
    ],
)
def test_mistakes_in_set_name_the_setting_and_the_way_out(change: str, parts: list[str]) -> None:
    with pytest.raises(ConfigError) as raised:
        assigned(dict(TEXTS), [change])
    for part in parts:
        assert part in str(raised.value)


def test_a_missing_text_says_how_to_name_it() -> None:
    with pytest.raises(ConfigError, match=r"valid is missing.*--valid"):
        run_config({"text": "a"})


def test_files_that_are_not_there_are_told_before_anything_is_counted(tmp_path: Path) -> None:
    here = written(tmp_path, "a")
    config = RunConfig(text=str(here), valid=str(here), columns={"web": ColumnsConfig(text=("/no/web.txt",))})
    with pytest.raises(InputError, match=r"/no/web\.txt.*columns\.web\.text"):
        check_files(config)


# ---- presets ---------------------------------------------------------------------------------------------------------


PAPER = [name for name in preset_names() if name.startswith("paper/")]


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_presets_are_runs_with_the_papers_settings(name: str) -> None:
    config = run_config(merged(find_table(name), TEXTS))
    assert (config.net.hidden, config.net.layers, config.net.context) == (200, 1, "sentence")
    assert (config.optimiser.kind, config.optimiser.learning_rate) == ("adam", 0.001)
    assert (config.schedule.batch_words, config.folds, config.extra) == (512, 10, ("uniform", "unknown"))
    assert all((block.order, block.edge) == (5, "repeat") for block in config.columns.values())
    assert config.net.dropout == (0.0 if config.kind == "interpolated" else 0.5)


def test_the_presets_differ_in_what_their_names_say() -> None:
    runs = {name.removeprefix("paper/ptb-"): run_config(merged(find_table(name), TEXTS)) for name in PAPER}
    assert runs["hybrid"].block_dropout.rate == 0.5
    without = replace(runs["hybrid"], block_dropout=BlockDropoutConfig(rate=0.0))
    assert runs["hybrid-no-block-dropout"] == without
    assert runs["lstm"].kind == runs["ff"].kind == "neural"
    for name in ("ml-c-ff", "ml-c-lstm", "ml-cr-ff", "ml-cr-lstm", "kn-c-ff", "kn-c-lstm", "kn-cr-ff", "kn-cr-lstm"):
        family, inputs, body = name.split("-")
        run = runs[name]
        assert run.kind == "interpolated"
        assert run.net.body == {"ff": "feedforward", "lstm": "lstm"}[body]
        assert run.net.inputs == {"c": ("counts",), "cr": ("counts", "word")}[inputs]
        assert run.columns[family].smoothing == {"ml": "maximum-likelihood", "kn": "modified-kneser-ney"}[family]


def test_the_strong_hybrid_is_the_strong_lstm_with_counts_and_the_papers_size() -> None:
    hybrid, lstm = (run_config(merged(find_table(f"modern/ptb-{name}"), TEXTS)) for name in ("hybrid", "lstm"))
    assert (hybrid.net.body, hybrid.net.hidden, hybrid.net.layers, hybrid.net.context) == ("lstm", 200, 1, "sentence")
    assert replace(hybrid.net, inputs=("word",)) == lstm.net
    assert (hybrid.optimiser, hybrid.schedule, hybrid.extra) == (lstm.optimiser, lstm.schedule, lstm.extra)
    assert hybrid.columns == run_config(merged(find_table("paper/ptb-hybrid"), TEXTS)).columns


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'paper/ptb-hybrid'"):
        find_table("paper/ptb-hybird")


# ---- writing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", preset_names())
def test_a_written_run_reads_back_the_same(tmp_path: Path, name: str) -> None:
    config = run_config(merged(find_table(name), TEXTS))
    assert read_config(written(tmp_path, to_toml(config))) == config


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    numbers=st.tuples(st.floats(1e-300, 1e300), st.integers(2, 10**9), st.booleans()),
)
def test_any_text_and_number_survive_writing(
    tmp_path_factory: pytest.TempPathFactory, text: str, numbers: tuple[float, int, bool]
) -> None:
    rate, whole, truth = numbers
    table = {"optimiser": {"learning_rate": rate}, "folds": whole, "net": {"tied": truth}}
    columns = {"a-b": {"text": ("/" + text, "/x")}, "c": {"model": "/" + text}}
    config = run_config(TEXTS | table | {"text": "/" + text, "columns": columns})
    folder = tmp_path_factory.mktemp("toml")
    assert read_config(written(folder, to_toml(config))) == config


def test_the_training_page_names_every_setting() -> None:
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    for setting in settings():
        assert f"`{setting}`" in page, f"docs/training.md does not explain {setting}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("text = " + "[" * 5000, "brackets inside brackets"),
        ("seed = " + "9" * 5000, "is not a TOML file"),
        ("[optimiser]\nlearning_rate = " + "9" * 400, "learning_rate must be a number"),
        ("#" * (1 << 20) + "\n", "more than 1,048,576 bytes"),
        ("x" * 3000 + " = 1", "there is no setting xxx"),
    ],
)
def test_a_file_made_to_do_harm_is_refused_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(ConfigError, match=told) as caught:
        read_config(tmp_path / "config.toml")
    assert len(str(caught.value)) < 1000 and "\n" not in str(caught.value)
