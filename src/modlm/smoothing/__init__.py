"""Smoothing: counts → per order one proper distribution for each context, and how much falls through to the next.

One file for each family; `modlm.families` names them all.
"""

from __future__ import annotations

from modlm.families import SMOOTHERS
from modlm.smoothing.estimates import Estimates, estimate
from modlm.smoothing.smoother import ContextSums, HeldOutWords, Smoother, smoother_of

__all__ = ["SMOOTHERS", "ContextSums", "Estimates", "HeldOutWords", "Smoother", "estimate", "smoother_of"]
