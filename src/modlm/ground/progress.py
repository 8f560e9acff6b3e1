"""A progress bar on standard error with a rate and an ETA; silent when nobody watches.

Long work takes a `Progress` and reports in its own unit. Nothing is printed when standard error is not a terminal or
MODLM_PROGRESS is 0, and a bar appears only after half a second, so short work stays quiet.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

DELAY = 0.5  # seconds before a bar appears


class Progress:
    """One piece of work: `total` in `unit` (None when unknown)."""

    def __init__(self, title: str, *, total: float | None, unit: str, shown: bool) -> None:
        self.title, self.total, self.unit, self.shown = title, total, unit, shown
        self.done = 0.0
        self.started = time.monotonic()
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def advance(self, amount: float, *, note: str = "") -> None:
        """Count `amount` more as done; `note` stands at the end of the line (a perplexity, say)."""
        self.done += amount
        if not self.shown or time.monotonic() - self.started < DELAY:
            return
        if self._bar is None:
            self._open()
        assert self._bar is not None and self._task is not None
        rate = self.done / max(1e-9, time.monotonic() - self.started)
        self._bar.update(self._task, completed=self.done, rate=f"{short(rate)} {self.unit}/s {note}")

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.percentage:>3.0f}%" if self.total else ""),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("ETA"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(self.title, total=self.total, rate="")
        self._bar.start()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


def short(number: float) -> str:
    """A number for people: 950, 12.3k, 4.56M, 1.2G."""
    for limit, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= 0.9995 * limit:  # from here on three digits round up to the limit
            return f"{number / limit:.3g}{sign}"
    return f"{number:.3g}"


def percent(share: float) -> str:
    """A share for people: 12.3%, 0.45%, <0.01%."""
    if 0 < share < 0.0001:
        return "<0.01%"
    return f"{share:.1%}" if share >= 0.01 or share == 0 else f"{share:.2%}"


@contextmanager
def quietly() -> Iterator[None]:
    """Without what the package would log below an error: it is told in another way, or concerns nobody."""
    log = logging.getLogger("modlm")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


def watched() -> bool:
    """Whether somebody sees standard error and wants to."""
    return sys.stderr.isatty() and os.environ.get("MODLM_PROGRESS", "1") != "0"


@contextmanager
def progress(title: str, *, total: float | None = None, unit: str = "words") -> Iterator[Progress]:
    """A progress bar for the block."""
    bar = Progress(title, total=total, unit=unit, shown=watched())
    try:
        yield bar
    finally:
        bar.close()


def span(seconds: float) -> str:
    """A time for people: 45s, 12m, 3h05m."""
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f}s"
    return f"{minutes}m" if minutes < 100 else f"{minutes // 60}h{minutes % 60:02d}m"
