"""Documents in files: whatever the form and the packing, the same documents, and broken ones named by their lines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.errors import InputError
from modlm.text import documents as module
from modlm.text.documents import Documents, document_batches

TEXTS = ["one line", "two\nlines", "ümläut “quoted”\n\nafter a blank line", "last"]


def all_of(path: Path, *, form: str = "auto", field: str = "text", batch_bytes: int = 40) -> Documents:
    found = Documents()
    for batch in document_batches([path], form=form, batch_bytes=batch_bytes):
        some = batch.documents(field)
        for name in ("texts", "records", "lines", "broken"):
            getattr(found, name).extend(getattr(some, name))
    return found


def json_lines(texts: list[str]) -> bytes:
    return "".join(json.dumps({"text": text, "n": n}) + "\n" for n, text in enumerate(texts)).encode()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_json_lines(tmp_path: Path, pack) -> None:
    (tmp_path / "d").write_bytes(pack(json_lines(TEXTS)))
    found = all_of(tmp_path / "d")
    assert found.texts == TEXTS and found.lines == [1, 2, 3, 4] and [one["n"] for one in found.records] == [0, 1, 2, 3]


def test_json_lines_without_orjson(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "orjson", None)
    loads, dumps = module.json_tools()
    assert loads is json.loads and loads(dumps({"ä": 1.5, "b": None})) == {"ä": 1.5, "b": None}
    monkeypatch.setattr(module, "LOADS", loads)
    (tmp_path / "d").write_bytes(json_lines(TEXTS) + b"{x\n")
    assert all_of(tmp_path / "d").texts == TEXTS and all_of(tmp_path / "d").broken[0].line == 5


def test_parquet(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [{"body": text, "n": n} for n, text in enumerate(TEXTS * 300)]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "d.parquet")
    found = all_of(tmp_path / "d.parquet", field="body")
    assert found.texts == TEXTS * 300 and found.records == rows and found.lines == list(range(1, len(rows) + 1))


def test_a_parquet_file_that_was_cut_off(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "d").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        all_of(tmp_path / "d")


paragraphs = st.lists(st.text("ab c", min_size=1).filter(str.strip), min_size=1, max_size=3).map("\n".join)


@given(
    texts=st.lists(paragraphs, max_size=8),
    gap=st.integers(2, 4),
    size=st.integers(1, 30),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_plain_text_has_blank_lines_between_documents(tmp_path_factory, texts, gap, size, end) -> None:
    path = tmp_path_factory.mktemp("plain") / "d"
    path.write_text((gap * "\n").join(texts).replace("\n", end), newline="")
    found = all_of(path, batch_bytes=size)
    assert found.texts == texts
    lines = path.read_text().split("\n")
    assert [lines[line - 1] for line in found.lines] == [text.split("\n")[0] for text in texts]


def test_broken_records_are_named_by_their_lines(tmp_path: Path) -> None:
    (tmp_path / "d").write_text('{"text": "good"}\n{"text": 3}\n\n[1]\nnot json\n{"body": "x", "n": 1}\n')
    found = all_of(tmp_path / "d", form="jsonl")
    assert found.texts == ["good"]
    assert [error.line for error in found.broken] == [2, 4, 5, 6]
    assert "type int" in str(found.broken[0]) and "strings here: body" in str(found.broken[3])


def test_bytes_that_are_not_utf_8_break_a_document_or_are_replaced(tmp_path: Path) -> None:
    for form, data in (("text", b"one\n\ntw\xff\n"), ("jsonl", b'{"text": "one"}\n\n{"text": "tw\xff"}\n')):
        (tmp_path / "d").write_bytes(data)
        *_, batch = document_batches([tmp_path / "d"], form=form)
        found = batch.documents()
        assert [error.line for error in found.broken] == [3] and "tw" not in "".join(found.texts)
        assert batch.documents(errors="replace").texts[-1] == "tw\ufffd"


def test_a_field_that_is_needed_breaks_a_record_without_it(tmp_path: Path) -> None:
    (tmp_path / "d").write_text('{"text": "a"}\n{"text": "b", "url": null}\n')
    (batch,) = document_batches([tmp_path / "d"])
    found = batch.documents(needs="url")
    assert found.texts == ["b"] and "'url'" in str(found.broken[0])


def test_a_json_array_says_how_to_write_it(tmp_path: Path) -> None:
    (tmp_path / "d").write_text('[{"text": "a"}]')
    with pytest.raises(InputError, match=r"jq -c"):
        all_of(tmp_path / "d")
