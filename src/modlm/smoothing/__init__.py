"""Smoothing: counts → per order one proper distribution for each context, and how much falls through to the next.

One file for each family; `modlm.families` names them all.
"""

from __future__ import annotations

from modlm.families import SMOOTHERS
from modlm.smoothing.smoother import Estimates, OrderSums, Smoother, estimate

__all__ = ["SMOOTHERS", "Estimates", "OrderSums", "Smoother", "estimate"]
