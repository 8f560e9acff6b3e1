"""Witten-Bell beside nltk's, which counts with dictionaries of tuples: the same columns and the same fallback."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from modlm.blocks.block import NOTHING
from modlm.model.ngram_lm import NgramLM

nltk_lm = pytest.importorskip("nltk.lm", reason="the extra `peers` (nltk) is not installed")


def test_witten_bell_discounts_and_falls_back_as_nltk_does() -> None:
    rng = random.Random(7)
    sentences = [[rng.choice("abcde") for _ in range(rng.randint(1, 9))] for _ in range(60)]
    lm = NgramLM.fit([" ".join(sentence) for sentence in sentences], order=2, smoothing="witten-bell")
    theirs = nltk_lm.WittenBellInterpolated(2)
    padded = [["<s>", *sentence, "</s>"] for sentence in sentences]
    grams = [[(word,) for word in sentence] + list(pairwise(sentence)) for sentence in padded]
    theirs.fit(grams, vocabulary_text=[word for sentence in padded for word in sentence])
    mixture = lm.as_mixture()
    for context in ("<s>", *"abcde"):
        context_id = lm.vocabulary.start if context == "<s>" else lm.vocabulary.id(context)
        windows = np.array([[NOTHING, context_id]], dtype=np.uint32)
        for word in (*"abcde", "</s>"):
            names, columns, weights = mixture.shares(windows, np.array([lm.vocabulary.id(word)], dtype=np.uint32))
            share, fallback = theirs.estimator.alpha_gamma(word, (context,))
            second = names.index("2-gram")
            assert columns[0, second] * weights[0, second] == pytest.approx(share, rel=1e-12)
            assert 1 - weights[0, second] == pytest.approx(fallback, rel=1e-12)
