"""What readers of n-best lists hand over."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from modlm.errors import InputError


@dataclass(slots=True)
class Row:
    """One hypothesis as a reader found it."""

    utterance: str
    hypothesis: str
    score: float | None
    line: int
    kept: Any = None
    """What else stood with it, for the writer of its format."""


@dataclass(slots=True)
class Found:
    """What a reader hands over: rows, those of an utterance side by side, and references by utterance."""

    path: Path
    format: str
    rows: list[Row] = field(default_factory=list)
    references: dict[str, str] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)
    """What else is known of an utterance, for the writer."""

    def fail(self, message: str, line: int = 0) -> InputError:
        """The error for a line of the file."""
        return InputError(message, path=self.path, line=line)
