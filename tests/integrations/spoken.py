"""A small word model, a letter model of the same text, and CTC emissions in which one letter is in doubt."""

from __future__ import annotations

import numpy as np

from modlm.model.ngram_lm import NgramLM
from small_texts import model_of

TEXT = ["the cat sat on the mat", "the dog sat on the rug", "a cat saw the dog", "the cat saw a rug", "a dog sat"]
BLANK = "-"
SPACE = "|"
LABELS = [BLANK, SPACE, *"abcdefghijklmnopqrstuvwxyz"]
HEARD, MEANT = "the bat sat", "the cat sat"


def word_model() -> NgramLM:
    return model_of(TEXT)


def letter_model() -> NgramLM:
    """Over letters, with a bar for each space and at the end."""
    return model_of([" ".join(f"{sentence} ".replace(" ", SPACE)) for sentence in TEXT], order=5)


def emissions(heard: str = HEARD, meant: str = MEANT, *, after: str = "") -> np.ndarray:
    """(T, J) log-probabilities: each letter, then a blank. Where the texts differ, `heard` is a little likelier."""
    rows = []
    for one, other in zip(heard + after, meant + after, strict=True):
        letter = np.full(len(LABELS), 1e-6)
        letter[LABELS.index(one.replace(" ", SPACE))] = 0.55
        letter[LABELS.index(other.replace(" ", SPACE))] += 0.44
        blank = np.full(len(LABELS), 1e-6)
        blank[0] = 1.0
        rows += [letter / letter.sum(), blank / blank.sum()]
    return np.log(np.array(rows))
