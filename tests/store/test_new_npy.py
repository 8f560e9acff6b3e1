"""Arrays in files that are filled through a map."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from modlm.errors import OutputError
from modlm.ground.files import new_folder
from modlm.store.npy import new_npy


def cannot(number: int) -> Callable[..., None]:
    def fail(*arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("shape", [(5,), (4, 3), (0,), (7, 0)])
def test_a_new_array_is_zeros_until_it_is_filled_and_then_what_numpy_would_save(
    shape: tuple[int, ...], tmp_path: Path
) -> None:
    made = new_npy(tmp_path / "made.npy", dtype="<f4", shape=shape)
    assert made.shape == shape and not made.any()
    made[...] = np.arange(made.size).reshape(shape)
    np.save(tmp_path / "saved.npy", np.arange(made.size, dtype="<f4").reshape(shape))
    assert (tmp_path / "made.npy").read_bytes() == (tmp_path / "saved.npy").read_bytes()


@pytest.mark.parametrize("how", ["the system's call", "another system", "another file system"])
def test_a_new_array_has_its_room_on_the_disk(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "another system":
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    elif how == "another file system":
        monkeypatch.setattr(os, "posix_fallocate", cannot(errno.EOPNOTSUPP), raising=False)
    made = new_npy(tmp_path / "made.npy", dtype="<f4", shape=(1_000_003,))
    assert not made.any()
    assert (tmp_path / "made.npy").stat().st_blocks * 512 >= made.nbytes  # a file with holes has fewer


def test_an_array_that_has_no_room_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "posix_fallocate", cannot(errno.ENOSPC), raising=False)
    with pytest.raises(OutputError, match="the disk is full"), new_folder(tmp_path / "folder") as place:
        new_npy(place / "made.npy", dtype="<f4", shape=(5,))
    assert list(tmp_path.iterdir()) == []
