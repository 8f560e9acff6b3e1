"""Training runs while they go on: the lines of their journals."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modlm.training.journal import JOURNAL
from modlm.training.run_folder import RESULT


@dataclass(frozen=True, slots=True)
class Run:
    """A run folder; it may grow while it is looked at."""

    name: str
    folder: Path

    @property
    def finished(self) -> bool:
        """Whether the run has ended with a result."""
        return (self.folder / RESULT).is_file()

    def described(self) -> dict[str, Any]:
        """The entry of `/runs`."""
        return {"name": self.name, "finished": self.finished}

    def answer(self, after: int) -> dict[str, Any]:
        """The journal from a line on, and where the next question should begin.

        A journal that is shorter than that was cut back by a run taken up again: it is told from its first line.
        """
        finished = self.finished  # asked first: a run that has ended writes no more lines
        lines = self._lines()
        begin = after if after <= len(lines) else 0
        return {
            "name": self.name, "after": begin, "next": len(lines), "finished": finished,
            "lines": [_parsed(line) for line in lines[begin:]],
        }  # fmt: skip

    def _lines(self) -> list[bytes]:
        """Whole lines; one that is being written waits."""
        try:
            data = (self.folder / JOURNAL).read_bytes()
        except OSError:  # it has not begun, or was taken away
            return []
        return data[: data.rfind(b"\n") + 1].splitlines()


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
