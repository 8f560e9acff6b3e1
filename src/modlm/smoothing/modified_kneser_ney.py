"""Modified Kneser-Ney, the default: continuation counts with three discounts for each order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from modlm.smoothing.modified_absolute import ModifiedAbsolute


@dataclass(frozen=True)
class ModifiedKneserNey(ModifiedAbsolute):
    """P_KN of the paper: P_ND of continuation counts with D1, D2, D3+ (Chen & Goodman 1996, interpolated)."""

    name: ClassVar[str] = "modified-kneser-ney"
    continuation: ClassVar[bool] = True
