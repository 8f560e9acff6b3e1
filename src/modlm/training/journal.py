"""The journal of a run: one JSON line for each evaluation, the same whenever and wherever the run is repeated.

What depends on the clock stands beside it in `timings.jsonl`. A checkpoint knows how long both files were; a resumed
run cuts them back to that length, and writes the lines that follow again.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

from modlm.ground.files import output_error

JOURNAL = "journal.jsonl"
TIMINGS = "timings.jsonl"
Value = float | str | bool | None
Line = dict[str, Value]


class Journal:
    """A file of JSON lines that grows at its end and is on the disk when `add` returns."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, line: Line) -> int:
        """Write a line; the length of the file after it. Infinite values and NaN become null."""
        strange = [name for name, value in line.items() if isinstance(value, float) and not math.isfinite(value)]
        finite = {**line, **dict.fromkeys(strange)}
        try:
            with self.path.open("a", encoding="utf-8", newline="\n") as stream:
                stream.write(json.dumps(finite, ensure_ascii=False, allow_nan=False) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
                return stream.tell()
        except OSError as error:
            raise output_error(self.path, error) from error

    def cut(self, length: int) -> None:
        self.path.touch()
        with self.path.open("r+b") as stream:
            stream.truncate(length)

    def lines(self) -> list[Line]:
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]
