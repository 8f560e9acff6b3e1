"""What came of a fault that was tried many times, and the rows of the table in docs/reliability.md."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Outcome:
    """How often something was tried and survived; whatever was not survived was lost, and is told at once."""

    tried: int = 0
    survived: int = 0
    figures: dict[str, Any] = field(default_factory=dict)
    """What else was measured."""

    @property
    def lost(self) -> int:
        return self.tried - self.survived

    def check(self, what: str, fault: str | None) -> None:
        """Count one try; `fault` says what went wrong, if anything did."""
        self.tried += 1
        if fault is None:
            self.survived += 1
        else:
            print(f"LOST {what}: {fault}", file=sys.stderr, flush=True)

    def count(self, name: str, number: int = 1) -> None:
        """Add to a figure."""
        self.figures[name] = self.figures.get(name, 0) + number


@dataclass(frozen=True)
class Row:
    """One row: what is tried, and how often by default and in full."""

    what: str
    run: Callable[[int], Outcome]
    small: int
    full: int
    unit: str = "tries"
