"""Ways to get lambda without a net: heuristics over counts, and static weights by EM."""

from modlm.mixers.heuristic import HeuristicMixer
from modlm.mixers.mixer import Mixer
from modlm.mixers.static import StaticMixer, expectation_maximisation

MIXERS = {"heuristic": HeuristicMixer, "static": StaticMixer}

__all__ = ["MIXERS", "HeuristicMixer", "Mixer", "StaticMixer", "expectation_maximisation"]
