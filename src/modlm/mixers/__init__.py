"""Ways to get lambda: heuristics over counts, and static weights by EM; nets, in `nets/`, are mixers like these."""

from modlm.families import MIXERS
from modlm.mixers.heuristic import HeuristicMixer
from modlm.mixers.mixer import Mixer
from modlm.mixers.static import StaticMixer, expectation_maximisation

__all__ = ["MIXERS", "HeuristicMixer", "Mixer", "StaticMixer", "expectation_maximisation"]
