"""Ctrl-C and SIGTERM while training: the step under way is finished, a checkpoint is saved, then the run ends."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """A run that was asked to stop and has saved a checkpoint."""


class StoppedEvaluation(KeyboardInterrupt):
    """An evaluation that was given up because the run, in this process or another, was asked to stop."""


class StopRequest:
    """Whether somebody asked for an end. A second Ctrl-C does not wait."""

    def __init__(self) -> None:
        self.asked = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = True


@contextlib.contextmanager
def listening() -> Iterator[StopRequest]:
    """Collects SIGINT and SIGTERM during the block; only the main thread of a process gets any."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.signal(number, request.handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
