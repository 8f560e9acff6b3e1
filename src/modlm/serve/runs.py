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

    def lines(self, after: int) -> tuple[list[dict[str, Any]], int]:
        """The journal from a line on, and the number of lines it has; a line that is being written waits."""
        try:
            data = (self.folder / JOURNAL).read_bytes()
        except FileNotFoundError:
            return [], 0
        whole = data[: data.rfind(b"\n") + 1].splitlines()
        return [_parsed(line) for line in whole[after:]], len(whole)


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
