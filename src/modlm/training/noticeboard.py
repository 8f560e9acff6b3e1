"""Word that processes leave for each other in the store of their group, while some of them have nothing to exchange.

One process makes rows, which may take hours, and the others wait. An exchange would have to have a limit longer than
that; here the one that works shows a sign of life every few seconds, and only its silence ends the waiting.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from modlm.errors import LostProcessError

if TYPE_CHECKING:
    from torch.distributed.distributed_c10d import Store

POLL = 0.05  # seconds between looks at the board
BEATS = 10.0  # signs of life within the time limit, at least
SLOWEST = 5.0  # seconds between two of them, at most
FAILURES = "failures"


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
