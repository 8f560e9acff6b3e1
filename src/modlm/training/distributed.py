"""Devices and processes: one process alone, or several started by `torchrun`, each with its part of every batch.

`torchrun` tells a process its place by RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE. Sums over processes go
through one flat buffer, so that a step costs one exchange; numbers that all processes must agree on (a stop, a
checkpoint) travel in it too. Nothing waits for ever: an exchange that is not over in MODLM_PROCESS_TIMEOUT seconds, or
that a process has left, ends all processes, and one of them says why.

One process makes rows, which may take hours, and the others wait. An exchange would have to have a limit longer than
that; so the one that works shows a sign of life on a board every few seconds, and only its silence ends the waiting.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np
import torch
from torch import Tensor, distributed
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from modlm.errors import ConfigError, LostProcessError
from modlm.ground.arrays import Ints

POLL = 0.05  # seconds between looks at the board
BEATS = 10.0  # signs of life within the time limit, at least
SLOWEST = 5.0  # seconds between two of them, at most
FAILURES = "failures"
TIMEOUT = 600.0  # seconds: far more than processes differ in the time they take for a step, an evaluation or a save

_groups = itertools.count()  # groups that this process has joined: each has names of its own on the board


@dataclass(frozen=True, slots=True)
class Noticeboard:
    """A store under names of our own, and the seconds after which a silent process is taken for lost."""

    store: Store
    timeout: float
    clock: Callable[[], float] = time.monotonic

    def put(self, name: str, text: str) -> None:
        self.store.set(name, text)

    def read(self, name: str, *, teller: int) -> str:
        """What the teller has put there, now or when it is ready; RuntimeError when it gives no sign of life."""
        beat, since = -1, self.clock()
        while not self.store.check([name]):
            if self.store.add(FAILURES, 0):
                raise LostProcessError("Another process has said why.", told=True)
            latest = self.store.add(f"{name}/beats", 0)
            if latest != beat:
                beat, since = latest, self.clock()
            elif self.clock() - since > self.timeout:
                raise RuntimeError(f"no sign of life from process {teller} for {self.timeout:g} seconds")
            time.sleep(POLL)
        return self.store.get(name).decode()

    def first_to_fail(self) -> bool:
        """Note a failure; whether it is the first. A board that is gone was left by somebody who cannot speak."""
        try:
            return self.store.add(FAILURES, 1) == 1
        except RuntimeError:
            return True

    @contextmanager
    def alive(self, name: str) -> Iterator[None]:
        """Signs of life while the block prepares what is to be put under a name."""
        over = threading.Event()

        def beat() -> None:
            while not over.wait(min(SLOWEST, self.timeout / BEATS)):
                try:
                    self.store.add(f"{name}/beats", 1)
                except RuntimeError:  # the board is gone; whoever works here will find out
                    return

        thread = threading.Thread(target=beat, name=f"alive-{name}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@dataclass(frozen=True, slots=True)
class Processes:
    """This process among all that train together, and the device it works on."""

    device: torch.device
    rank: int = 0
    world: int = 1
    machine: range = field(default=range(1))  # the ranks on this machine
    board: Noticeboard | None = None  # where processes leave word for each other; none for a process alone

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes files and talks."""
        return self.rank == 0

    @property
    def leads_machine(self) -> bool:
        """Whether this is the process that makes rows for all on its machine."""
        return self.rank == self.machine.start

    @property
    def machines(self) -> bool:
        return len(self.machine) < self.world

    @property
    def shard(self) -> slice:
        """This process's part of a batch, along its sentences: rank, rank + world, …"""
        return slice(self.rank, None, self.world)

    # ---- exchanges: all processes call them together ----------------------------------------------------------------

    def add_up(self, gradients: Sequence[Tensor], numbers: Tensor) -> None:
        """Replace gradients and numbers by their sums over all processes."""
        if self.world == 1:
            return
        parts = [*gradients, numbers.to(self.device, torch.float32)]
        flat = torch.cat([part.reshape(-1) for part in parts])
        with self._answered():
            distributed.all_reduce(flat)
        for part, total in zip(parts, torch.split(flat, [part.numel() for part in parts]), strict=True):
            part.copy_(total.view_as(part))
        numbers.copy_(parts[-1])

    def add_up_exactly(self, numbers: Tensor) -> None:
        """Sums in double precision: totals of an evaluation."""
        if self.world == 1:
            return
        exact = numbers if self.device.type == "cpu" else numbers.to(self.device)
        with self._answered():
            distributed.all_reduce(exact)
        numbers.copy_(exact)

    def agreed(self, wish: bool) -> bool:
        if self.world == 1:
            return wish
        wishes = torch.tensor([float(wish)], dtype=torch.float64)
        self.add_up_exactly(wishes)
        return bool(wishes > 0)

    def spread(self, values: Tensor) -> Tensor:
        """The first process's values in all; the others give a tensor of the same shape to be filled."""
        if self.world == 1:
            return values
        sent = values.to(self.device)
        with self._answered():
            distributed.broadcast(sent, 0)
        return sent.to(values.device)

    def spread_numbers(self, values: Ints | None) -> Ints:
        """The first process's whole numbers, however many, in all."""
        count = self.spread(torch.tensor([0 if values is None else len(values)]))
        mine = torch.zeros(int(count), dtype=torch.int64)
        if self.leads and values is not None:
            mine = torch.from_numpy(np.array(values, np.int64))
        return self.spread(mine).numpy()

    def told(self, name: str, say: Callable[[], str], *, teller: int = 0) -> str:
        """What one process has to say, in all; the others wait as long as it is alive. A name serves once."""
        if self.board is None:
            return say()
        with self._not_ended():
            if self.rank != teller:
                with self._answered():
                    return self.board.read(name, teller=teller)
            with self.board.alive(name):
                text = say()
            with self._answered():
                self.board.put(name, text)
        return text

    @contextmanager
    def waiting_after(self, name: str) -> Iterator[None]:
        """Work that takes one process longer than another; after it they wait for each other as long as all live."""
        if self.board is None:
            yield
            return
        names = [f"{name}/{rank}" for rank in range(self.world)]
        with self._not_ended():
            with self.board.alive(names[self.rank]):
                yield
            with self._answered():
                self.board.put(names[self.rank], "")
                for rank, other in enumerate(names):
                    self.board.read(other, teller=rank)

    @contextmanager
    def _not_ended(self) -> Iterator[None]:
        try:
            yield
        except SystemExit as error:
            raise LostProcessError(
                f"Process {self.rank} of {self.world} was told to end while the run was made ready: by you, or by "
                f"torchrun because another process was killed or failed, which its report names. Give the same command "
                f"again."
            ) from error

    # ---- the end ----------------------------------------------------------------------------------------------------

    def leave_in_order(self) -> None:
        """The last word of a run that went well: the first process, which may hold the board, goes last."""
        if self.board is None:
            return
        with self._answered():
            if not self.leads:
                self.board.put(f"left/{self.rank}", "")
                return
            for rank in range(1, self.world):
                self.board.read(f"left/{rank}", teller=rank)

    @contextmanager
    def failing_together(self) -> Iterator[None]:
        """An error in the block ends all processes. The first to fail keeps its error, those that follow are silent."""
        try:
            yield
        except Exception as error:
            told = isinstance(error, LostProcessError) and error.told
            if self.board is None or (not told and self.board.first_to_fail()):
                raise
            raise LostProcessError("Another process has said why.", told=True) from error

    @contextmanager
    def _answered(self) -> Iterator[None]:
        """Backends report a process that is gone, and one that does not answer in time, as a RuntimeError."""
        try:
            yield
        except RuntimeError as error:
            raise lost(self, str(error)) from error

    def close(self) -> None:
        if self.world > 1 and distributed.is_initialized():
            distributed.destroy_process_group()


def lost(processes: Processes, report: str) -> LostProcessError:
    reason = (report.strip() or "no reason given").splitlines()[0].rpartition("] ")[2].partition(". ")[0].rstrip(".")
    return LostProcessError(
        f"Process {processes.rank} of {processes.world} can no longer reach the others ({reason}): one was killed, "
        f"failed, or its machine is gone; what torchrun prints names it. The run ends here, and its last checkpoint is "
        f"whole. Go on with --resume and as many processes as you like."
    )


def join(device: str = "auto") -> Processes:
    """The group that `torchrun` announces in the environment, or this process alone."""
    world, rank = _place("WORLD_SIZE", 1), _place("RANK", 0)
    local_rank = _place("LOCAL_RANK", 0)
    chosen = choose_device(device, local_rank=local_rank)
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    if world == 1:
        return Processes(chosen)
    first = rank - local_rank
    machine = range(first, first + _place("LOCAL_WORLD_SIZE", world))
    timeout = process_timeout()
    alone = Processes(chosen, rank, world, machine)
    with alone._answered():
        store, *_ = next(rendezvous("env://", timeout=timedelta(seconds=timeout)))
        attempt = _place("TORCHELASTIC_RESTART_COUNT", 0)  # torchrun starts processes again, but not its store
        own = PrefixStore(f"modlm/{attempt}/{next(_groups)}", store)
        if not distributed.is_initialized():
            distributed.init_process_group(
                "nccl" if chosen.type == "cuda" else "gloo",
                store=PrefixStore("group", own),
                rank=rank,
                world_size=world,
                timeout=timedelta(seconds=timeout),
            )
    return Processes(chosen, rank, world, machine, Noticeboard(PrefixStore("board", own), timeout))


def _place(name: str, usual: int) -> int:
    value = os.environ.get(name) or str(usual)
    if not value.isdecimal():
        raise ConfigError(
            f"{name} tells a process its place among several and must be a whole number, but is {value!r}. torchrun "
            f"sets it; outside of torchrun leave it unset."
        )
    return int(value)


def process_timeout() -> float:
    """Seconds after which a process that does not answer is given up: MODLM_PROCESS_TIMEOUT."""
    value = os.environ.get("MODLM_PROCESS_TIMEOUT") or str(TIMEOUT)
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ConfigError(f"MODLM_PROCESS_TIMEOUT must be a number of seconds above 0, but is {value!r}.")
    return seconds


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
