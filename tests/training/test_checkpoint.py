"""Checkpoints are plain safetensors files, written whole or not at all."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from modlm.errors import ModelFolderError, OutputError
from modlm.training.checkpoint import CheckpointWriter, read_checkpoint, write_safetensors
from modlm.training.run_state import RunState

TENSORS = {"net.a": torch.arange(6.0).reshape(2, 3), "optimiser.step.0": torch.tensor(3.0), "state": torch.zeros(0, 2)}


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    writer = CheckpointWriter(tmp_path, {"config": {"seed": 1}})
    state = RunState(step=4, words=17, train_nll=0.1 + 0.2, best_step=4)
    writer.write(state, TENSORS, {"a": torch.ones(2)})
    writer.close()
    found = read_checkpoint(tmp_path)
    assert found is not None
    assert found.state == state
    assert found.run == {"config": {"seed": 1}}
    assert found.tensors.keys() == TENSORS.keys()
    assert all(torch.equal(found.tensors[name], tensor) for name, tensor in TENSORS.items())
    assert torch.equal(found.part("net")["a"], TENSORS["net.a"])
    assert torch.equal(found.best["a"], torch.ones(2))


def test_infinity_survives_and_no_checkpoint_is_none(tmp_path: Path) -> None:
    assert read_checkpoint(tmp_path) is None
    writer = CheckpointWriter(tmp_path, {})
    writer.write(RunState(), TENSORS, None)
    writer.close()
    found = read_checkpoint(tmp_path)
    assert found is not None
    assert found.state.best_valid == math.inf
    assert found.best == {}


def test_tensors_may_change_while_their_checkpoint_is_written(tmp_path: Path) -> None:
    writer, tensor = CheckpointWriter(tmp_path, {}), torch.zeros(1 << 20)
    writer.write(RunState(), {"net.a": tensor}, None)
    tensor.fill_(1.0)
    writer.close()
    found = read_checkpoint(tmp_path)
    assert found is not None
    assert float(found.tensors["net.a"].abs().max()) == 0.0


def test_only_the_newest_best_parameters_are_kept(tmp_path: Path) -> None:
    writer = CheckpointWriter(tmp_path, {})
    for step in (3, 9):
        writer.write(RunState(best_step=step), TENSORS, {"a": torch.full((2,), float(step))})
    writer.write(RunState(best_step=9), TENSORS, None)
    writer.close()
    names = {path.name for path in (tmp_path / "checkpoints").iterdir()}
    assert names == {"last.safetensors", "best-9.safetensors"}


def test_the_file_is_what_safetensors_reads(tmp_path: Path) -> None:
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array(7), "c": np.zeros((0, 3))}
    write_safetensors(tmp_path / "x.safetensors", arrays, {"note": "é"})
    found = load_file(tmp_path / "x.safetensors")
    assert all(
        np.array_equal(found[name], array) and found[name].dtype == array.dtype for name, array in arrays.items()
    )
    assert [path.name for path in tmp_path.iterdir()] == ["x.safetensors"]


def test_a_file_that_is_no_checkpoint_is_named(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    write_safetensors(tmp_path / "checkpoints" / "last.safetensors", {"a": np.zeros(2)}, {"format": "other"})
    with pytest.raises(ModelFolderError, match="'other', not"):
        read_checkpoint(tmp_path)


def test_a_failed_write_is_reported_by_the_next_call(tmp_path: Path) -> None:
    writer = CheckpointWriter(tmp_path, {})
    (tmp_path / "checkpoints").rmdir()
    writer.write(RunState(), TENSORS, None)
    with pytest.raises(OutputError, match="Cannot write"):
        writer.close()
