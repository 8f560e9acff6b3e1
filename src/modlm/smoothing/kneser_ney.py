"""Kneser-Ney: absolute discounting whose lower orders count contexts instead of occurrences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from modlm.smoothing.absolute import Absolute


@dataclass(frozen=True)
class KneserNey(Absolute):
    """P_ND of continuation counts with one discount for each order (Kneser & Ney 1995, interpolated)."""

    name: ClassVar[str] = "kneser-ney"
    continuation: ClassVar[bool] = True
