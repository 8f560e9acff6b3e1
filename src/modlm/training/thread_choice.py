"""How many threads a run takes: all it may, or one, whichever is faster on the machine as it is.

The threads of a step wait for each other hundreds of times. Where other programs use the cores as well, all of them
wait for the one that has lost its core, and one thread alone can be many times as fast. So both are tried: before the
first update, and now and then. A trial is a rehearsal that leaves no trace: sums over threads are rounded differently,
but a run's numbers depend on how many threads its updates had, never on when that was tried.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from statistics import median

import torch

from modlm.training.distributed import Processes

EVERY = 120.0  # seconds from one trial to the next, at least
SPARE = 200  # and at least so many times as long as the trial took
PASSES = 5  # with either number, at most
ENOUGH = 1.0  # seconds after which a trial ends when both numbers have had a pass
AHEAD = 1.2  # how many times as fast the other number must be for a change


class ThreadChoice:
    """The number of threads that torch has, `now` and as trials change it."""

    def __init__(
        self,
        most: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        use: Callable[[int], None] = torch.set_num_threads,
    ) -> None:
        self.most, self.now, self.clock, self.use = most, most, clock, use
        self._due = clock()

    @classmethod
    def left_open(cls, processes: Processes) -> ThreadChoice | None:
        """None where the number is settled: by MODLM_THREADS, among several processes, off the CPU, with one core."""
        most = torch.get_num_threads()
        settled = os.environ.get("MODLM_THREADS") or processes.world > 1 or processes.device.type != "cpu"
        return None if settled or most == 1 else cls(most)

    def keep(self, count: int) -> None:
        """Go on with the number that a run had, if it is one of ours; the first trial is then some time away."""
        if count in (1, self.most):
            self.now, self._due = count, self.clock() + EVERY
            self.use(count)

    def choose(self, rehearse: Callable[[int], None]) -> str:
        """Try both if it is time; what to say, if the number changes. `rehearse` is told how many came before."""
        begun = self.clock()
        if begun < self._due:
            return ""
        seconds = self._tried(rehearse, begun)
        ended = self.clock()
        self._due = ended + max(EVERY, SPARE * (ended - begun))
        before, other = self.now, 1 if self.now > 1 else self.most
        changes = seconds[before] > AHEAD * seconds[other]
        self.now = other if changes else before
        self.use(self.now)
        if not changes:
            return ""
        number, ratio = "1 thread" if other == 1 else f"{other} threads", seconds[before] / max(1e-9, seconds[other])
        return f"{number} from here on: {ratio:.1f} times as fast as {before} just now; --threads N fixes the number"

    def _tried(self, rehearse: Callable[[int], None], begun: float) -> dict[int, float]:
        """The usual seconds of a pass with either number; one goes first, since the very first pass takes longer."""
        seconds: dict[int, list[float]] = {1: [], self.most: []}
        for number in range(PASSES):
            for count, passes in seconds.items():
                self.use(count)
                since = self.clock()
                rehearse(number)
                passes.append(self.clock() - since)
            if self.clock() - begun > ENOUGH:
                break
        return {count: median(passes) for count, passes in seconds.items()}
