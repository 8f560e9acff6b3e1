"""Documents scored by Spark: the records and numbers of one machine, from one process and when a worker dies."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.counts.loopback_cluster import MARKS, SOURCE, conf_flags, with_a_death
from tests.counts.spark_here import QUICK

import modlm
from modlm.cli.app import run

pytestmark = [*MARKS, pytest.mark.filterwarnings("ignore")]
CONF = conf_flags(QUICK)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "model"
    modlm.NgramLM.fit(["the cat sat on the mat", "the dog sat", "a cat saw the dog"], order=3).save(folder)
    return folder


def records(place: Path) -> list[dict[str, Any]]:
    files = [place] if place.is_file() else sorted(place.glob("part-*"))
    found = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return sorted(found, key=lambda one: str(one["id"]))


def documents(path: Path, count: int) -> Path:
    rng, words = random.Random(1), "the cat dog sat on mat saw a zebra".split()
    texts = ["\n".join(" ".join(rng.choices(words, k=7)) for _ in range(3)) for _ in range(count)]
    path.write_text("".join(json.dumps({"id": i, "text": text, "url": None}) + "\n" for i, text in enumerate(texts)))
    return path


def test_records_are_those_of_one_machine(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow.parquet

    source = documents(tmp_path / "d.jsonl", 300)
    table = pyarrow.Table.from_pylist([json.loads(line) for line in source.read_text().splitlines()])
    pyarrow.parquet.write_table(table, tmp_path / "d.parquet")
    usual = ["--documents", "--buckets", "5,9", "--json"]
    for name, more in (("id", ["--id", "id"]), ("keep", ["--keep"])):
        assert run(["score", str(model), str(source), *usual, *more, "-o", str(tmp_path / name)]) == 0
        told = json.loads(capsys.readouterr().out)
        for form in ("jsonl", "parquet"):
            target = tmp_path / f"{name}-{form}"
            asked = ["score", str(model), str(tmp_path / f"d.{form}"), *usual, *more, "-o", str(target)]
            assert run([*asked, "--engine", "spark", "--master", "local[2]", *CONF]) == 0
            assert records(target) == records(tmp_path / name)
            assert json.loads(capsys.readouterr().out) == told | {"output": str(target)}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--id", "id"], "not JSON"),
        ([], "Name the documents with --id"),
        (["--id", "id", "--buckets", "terciles"], "one pass"),
        (["--id", "id", "--format", "text"], "JSON lines or Parquet"),
        (["--id", "id", "--conf", "cores=3"], "spark.NAME=VALUE"),
        (["--id", "id", "--engine", "sparc"], "threads or spark"),
        (["--id", "id", "--engine", "threads"], "--engine is threads"),
    ],
)
def test_what_is_refused_leaves_nothing(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    (tmp_path / "d.jsonl").write_text('{"id": 1, "text": "the cat"}\n{"id": 2, "tex\n')
    command = ["score", str(model), str(tmp_path / "d.jsonl"), "--documents", "-o", str(tmp_path / "out"), *more]
    assert run([*command, "--master", "local[1]", *CONF]) == 1
    told = capsys.readouterr().err
    assert message in told and "Traceback" not in told and told.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["d.jsonl"]


def test_broken_records_are_left_out_and_counted(model: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "d.jsonl").write_text('{"id": 1, "text": "the cat"}\n{"id": 2, "tex\n{"id": 3}\n')
    asked = [
        "score",
        str(model),
        str(tmp_path / "d.jsonl"),
        "--documents",
        "--id",
        "id",
        "--on-error",
        "skip",
        "--json",
    ]
    assert run([*asked, "-o", str(tmp_path / "out"), "--engine", "spark", "--master", "local[1]", *CONF]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["documents"], told["broken"], len(records(tmp_path / "out"))) == (1, 2, 1)


def parts_below(folder: Path) -> int:
    """How many part files there are; folders that Spark removes meanwhile are no error, as they would be for `glob`."""
    return sum(name.startswith("part-") for _, _, names in os.walk(folder) for name in names)


@pytest.mark.long  # the death of a worker while counting is among the short ones
def test_a_worker_that_dies_in_the_middle_loses_no_record(model: Path, tmp_path: Path) -> None:
    source = documents(tmp_path / "d.jsonl", 30_000)
    place = tmp_path / "out"
    with_a_death(
        tmp_path, "score", model, source, "--documents", "--id", "id", "-o", place,
        begun=lambda: parts_below(tmp_path) > 5,
        ended=place.exists,
        **{
            "spark.pyspark.python": sys.executable,
            "spark.executorEnv.PYTHONPATH": str(SOURCE),
            "spark.sql.files.maxPartitionBytes": "20000",
        },
    )  # fmt: skip
    assert run(["score", str(model), str(source), "--documents", "--id", "id", "-o", str(tmp_path / "alone")]) == 0
    assert records(place) == records(tmp_path / "alone")
