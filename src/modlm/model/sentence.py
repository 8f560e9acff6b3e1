"""Scoring one sentence as fast as a call from Python can be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from modlm.errors import VocabularyError
from modlm.model.compiled import Compiled
from modlm.text.sources import PADDING
from modlm.text.vocabulary import END, Vocabulary

_TAIL = "\n" + "\0" * PADDING


class SentenceScorer:
    """log P of a sentence given as a string, its end included; holds on to the model's arrays."""

    def __init__(self, vocabulary: Vocabulary, compiled: Compiled) -> None:
        from modlm.model.sentence_kernels import handle_of, score_sentence

        words, nodes, leaves = compiled.arrays
        arrays = (*vocabulary.kernel_tables(), words, compiled.start_nodes, nodes, leaves)
        self._arrays = [np.ascontiguousarray(array) for array in arrays]
        self._handle = handle_of(*self._arrays)
        self._kernel: Callable[..., float] = score_sentence  # takes bytes as an array of them
        self._wide = compiled.dtype == np.float64

    def __call__(self, sentence: str) -> float:
        data = (sentence + _TAIL).encode(errors="surrogatepass")  # half a character is part of an unknown word
        score = self._kernel(self._handle, data, len(data) - PADDING, self._wide, END)
        if score > 0:
            raise VocabularyError(
                "The sentence holds <s> or </s>, which stand for its boundaries and are added by themselves. "
                "Leave them out."
            )
        return score
