"""What mapped files take of memory while they are copied."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from modlm.store import npy
from modlm.store.npy import AnyArray, forget, open_npy, write_npy

STATUS = Path("/proc/self/status")
SIZE = 8 << 20
pytestmark = pytest.mark.skipif(not STATUS.exists(), reason="only Linux tells what mapped files take")


def mapped_bytes() -> int:
    """Of all files together."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("RssFile"))
    return 1024 * int(line.split()[1])


@pytest.fixture
def mapped(tmp_path: Path) -> AnyArray:
    """32 MB."""
    array = np.arange(SIZE, dtype="<u4")
    write_npy(tmp_path / "array.npy", array)
    return open_npy(tmp_path / "array.npy", dtype=array.dtype, shape=array.shape)


def test_a_mapped_array_is_written_without_taking_its_size(
    mapped: AnyArray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(npy, "PIECE", 1 << 16)
    before = mapped_bytes()
    first = write_npy(tmp_path / "copy.npy", mapped)
    assert mapped_bytes() - before < mapped.nbytes / 4
    assert first == write_npy(tmp_path / "again.npy", np.arange(SIZE, dtype="<u4"))


def test_what_is_forgotten_is_still_there(mapped: AnyArray, tmp_path: Path) -> None:
    before = mapped_bytes()
    total = int(mapped.sum(dtype=np.int64))
    assert mapped_bytes() - before > mapped.nbytes / 2
    forget(mapped[5:].reshape(-1, 3))
    assert mapped_bytes() - before < mapped.nbytes / 4
    assert int(mapped.sum(dtype=np.int64)) == total


def test_what_is_written_nowhere_else_is_not_forgotten(mapped: AnyArray, tmp_path: Path) -> None:
    own = np.memmap(tmp_path / "array.npy", dtype="<u4", mode="c", offset=128)
    own[0] = 7
    forget(np.asarray(own))
    assert own[0] == 7
    forget(np.arange(3))  # in memory: nothing to do
