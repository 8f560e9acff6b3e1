"""What a command and all that it starts take while they run: memory, processor time, and files in a folder."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

EVERY = 0.2  # seconds between two looks
PAGE, TICK = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Sample:
    """The largest of each that was seen."""

    memory: int = 0
    """Resident bytes of all processes together; what they share counts for each."""
    disk: int = 0
    """Bytes of the files in the folder, as they lie on disk."""
    cpu: dict[int, float] = field(default_factory=dict)
    """Seconds of each process."""

    @property
    def cpu_seconds(self) -> float:
        """Of all processes together."""
        return sum(self.cpu.values())


@contextmanager
def sampled(folder: Path) -> Iterator[Sample]:
    """Looks at all children of this process, and theirs, until the block ends (Linux; elsewhere zeros)."""
    sample, ended = Sample(), threading.Event()

    def look() -> None:
        while not ended.wait(EVERY):
            _look(sample, folder)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield sample
    finally:
        ended.set()
        thread.join()


def _look(sample: Sample, folder: Path) -> None:
    memory = 0
    for process, (seconds, resident) in _descendants(os.getpid()).items():
        sample.cpu[process] = max(sample.cpu.get(process, 0.0), seconds)
        memory += resident
    sample.memory = max(sample.memory, memory)
    sample.disk = max(sample.disk, disk_bytes(folder))


def _descendants(root: int) -> dict[int, tuple[float, int]]:
    """Seconds and resident bytes of each process below this one."""
    children: dict[int, list[int]] = defaultdict(list)
    found: dict[int, tuple[float, int]] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, IndexError):
            fields = place.read_text(errors="replace").rpartition(")")[2].split()
            process = int(place.parent.name)
            children[int(fields[1])].append(process)
            found[process] = ((int(fields[11]) + int(fields[12])) / TICK, int(fields[21]) * PAGE)
    below, waiting = {}, list(children[root])
    while waiting:
        process = waiting.pop()
        below[process] = found[process]
        waiting += children[process]
    return below


def disk_bytes(folder: Path) -> int:
    """What the files in a folder take on disk; files may come and go while we look."""
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                total += (Path(place) / name).stat().st_blocks * 512
    return total
