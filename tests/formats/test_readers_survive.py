"""Whatever the bytes, a reader ends with a result or a ModlmError."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz.fuzz_readers import PIECES, READERS, Corpus, attempt, damaged, run


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("fuzz") / "file"
    for read, valid in READERS.values():
        place.write_bytes(valid)
        read(place)  # compiles, before anything is timed
    return place


@pytest.mark.parametrize("kind", READERS)
@given(data=st.binary(max_size=400))
def test_arbitrary_bytes(path: Path, kind: str, data: bytes) -> None:
    attempt(READERS[kind][0], data, path)


@pytest.mark.parametrize("kind", READERS)
@given(pieces=st.lists(st.sampled_from(PIECES) | st.binary(max_size=5), max_size=30))
def test_pieces_of_the_format_in_any_order(path: Path, kind: str, pieces: list[bytes]) -> None:
    attempt(READERS[kind][0], b"".join(pieces), path)


@pytest.mark.parametrize("kind", READERS)
@settings(max_examples=300)
@given(random=st.randoms(use_true_random=False))
def test_damaged_files(path: Path, kind: str, random: random.Random) -> None:
    read, valid = READERS[kind]
    attempt(read, damaged(valid, random), path)


@pytest.mark.parametrize("kind", READERS)
def test_every_truncation(path: Path, kind: str) -> None:
    read, valid = READERS[kind]
    for length in range(len(valid)):
        attempt(read, valid[:length], path)


@pytest.mark.parametrize("kind", READERS)
def test_the_long_run_begins_well(kind: str) -> None:
    outcomes = run(kind, seconds=30, most=500)
    assert outcomes.total() == 500 and outcomes["read"] > 0


@pytest.mark.parametrize("kind", READERS)
def test_inputs_that_once_got_a_new_answer(path: Path, kind: str) -> None:
    for data in Corpus.opened(kind).inputs:
        attempt(READERS[kind][0], data, path)
