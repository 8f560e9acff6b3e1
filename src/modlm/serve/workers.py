"""Threads for work that takes a while, so that the event loop never does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TypeVar

from modlm.arrays import threads

T = TypeVar("T")
Check = Callable[[], None]


class GivenUpError(Exception):
    """Nobody waits for the result any more."""


class Workers:
    """Two sets of threads: one for batches of scores, so that these never wait behind long explanations."""

    def __init__(self) -> None:
        self.open()

    def open(self) -> None:
        """Have threads, also after they were closed: an application may begin more than once."""
        self.scoring = ThreadPoolExecutor(threads(), thread_name_prefix="modlm-score")
        self.long = ThreadPoolExecutor(2 * threads(), thread_name_prefix="modlm-serve")
        """For everything else; twice as many, so that short work is not stuck behind long work."""

    async def run(self, work: Callable[[Check], T]) -> T:
        """The result of work that calls the check it is given now and then; cancelling makes that raise."""
        left = Event()

        def check() -> None:
            if left.is_set():
                raise GivenUpError

        try:
            return await asyncio.get_running_loop().run_in_executor(self.long, work, check)
        except asyncio.CancelledError:
            left.set()
            raise

    def close(self) -> None:
        """Begin nothing more of what waits; what runs is left to end."""
        for pool in (self.scoring, self.long):
            pool.shutdown(wait=False, cancel_futures=True)
