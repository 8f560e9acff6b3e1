"""Threads for work that takes a while, so that the event loop never does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from modlm.arrays import threads

T = TypeVar("T")
Check = Callable[[], None]


class GivenUpError(Exception):
    """Nobody waits for the result any more."""


class Patience:
    """Tells work in a thread whether somebody still waits for it."""

    def __init__(self) -> None:
        self.lost = False

    def check(self) -> None:
        """Raise when nobody does."""
        if self.lost:
            raise GivenUpError


class Workers:
    """Two sets of threads: one for batches of scores, so that these never wait behind long explanations."""

    def __init__(self) -> None:
        self._pools: dict[str, ThreadPoolExecutor] = {}

    @property
    def scoring(self) -> ThreadPoolExecutor:
        """For batches."""
        return self._pool("modlm-score", threads())

    @property
    def long(self) -> ThreadPoolExecutor:
        """For everything else; twice as many, so that short work is not stuck behind long work."""
        return self._pool("modlm-serve", 2 * threads())

    def _pool(self, name: str, count: int) -> ThreadPoolExecutor:
        if name not in self._pools:
            self._pools[name] = ThreadPoolExecutor(count, thread_name_prefix=name)
        return self._pools[name]

    async def run(self, work: Callable[[Check], T]) -> T:
        """The result of work that calls the check it is given now and then; cancelling makes that raise."""
        patience = Patience()
        try:
            return await asyncio.get_running_loop().run_in_executor(self.long, work, patience.check)
        except asyncio.CancelledError:
            patience.lost = True
            raise

    def close(self) -> None:
        """Begin nothing more of what waits; what runs is left to end."""
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
        self._pools.clear()
