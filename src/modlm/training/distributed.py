"""Devices and processes: one process alone, or several started by `torchrun`, each with its part of every batch.

`torchrun` tells a process its place by RANK, WORLD_SIZE and LOCAL_RANK. Sums over processes go through one flat buffer,
so that a step costs one exchange; numbers that all processes must agree on (a stop, a checkpoint) travel in it too.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, distributed

from modlm.errors import ConfigError
from modlm.training.batches import Shard


@dataclass(frozen=True, slots=True)
class Processes:
    """This process among all that train together, and the device it works on."""

    device: torch.device
    rank: int = 0
    world: int = 1

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes files and talks."""
        return self.rank == 0

    @property
    def shard(self) -> Shard:
        """This process's part of a batch."""
        return Shard(self.rank, self.world)

    def add_up(self, gradients: Sequence[Tensor], numbers: Tensor) -> None:
        """Replace gradients and numbers by their sums over all processes."""
        if self.world == 1:
            return
        parts = [*gradients, numbers.to(self.device, torch.float32)]
        flat = torch.cat([part.reshape(-1) for part in parts])
        distributed.all_reduce(flat)
        for part, total in zip(parts, torch.split(flat, [part.numel() for part in parts]), strict=True):
            part.copy_(total.view_as(part))
        numbers.copy_(parts[-1])

    def add_up_exactly(self, numbers: Tensor) -> None:
        """Sums in double precision: totals of an evaluation."""
        if self.world == 1:
            return
        exact = numbers if self.device.type == "cpu" else numbers.to(self.device)
        distributed.all_reduce(exact)
        numbers.copy_(exact)

    def wait(self) -> None:
        """Until all processes are here."""
        if self.world > 1:
            distributed.barrier()

    def close(self) -> None:
        """Leave the group."""
        if self.world > 1 and distributed.is_initialized():
            distributed.destroy_process_group()


def join(device: str = "auto") -> Processes:
    """The group that `torchrun` announces in the environment, or this process alone."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    rank = int(os.environ.get("RANK", "0"))
    chosen = choose_device(device, local_rank=int(os.environ.get("LOCAL_RANK", "0")))
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    if world > 1 and not distributed.is_initialized():
        distributed.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    return Processes(chosen, rank, world)


def choose_device(name: str, *, local_rank: int = 0) -> torch.device:
    """`auto` takes CUDA, then MPS, then the CPU; anything else must be there."""
    found = available_devices()
    if name == "auto":
        name = found[0]
    kind, _, index = name.partition(":")
    if kind not in found or (index and not index.isdecimal()):
        raise ConfigError(f"The device {name!r} is not here. Found: {', '.join(found)}. Take one of them, or auto.")
    if kind == "cuda":
        return torch.device("cuda", int(index) if index else local_rank)
    return torch.device(kind)


def available_devices() -> list[str]:
    """Devices of this machine, fastest first."""
    found = ["cuda"] if torch.cuda.is_available() else []
    if torch.backends.mps.is_available():
        found.append("mps")
    return [*found, "cpu"]
