"""Any language model, asked how good it is: by word frequency, and beside other models."""

from modlm.evaluation.by_frequency import LIMITS, FrequencyBand, perplexity_by_frequency, word_frequencies
from modlm.evaluation.compare import Comparison, Difference, WordChange, compare_models

__all__ = [
    "LIMITS", "Comparison", "Difference", "FrequencyBand", "WordChange", "compare_models", "perplexity_by_frequency",
    "word_frequencies",
]  # fmt: skip
