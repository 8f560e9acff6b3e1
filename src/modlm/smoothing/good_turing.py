"""Good-Turing: small counts are replaced by Good and Turing's, as Katz scales them; what they lose falls through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from modlm.ground.arrays import Floats, Ints
from modlm.smoothing.absolute import Absolute
from modlm.smoothing.discounts import KATZ, katz_discounts
from modlm.smoothing.smoother import ContextSums


@dataclass(frozen=True)
class GoodTuring(Absolute):
    """P_ND of Katz's discounted frequencies, interpolated.

    Katz himself backs off: words that were seen after a context get nothing from the shorter one. That is not a mixture
    of fixed columns; the discounts are the same here, the lost mass goes to all words.
    """

    name: ClassVar[str] = "good-turing"
    largest: ClassVar[int] = KATZ + 1

    def discounts(self, counts_of_counts: Ints) -> tuple[Floats, str]:
        """r - r* for counts up to five."""
        return katz_discounts(counts_of_counts)

    def fallback(self, contexts: ContextSums) -> Floats:
        """1 - kept / total; a context whose counts are all too large to be discounted falls through once in total + 1.

        Without that, whatever did not follow such a context would be impossible. SRILM adds the same one to the total.
        """
        total, taken = contexts.total, contexts.total - contexts.kept
        return np.where(taken > 1e-9 * total, taken / total, 1.0 / (total + 1.0))
