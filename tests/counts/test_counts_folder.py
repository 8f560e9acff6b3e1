"""Counts come back from disk as they were, and a folder that was tampered with is turned down."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.counts.same_counts import assert_same_arrays

from modlm.counts import Counts, SkipCounts, count_text, open_counts
from modlm.errors import ModelFolderError, OutputError
from small_texts import EDGES, TEXTS

TEXT = TEXTS["random sentences"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    count_text(TEXT, order=3).save(tmp_path / "counts")
    return tmp_path / "counts"


@pytest.mark.parametrize("verify", ["fast", "full"])
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("order", [1, 2, 5])
def test_counts_come_back(order: int, edge: str, verify: Any, tmp_path: Path) -> None:
    counts = count_text(TEXT, order=order, edge=edge)
    counts.save(tmp_path / "counts")
    assert_same_arrays(open_counts(tmp_path / "counts", verify=verify), counts)


@pytest.mark.parametrize("positions", [(2,), (4, 3, 2), (1, 2, 3), (3, 1)])
def test_skip_counts_come_back(positions: tuple[int, ...], tmp_path: Path) -> None:
    counts = count_text(TEXT, positions=positions)
    counts.save(tmp_path / "counts")
    opened = open_counts(tmp_path / "counts", verify="full")
    assert isinstance(opened, SkipCounts) and opened.positions == positions
    assert_same_arrays(opened, counts)


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_awkward_texts_pass_the_full_check(text: list[str], tmp_path: Path) -> None:
    for number, options in enumerate(({"order": 4}, {"order": 4, "edge": "repeat"}, {"positions": (5, 2)})):
        count_text(text, **options).save(tmp_path / str(number))  # type: ignore[arg-type]
        open_counts(tmp_path / str(number), verify="full")


def test_methods_do_the_same(tmp_path: Path) -> None:
    counts = count_text(TEXT, order=3)
    counts.save(tmp_path / "counts")
    assert_same_arrays(open_counts(tmp_path / "counts", verify="full"), counts)
    with pytest.raises(OutputError, match="already exists"):
        counts.save(tmp_path / "counts")
    counts.save(tmp_path / "counts", overwrite=True)


def test_wide_frequencies_and_cut_offs_are_kept(tmp_path: Path) -> None:
    counts = count_text(TEXT, order=2)
    wide = Counts(
        counts.vocabulary, counts.trie, counts.frequencies.astype(np.uint64) << np.uint64(33), cut_off=(5, 40)
    )
    wide.save(tmp_path / "wide")
    assert_same_arrays(open_counts(tmp_path / "wide", verify="full"), wide)


def test_the_files_are_those_that_the_specification_lists(place: Path) -> None:
    names = {"counts.json", "vocabulary.txt", "words.npy", "first.npy", "suffix.npy", "frequencies.npy"}
    assert {path.name for path in place.iterdir()} == names
    about = json.loads((place / "counts.json").read_text(encoding="utf-8"))["about"]
    assert set(about) == {"order", "edge", "levels", "sentences", "cut_off", "vocabulary"}


def rewrite(place: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((place / "counts.json").read_text(encoding="utf-8"))
    change(manifest["about"])
    (place / "counts.json").write_text(json.dumps(manifest), encoding="utf-8")


def replace(place: Path, name: str, data: bytes) -> None:
    """Change a file together with what the manifest says of it: only the meaning is wrong then."""
    (place / name).write_bytes(data)
    manifest = json.loads((place / "counts.json").read_text(encoding="utf-8"))
    del manifest["sha256"]
    manifest["files"][name] |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (place / "counts.json").write_text(json.dumps(manifest), encoding="utf-8")


def entry(name: str, value: object) -> Callable[[Path], None]:
    return lambda place: rewrite(place, lambda about: about.update({name: value}))


WRONG: dict[str, tuple[Callable[[Path], None], str]] = {
    "order as text": (entry("order", "3"), "order must be a whole number"),
    "another order": (entry("order", 4), "its order is 4, but"),
    "unknown edge": (entry("edge", "thrice"), "edge is 'thrice', .* does not know: once, repeat"),
    "negative sentences": (entry("sentences", -1), "sentences must be"),
    "levels missing": (entry("levels", None), "levels must be a list"),
    "levels too short": (entry("levels", [0, 1]), "do not fit a vocabulary"),
    "levels falling": (entry("levels", [0, 1, 11, 9, 300]), "do not fit a vocabulary"),
    "levels absurd": (
        entry("levels", [0, 1, 11, 2**70, 2**71]),
        "levels must be a whole number from 0 up to 2814",
    ),
    "levels of another size": (entry("levels", [0, 1, 12, 13, 14]), "has .* entries"),
    "cut_off of strings": (entry("cut_off", ["a"]), "cut_off must be a whole number"),
    "another fingerprint": (entry("vocabulary", "0" * 64), "is not the vocabulary"),
    "positions that are none": (entry("positions", [0, 0]), "context_levels"),
    "other words": (lambda place: replace(place, "vocabulary.txt", b"<unk>\n</s>\nx\n"), "is not the vocabulary"),
    "no vocabulary": (lambda place: replace(place, "vocabulary.txt", b"what\n"), "vocabulary.txt"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_is_turned_down(place: Path, name: str) -> None:
    damage, message = WRONG[name]
    damage(place)
    with pytest.raises(ModelFolderError, match=message):
        open_counts(place)


EDITS: dict[str, tuple[str, int, int]] = {
    "a suffix that points to itself": ("suffix", -1, 10**6),
    "a suffix two orders down": ("suffix", -1, 3),
    "followers outside": ("first", 5, 2**32 - 1),
    "followers that go back": ("first", 6, 1),
    "a root without words": ("first", 0, 7),
    "words out of order": ("words", -1, 0),
    "a word that is none": ("words", -1, 2**31),
    "words that are other words": ("words", 4, 9),
}


@pytest.mark.parametrize("name", EDITS)
def test_the_full_check_finds_links_that_lead_astray(place: Path, name: str) -> None:
    file, at, value = EDITS[name]
    array = np.load(place / f"{file}.npy").copy()
    array[at] = value
    np.save(place / f"{file}.npy", array)
    replace(place, f"{file}.npy", (place / f"{file}.npy").read_bytes())
    with pytest.raises(ModelFolderError):
        open_counts(place, verify="full")
