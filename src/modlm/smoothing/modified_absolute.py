"""Modified absolute discounting: counts of one, two, and three or more lose different amounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from modlm.ground.arrays import Floats, Ints
from modlm.smoothing.absolute import Absolute
from modlm.smoothing.discounts import three_discounts


@dataclass(frozen=True)
class ModifiedAbsolute(Absolute):
    """P_ND of frequencies with three discounts for each order: Chen and Goodman's, without Kneser-Ney counts."""

    name: ClassVar[str] = "modified-absolute"
    largest: ClassVar[int] = 4

    def discounts(self, counts_of_counts: Ints) -> tuple[Floats, str]:
        """D1, D2, D3+."""
        return three_discounts(counts_of_counts)
