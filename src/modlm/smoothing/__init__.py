"""Smoothing: counts → per order one proper distribution for each context, and how much falls through to the next.

One file for each family. `SMOOTHERS` names them all.
"""

from __future__ import annotations

from modlm.smoothing.absolute import Absolute
from modlm.smoothing.good_turing import GoodTuring
from modlm.smoothing.kneser_ney import KneserNey
from modlm.smoothing.maximum_likelihood import MaximumLikelihood
from modlm.smoothing.modified_absolute import ModifiedAbsolute
from modlm.smoothing.modified_kneser_ney import ModifiedKneserNey
from modlm.smoothing.smoother import Estimates, OrderSums, Smoother, estimate
from modlm.smoothing.witten_bell import WittenBell

SMOOTHERS: dict[str, type[Smoother]] = {
    "maximum-likelihood": MaximumLikelihood,
    "witten-bell": WittenBell,
    "good-turing": GoodTuring,
    "absolute": Absolute,
    "modified-absolute": ModifiedAbsolute,
    "kneser-ney": KneserNey,
    "modified-kneser-ney": ModifiedKneserNey,
}


__all__ = ["SMOOTHERS", "Estimates", "OrderSums", "Smoother", "estimate"]
