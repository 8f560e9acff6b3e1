"""Folders come back as they were written, and whatever was done to one in between is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from modlm.errors import ConfigError, ModelFolderError, OutputError
from modlm.store.folder import Folder, open_folder, write_folder
from modlm.store.manifest import is_folder
from modlm.store.npy import DTYPES, NpyWriter, open_npy, write_npy

ABOUT = {"order": 3, "edge": "once", "levels": [0, 1, 5]}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    arrays = {"words": np.arange(7, dtype=np.uint32), "columns/ngram/probs": np.ones((3, 2), dtype=np.float32)}
    write_folder(tmp_path / "it", kind="thing", about=ABOUT, arrays=arrays, texts={"vocabulary.txt": "å\nb\n"})
    return tmp_path / "it"


def edit(place: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((place / "thing.json").read_text(encoding="utf-8"))
    change(manifest)
    (place / "thing.json").write_text(json.dumps(manifest), encoding="utf-8")


def opened(place: Path, **options: Any) -> Folder:
    return open_folder(place, kind="thing", **options)


@pytest.mark.parametrize("verify", ["fast", "full"])
def test_what_was_written_comes_back(place: Path, verify: Any) -> None:
    folder = opened(place, verify=verify)
    assert folder.about == ABOUT
    assert folder.array("words", np.uint32, length=7).tolist() == list(range(7))
    assert folder.arrays["columns/ngram/probs"].shape == (3, 2)
    assert folder.file("vocabulary.txt").read_text(encoding="utf-8") == "å\nb\n"
    assert folder.whole("order") == 3
    assert folder.word("edge", ("once", "repeat")) == "once"
    assert folder.wholes("levels") == (0, 1, 5)


def test_numpy_reads_the_arrays_without_us(place: Path) -> None:
    assert np.load(place / "words.npy", allow_pickle=False).tolist() == list(range(7))


def test_arrays_are_read_only(place: Path) -> None:
    with pytest.raises(ValueError, match="read-only"):
        opened(place).arrays["words"][0] = 1


def test_the_same_contents_give_the_same_bytes(place: Path, tmp_path: Path) -> None:
    folder = opened(place)
    write_folder(
        tmp_path / "again", kind="thing", about=folder.about, arrays=folder.arrays, texts={"vocabulary.txt": "å\nb\n"}
    )
    for file in place.rglob("*.*"):
        assert file.read_bytes() == (tmp_path / "again" / file.relative_to(place)).read_bytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0,), (1,), (5,), (2, 3), (0, 4)])
def test_every_kind_of_array_survives(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    for written in (array, array.astype(array.dtype.newbyteorder(">")), np.asfortranarray(array)):
        write_npy(tmp_path / "a.npy", written)
        found = open_npy(tmp_path / "a.npy", dtype=np.dtype(dtype), shape=shape)
        assert found.dtype == np.dtype(dtype) and np.array_equal(found, array)


def test_a_growing_array_has_the_same_bytes_as_one_written_at_once(tmp_path: Path) -> None:
    whole = np.arange(1000, dtype=np.uint32)
    with NpyWriter(tmp_path / "grown.npy", "<u4") as writer:
        for begin in range(0, 1000, 300):
            writer.append(whole[begin : begin + 300])
        assert writer.finish().tolist() == whole.tolist()
    write_npy(tmp_path / "whole.npy", whole)
    assert (tmp_path / "grown.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()


def test_links_are_followed(place: Path, tmp_path: Path) -> None:
    """Download caches keep the files elsewhere and link to them."""
    (place / "words.npy").rename(tmp_path / "blob")
    (place / "words.npy").symlink_to(tmp_path / "blob")
    assert len(opened(place, verify="full").arrays["words"]) == 7


def test_files_that_are_not_listed_do_not_matter(place: Path) -> None:
    (place / "notes.txt").write_text("mine")
    assert opened(place, verify="full").texts == ("vocabulary.txt",)


def cut(name: str, size: int) -> Callable[[Path], None]:
    def damage(place: Path) -> None:
        (place / name).write_bytes((place / name).read_bytes()[:size])

    return damage


def patched(name: str, at: int, data: bytes) -> Callable[[Path], None]:
    def damage(place: Path) -> None:
        whole = bytearray((place / name).read_bytes())
        whole[at : at + len(data)] = data
        (place / name).write_bytes(whole)

    return damage


def record(key: str, value: object, file: str = "words.npy") -> Callable[[Path], None]:
    return lambda place: edit(place, lambda manifest: manifest["files"][file].update({key: value}))


def entry(key: str, value: object) -> Callable[[Path], None]:
    return lambda place: edit(place, lambda manifest: manifest.update({key: value}))


def listed(name: str, value: object) -> Callable[[Path], None]:
    return lambda place: edit(place, lambda manifest: manifest["files"].update({name: value}))


def manifest_is(data: bytes) -> Callable[[Path], None]:
    def damage(place: Path) -> None:
        (place / "thing.json").write_bytes(data)

    return damage


DAMAGE = {
    "no manifest": (lambda place: (place / "thing.json").unlink(), "it has no thing.json"),
    "empty manifest": (manifest_is(b""), "thing.json cannot be read"),
    "manifest that is not JSON": (manifest_is(b"{"), "thing.json cannot be read"),
    "manifest that is not UTF-8": (manifest_is(b'{"\xff": 1}'), "thing.json cannot be read"),
    "manifest without end": (manifest_is(b"[" * 100_000), "thing.json cannot be read"),
    "manifest with an endless number": (manifest_is(b"9" * 100_000), "thing.json cannot be read"),
    "manifest that is a list": (manifest_is(b"[]"), "does not describe modlm thing"),
    "another format": (entry("format", "modlm corpus"), "does not describe modlm thing"),
    "newer version": (entry("version", 2), "made by a newer modlm.*pip install --upgrade"),
    "version as text": (entry("version", "1"), "no proper version"),
    "version true": (entry("version", True), "no proper version"),
    "version 0": (entry("version", 0), "no proper version"),
    "about a list": (entry("about", []), "lacks 'about'"),
    "no files": (entry("files", None), "lacks 'about' or 'files'"),
    "file above the folder": (listed("../x.npy", {}), "no name inside the folder"),
    "file above in the middle": (listed("columns/../../x.npy", {}), "no name inside the folder"),
    "absolute file": (listed("/etc/passwd", {}), "no name inside the folder"),
    "backslash": (listed("..\\x.npy", {}), "no name inside the folder"),
    "name with a line end": (listed("x\n.npy", {}), "no name inside the folder"),
    "name without end": (listed("x" * 5000, {}), "no name inside the folder"),
    "empty name": (listed("", {}), "no name inside the folder"),
    "record that is no object": (listed("words.npy", 5), "does not say what words.npy is"),
    "missing array": (lambda place: (place / "words.npy").unlink(), "words.npy: it is not there"),
    "missing text": (lambda place: (place / "vocabulary.txt").unlink(), "vocabulary.txt: it is not there"),
    "folder for a file": (listed("columns", {"bytes": 1}), "columns: it is not there"),
    "truncated array": (cut("words.npy", 150), "words.npy: it has 150 bytes, but thing.json lists 156"),
    "empty array file": (cut("words.npy", 0), "words.npy: it has 0 bytes"),
    "absurd size": (record("bytes", 10**30), "words.npy: it has 156 bytes"),
    "unknown dtype": (record("dtype", "|O"), "its dtype is '|O'"),
    "dtype that is a list": (record("dtype", ["<u4"]), "its dtype is"),
    "record of unknown dtype": (record("dtype", [["a", "<u4"], ["b", "|O"]]), "its dtype is"),
    "record with a name twice": (record("dtype", [["a", "<u4"], ["a", "<u4"]]), "its dtype is"),
    "record where numbers are": (record("dtype", [["a", "<u4"]]), "its header says .*, but a .*'a', '<u4'.* array"),
    "wrong dtype": (record("dtype", "<f4"), "its header says .*, but a float32 array"),
    "wrong shape": (record("shape", [6]), "its header says"),
    "negative shape": (record("shape", [-7]), "its shape is"),
    "true as a length": (record("shape", [True]), "its shape is"),
    "overflowing shape": (record("shape", [2**40, 2**40]), "its header says"),
    "shape without an axis": (record("shape", []), "its shape is"),
    "not an npy file": (patched("words.npy", 0, b"PK\x03\x04"), "does not begin like an .npy file"),
    "header of another length": (patched("words.npy", 8, b"\xff\xff"), "does not begin like an .npy file"),
    "objects in the header": (patched("words.npy", 20, b"'|O'"), "its header says"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named(place: Path, name: str) -> None:
    damage, message = DAMAGE[name]
    damage(place)
    with pytest.raises(ModelFolderError, match=message):
        opened(place)


def test_changed_contents_are_found_by_the_full_check_alone(place: Path) -> None:
    patched("words.npy", 140, b"\x07")(place)
    opened(place, verify="fast")
    with pytest.raises(ModelFolderError, match=r"words.npy: its contents have changed"):
        opened(place, verify="full")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match="There is no folder"):
        opened(tmp_path / "nothing")
    assert not is_folder(tmp_path / "nothing", kind="thing")


def test_verify_has_two_values(place: Path) -> None:
    with pytest.raises(ConfigError, match='verify must be "fast" or "full"'):
        opened(place, verify="none")


WRONG_PARTS: dict[str, tuple[Callable[[Folder], object], str]] = {
    "missing array": (lambda folder: folder.array("first", np.uint32), "the array 'first' is missing"),
    "other dtype": (lambda folder: folder.array("words", np.uint64), "holds uint32"),
    "other shape": (lambda folder: folder.array("columns/ngram/probs", np.float32), "not a row"),
    "other length": (lambda folder: folder.array("words", np.uint32, length=8), "has 7 entries"),
    "missing file": (lambda folder: folder.file("card.md"), "the file card.md is missing"),
    "number out of range": (lambda folder: folder.whole("order", high=2), "from 0 up to 2, but is 3"),
    "number that is a word": (lambda folder: folder.whole("edge"), "but is 'once'"),
    "unknown word": (
        lambda folder: folder.word("edge", ("repeat",)),
        "edge is 'once', which this version does not know: repeat",
    ),
    "word that is a number": (
        lambda folder: folder.word("order", ("once",)),
        "order is 3, which this version does not know",
    ),
    "no list": (lambda folder: folder.wholes("order"), "order must be a list"),
    "list out of range": (
        lambda folder: folder.wholes("levels", high=4),
        "from 0 up to 4, but is 5",
    ),
}


@pytest.mark.parametrize("name", WRONG_PARTS)
def test_asking_for_what_is_not_there_is_an_error_about_the_folder(place: Path, name: str) -> None:
    ask, message = WRONG_PARTS[name]
    with pytest.raises(ModelFolderError, match=message):
        ask(opened(place))


def test_an_existing_folder_is_kept_unless_asked(place: Path) -> None:
    with pytest.raises(OutputError, match="already exists"):
        write_folder(place, kind="thing", about={}, arrays={}, texts={})
    write_folder(place, kind="thing", about={}, arrays={}, texts={}, overwrite=True)
    assert opened(place).arrays == {}


def test_nothing_is_left_when_writing_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("modlm.store.folder.write_npy", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "it", kind="thing", about={}, arrays={"words": np.zeros(3)}, texts={})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verify", ["fast", "full"])
def test_a_manifest_in_which_any_byte_changed_is_refused(place: Path, verify: Any) -> None:
    sound = (place / "thing.json").read_bytes()
    for at in range(len(sound)):
        (place / "thing.json").write_bytes(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])
        with pytest.raises(ModelFolderError):
            opened(place, verify=verify)


def test_a_manifest_may_be_edited_when_its_sum_is_left_out(place: Path) -> None:
    edit(place, lambda manifest: manifest["about"].update(order=4))
    assert opened(place).whole("order") == 4
    with pytest.raises(ModelFolderError, match="its sha256 was left as it was"):
        opened(place, verify="full")
    edit(place, lambda manifest: manifest.pop("sha256"))
    assert opened(place, verify="full").whole("order") == 4


def test_an_entry_that_nobody_knows_is_refused(place: Path) -> None:
    edit(place, lambda manifest: manifest.update(extra=1))
    with pytest.raises(ModelFolderError, match="has an entry 'extra'"):
        opened(place)
