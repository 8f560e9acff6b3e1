"""Checkpoints: one safetensors file with all tensors and, as JSON in its header, where the run stands. No pickles.

    checkpoints/last.safetensors          parameters, optimiser, states of a document; `standing`, `run` in the header
    checkpoints/best-<step>.safetensors   parameters of the best evaluation

A file is written aside, forced to the disk and renamed; the best parameters are written before the checkpoint that
names them. So whenever a run is killed, there is a whole checkpoint or none. Writing happens on a thread of its own
from copies; training waits only for the copying.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from modlm.errors import ModelFolderError, require
from modlm.ground.files import new_file
from modlm.ground.leftovers import sweep_folder
from modlm.training.distributed import Processes
from modlm.training.run_state import RunState

FOLDER = "checkpoints"
LAST = "last.safetensors"
FORMAT = "modlm-checkpoint/1"
TYPES = {np.dtype("float32"): "F32", np.dtype("float64"): "F64", np.dtype("int64"): "I64"}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a run can be taken up from."""

    state: RunState
    run: dict[str, Any]  # the configuration and the fingerprints of texts, as JSON
    tensors: dict[str, Tensor]
    best: dict[str, Tensor]  # the best parameters; none before the first evaluation

    def part(self, name: str) -> dict[str, Tensor]:
        """Tensors of one part, `net` say, without its name."""
        return {key.partition(".")[2]: value for key, value in self.tensors.items() if key.partition(".")[0] == name}


class CheckpointWriter:
    """Writes checkpoints of one run into `checkpoints/`; `close` waits for the last of them."""

    def __init__(self, folder: Path, run: Mapping[str, Any]) -> None:
        self.folder = folder / FOLDER
        self.run = dict(run)
        self.folder.mkdir(parents=True, exist_ok=True)
        sweep_folder(self.folder)  # of what a run left that was killed
        self._thread = ThreadPoolExecutor(1, "checkpoint")
        self._writing: Future[None] | None = None
        self._copies: dict[str, np.ndarray] = {}

    def write(self, state: RunState, tensors: Mapping[str, Tensor], best: Mapping[str, Tensor] | None) -> None:
        """Copy everything and write it in the background; `best` only when it is new."""
        self.wait()
        arrays = {name: self._copy(f"last/{name}", tensor) for name, tensor in tensors.items()}
        best_arrays = {name: self._copy(f"best/{name}", tensor) for name, tensor in (best or {}).items()}
        header = {"format": FORMAT, "standing": json.dumps(asdict(state)), "run": json.dumps(self.run)}
        self._writing = self._thread.submit(self._write, header, arrays, best_arrays, state.best_step)

    def _copy(self, name: str, tensor: Tensor) -> np.ndarray:
        """Into memory that is kept from one checkpoint to the next."""
        source = tensor.detach().cpu()
        copy = self._copies.get(name)
        if copy is None or copy.shape != tuple(source.shape):
            copy = self._copies[name] = np.empty(tuple(source.shape), source.numpy().dtype)
        torch.from_numpy(copy).copy_(source)
        return copy

    def _write(
        self, header: dict[str, str], arrays: Mapping[str, np.ndarray], best: Mapping[str, np.ndarray], step: int
    ) -> None:
        if best:
            write_safetensors(self.folder / best_name(step), best, {"format": FORMAT})
        write_safetensors(self.folder / LAST, arrays, header)
        for other in self.folder.glob("best-*.safetensors"):
            if other.name != best_name(step):
                other.unlink(missing_ok=True)

    def wait(self) -> None:
        """Until the checkpoint under way is on the disk; an error in writing it comes out here."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def close(self) -> None:
        with self._thread:
            self.wait()


def best_name(step: int) -> str:
    return f"best-{step}.safetensors"


def write_safetensors(path: Path, arrays: Mapping[str, np.ndarray], header: Mapping[str, str]) -> None:
    """Write a safetensors file aside, force it to the disk and rename it.

    The format is a length, a JSON header and the bytes of the arrays; written here straight from the arrays, a full
    disk is an OSError that says so, and other threads run meanwhile.
    """
    entries: dict[str, Any] = {"__metadata__": dict(header)}
    end = 0
    for name, array in arrays.items():
        begin, end = end, end + array.nbytes
        entries[name] = {"dtype": TYPES[array.dtype], "shape": list(array.shape), "data_offsets": [begin, end]}
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    with new_file(path) as aside, aside.open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            stream.write(array.reshape(-1).view(np.uint8).data if array.size else b"")
        stream.flush()
        os.fsync(stream.fileno())
    with contextlib.suppress(OSError):  # a rename is on the disk only when the folder is; not all systems can do this
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read_checkpoint(folder: Path) -> Checkpoint | None:
    """The checkpoint of a run folder, or None when there is none yet."""
    path = folder / FOLDER / LAST
    if not path.exists():
        return None
    tensors, header = _read(path)
    try:
        state, run = RunState(**json.loads(header["standing"])), json.loads(header["run"])
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path, f"its header is not that of a checkpoint ({error})") from error
    best = _read(folder / FOLDER / best_name(state.best_step))[0] if state.best_step >= 0 else {}
    return Checkpoint(state, run, tensors, best)


def shared_checkpoint(folder: Path, processes: Processes) -> Checkpoint | None:
    """The checkpoint that the first process finds, in all of them; the others need not see the folder."""
    found: list[Checkpoint | None] = []

    def say() -> str:
        found.append(read_checkpoint(folder))
        return json.dumps(None if found[0] is None else _outline(found[0]))

    outline = json.loads(processes.told("checkpoint", say))
    if processes.world == 1 or outline is None:
        return found[0] if found else None
    parts: list[dict[str, Tensor]] = []
    for part in ("tensors", "best"):
        own = getattr(found[0], part) if found else {
            name: torch.empty(shape, dtype=getattr(torch, dtype)) for name, dtype, shape in outline[part]
        }  # fmt: skip
        parts.append({name: processes.spread(tensor) for name, tensor in own.items()})
    return Checkpoint(RunState(**outline["standing"]), outline["run"], *parts)


def _outline(checkpoint: Checkpoint) -> dict[str, Any]:
    """A checkpoint without its numbers: names, types and shapes of its tensors, in one order for all processes."""
    kinds = {
        part: [(name, str(own.dtype).removeprefix("torch."), list(own.shape)) for name, own in tensors.items()]
        for part, tensors in (("tensors", checkpoint.tensors), ("best", checkpoint.best))
    }
    return {"standing": asdict(checkpoint.state), "run": checkpoint.run, **kinds}


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    safetensors = require("safetensors", extra="neural", purpose="Resuming a run")
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            header: dict[str, str] = file.metadata() or {}
            tensors: dict[str, Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, safetensors.SafetensorError) as error:
        raise _damaged(path, str(error)) from error
    if header.get("format") != FORMAT:
        raise _damaged(path, f"its format is {header.get('format')!r}, not {FORMAT!r}")
    return tensors, header


def _damaged(path: Path, reason: str) -> ModelFolderError:
    return ModelFolderError(
        f"Cannot resume from {path}: {reason}. Remove the folder {path.parent} to begin the run again, or take another."
    )
