"""Reading: whatever the packing and the block size, the same lines come out, and what cannot be read says why."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.errors import InputError
from modlm.text.sources import PADDING, Files, Sentences, source_of

LINES = "the cat sat\nle chat était assis\n\nlast line\n".encode()


def content(source: Files | Sentences, block_bytes: int = 1 << 20) -> bytes:
    return b"".join(bytes(block.data[: block.size]) for block in source.blocks(block_bytes))


def zstandard_pack(data: bytes) -> bytes:
    return bytes(pytest.importorskip("zstandard").ZstdCompressor().compress(data))


PACKERS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstandard": zstandard_pack}


@given(data=st.binary(max_size=60), block_bytes=st.integers(1, 20))
def test_blocks_hold_whole_lines_and_all_of_them(tmp_path_factory, data, block_bytes):
    path = tmp_path_factory.mktemp("text") / "a.txt"
    path.write_bytes(b"text: " + data)
    blocks = list(Files([path]).blocks(block_bytes))
    assert all(block.data[block.size - 1] == ord("\n") for block in blocks)
    assert all(len(block.data) >= block.size + PADDING for block in blocks)
    expected = b"text: " + data
    assert b"".join(bytes(b.data[: b.size]) for b in blocks) == expected + b"\n" * (not expected.endswith(b"\n"))
    assert [b.offset for b in blocks] == [sum(c.size for c in blocks[:i]) for i in range(len(blocks))]


def test_an_empty_file_has_no_blocks_and_neither_has_a_lone_byte_order_mark(tmp_path):
    for data in (b"", b"\xef\xbb\xbf"):
        (tmp_path / "a").write_bytes(data)
        assert list(Files([tmp_path / "a"]).blocks()) == []


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 4, 100])
def test_a_byte_order_mark_is_dropped_at_the_start_of_each_file_only(tmp_path, block_bytes):
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n")
    assert content(Files([tmp_path / "a"] * 2), block_bytes) == b"one\n\xef\xbb\xbftwo\n" * 2


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("block_bytes", [5, 1 << 20])
def test_packed_files_are_known_by_their_content_and_not_by_their_name(tmp_path, name, block_bytes):
    (tmp_path / "text.txt").write_bytes(PACKERS[name](LINES))
    assert content(Files([tmp_path / "text.txt"]), block_bytes) == LINES


@pytest.mark.parametrize("name", PACKERS)
def test_packed_files_one_behind_the_other_are_one_text(tmp_path, name):
    pack = PACKERS[name]
    (tmp_path / "text").write_bytes(pack(LINES) + pack(b"more\n"))
    assert content(Files([tmp_path / "text"])) == LINES + b"more\n"


def test_zeros_behind_packed_data_are_filling(tmp_path):
    (tmp_path / "text").write_bytes(gzip.compress(LINES) + bytes(1000))
    assert content(Files([tmp_path / "text"])) == LINES


def test_a_plain_file_with_the_name_of_a_packed_one_is_plain(tmp_path):
    (tmp_path / "text.gz").write_bytes(LINES)
    assert content(Files([tmp_path / "text.gz"])) == LINES


def test_text_that_only_resembles_a_packing_is_text(tmp_path):
    (tmp_path / "text").write_bytes(b"BZh9 is how bzip2 files begin\n")
    assert content(Files([tmp_path / "text"])) == b"BZh9 is how bzip2 files begin\n"


@pytest.mark.parametrize("name", PACKERS)
def test_packed_data_that_is_cut_off_or_damaged_is_an_error_with_the_file(tmp_path, name):
    packed = PACKERS[name](bytes(range(32, 127)) * 50 + b"\n")
    path = tmp_path / "text"
    path.write_bytes(packed[:-9])
    with pytest.raises(InputError, match=r"text: the \w+ data (ends too early|is damaged)"):
        content(Files([path]))
    path.write_bytes(packed[:10] + bytes([byte ^ 0xFF for byte in packed[10:]]))
    with pytest.raises(InputError, match=r"text: the \w+ data (ends too early|is damaged)"):
        content(Files([path]))


def test_a_missing_zstandard_package_names_the_extra(tmp_path, monkeypatch):
    from modlm.errors import MissingPackageError

    (tmp_path / "text").write_bytes(b"\x28\xb5\x2f\xfd and so on")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingPackageError, match=r"'\.\[scale\]'"):
        content(Files([tmp_path / "text"]))


def test_a_missing_file_a_folder_and_a_bad_name_are_input_errors(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.txt: there is no such file"):
        content(Files([tmp_path / "nowhere.txt"]))
    with pytest.raises(InputError, match="this is a folder"):
        content(Files([tmp_path]))
    with pytest.raises(InputError, match="cannot be read"):
        content(Files(["a\0b"]))


def test_a_file_that_may_not_be_read_or_fails_while_read_is_an_input_error(tmp_path, monkeypatch):
    for error, message in ((PermissionError(13, "denied"), "permission"), (OSError(5, "bad disk"), "bad disk")):
        monkeypatch.setattr(Path, "open", Mock(side_effect=error))
        with pytest.raises(InputError, match=message):
            content(Files([tmp_path / "secret"]))


def test_utf_16_is_named_as_such(tmp_path):
    (tmp_path / "text").write_bytes("hello\n".encode("utf-16"))
    with pytest.raises(InputError, match="UTF-16"):
        content(Files([tmp_path / "text"]))


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_is_read_packed_or_not(monkeypatch, packed):
    data = gzip.compress(LINES) if packed else LINES
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    source = source_of("-")
    assert str(source) == "standard input"
    assert source.size() is None
    assert content(source) == LINES


def test_the_sizes_of_files_are_added_up(tmp_path):
    (tmp_path / "a").write_bytes(b"123\n")
    (tmp_path / "b").write_bytes(b"12345\n")
    source = source_of([tmp_path / "a", tmp_path / "b"])
    assert source.size() == 10
    assert sum(block.consumed for block in source.blocks()) == 10


def test_a_string_is_a_file_and_strings_in_a_list_are_sentences(tmp_path):
    (tmp_path / "a").write_bytes(LINES)
    assert content(source_of(str(tmp_path / "a"))) == LINES
    assert content(source_of(tmp_path / "a")) == LINES
    assert content(source_of(path for path in [tmp_path / "a"])) == LINES
    assert content(source_of(["a b", "c"])) == b"a b\nc\n"
    assert content(source_of(line for line in ["a b", "c"])) == b"a b\nc\n"
    assert content(source_of([["a", "b"], ("c",), []])) == b"a b\nc\n\n"
    assert content(source_of([])) == b""


def test_line_ends_inside_a_sentence_are_white_space():
    assert content(source_of(["a\n", "b\nc"])) == b"a \nb c\n"


def test_names_of_files_in_a_list_of_strings_are_taken_for_the_mistake_they_are(tmp_path):
    (tmp_path / "a").write_bytes(LINES)
    with pytest.raises(InputError, match=r"pathlib\.Path"):
        source_of([str(tmp_path / "a")])


def test_what_is_no_text_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="is a int"):
        source_of(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="line 2: a sentence is a string"):
        content(source_of(["a", 3]))  # type: ignore[list-item]
    with pytest.raises(InputError, match="paths only"):
        source_of([Path("a"), "b"])  # type: ignore[list-item]


@given(sentences=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8)), size=st.integers(1, 20))
def test_sentences_come_out_as_lines_whatever_the_block_size(sentences, size):
    expected = "".join(sentence.replace("\n", " ") + "\n" for sentence in sentences).encode()
    assert content(Sentences(sentences), size) == expected.removeprefix(b"\xef\xbb\xbf")


@pytest.mark.parametrize("change", ["longer", "cut", "other"])
def test_a_file_that_is_written_to_while_it_is_read_is_refused(tmp_path, change):
    path = tmp_path / "text"
    path.write_bytes(b"a b\n" * 1000)
    os.utime(path, (0, 0))
    blocks = Files([path]).blocks(100)
    next(blocks)
    if change == "cut":
        os.truncate(path, 2000)
    else:
        with path.open("ab" if change == "longer" else "r+b") as stream:
            stream.write(b"c d\n")
    with pytest.raises(InputError, match="was written to while it was read"):
        list(blocks)


def test_a_file_that_is_replaced_while_it_is_read_is_read_to_its_end(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"a b\n" * 1000)
    blocks = Files([path]).blocks(100)
    first = next(blocks).size
    (tmp_path / "new").write_bytes(b"c\n")
    (tmp_path / "new").rename(path)
    assert first + sum(block.size for block in blocks) == 4000


@pytest.mark.parametrize("name", PACKERS)
def test_packed_data_that_unpacks_to_far_too_much_is_refused(tmp_path, name, monkeypatch):
    monkeypatch.setattr("modlm.text.packing.FREE", 1 << 20)
    monkeypatch.setattr("modlm.text.packing.RATIO", 50)
    (tmp_path / "bomb").write_bytes(PACKERS[name](b"a" * (8 << 20)))
    sizes = []
    with pytest.raises(InputError, match="more than 50 times its size"):
        sizes += [block.size for block in Files([tmp_path / "bomb"]).blocks()]
    assert sizes == []  # a line without an end


@pytest.mark.parametrize("name", PACKERS)
def test_what_is_unpacked_at_a_time_is_bounded(tmp_path, name, monkeypatch):
    monkeypatch.setattr("modlm.text.packing.SLICE", 7)
    data = b"".join(b"line %d\n" % i for i in range(20_000))
    (tmp_path / "text").write_bytes(2 * PACKERS[name](data))
    assert content(Files([tmp_path / "text"])) == 2 * data


def test_a_line_without_an_end_is_refused_before_memory_is_full(tmp_path, monkeypatch):
    monkeypatch.setattr("modlm.text.sources.LINE_BYTES", 1000)
    (tmp_path / "text").write_bytes(b"a" * 5000)
    with pytest.raises(InputError, match="not a text"):
        list(Files([tmp_path / "text"]).blocks(100))
