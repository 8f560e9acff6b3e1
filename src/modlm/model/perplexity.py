"""The earlier names of `modlm.model.scored_text`."""

from modlm.model.scored_text import ScoredText as Perplexity
from modlm.model.scored_text import score_text as perplexity

__all__ = ["Perplexity", "perplexity"]
