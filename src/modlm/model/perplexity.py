"""Perplexity that says what it counted: words and sentence ends, with and without unknown words."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from modlm.arrays import Ids
from modlm.errors import InputError
from modlm.progress import progress
from modlm.text.corpus import Corpus, TextSize
from modlm.text.encoding import encoded, encoders_of
from modlm.text.options import TextOptions
from modlm.text.sources import source_of
from modlm.text.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    from modlm.model.language_model import LanguageModel


@dataclass(frozen=True, slots=True)
class Perplexity:
    """exp of the mean negative log-likelihood; every word and one end for each sentence are predictions."""

    known_log_likelihood: float
    """Natural logarithm of the probability of all words that are known, and of the sentence ends."""
    unknown_log_likelihood: float
    """That of the unknown words."""
    sentences: int
    words: int
    unknown: int
    impossible: int
    """Predictions with probability 0; any makes the perplexity infinite."""
    seconds: float
    text_words: int = 0
    """Words between white space, whatever the model predicts; 0 when the text came as ids and that is not known."""
    bytes: int = 0
    """Of all lines as UTF-8, with a line end each; 0 when that is not known."""

    @property
    def log_likelihood(self) -> float:
        """Natural logarithm of the whole text's probability."""
        return self.known_log_likelihood + self.unknown_log_likelihood

    @property
    def predictions(self) -> int:
        """Words plus one end for each sentence."""
        return self.words + self.sentences

    @property
    def perplexity(self) -> float:
        """Of all predictions."""
        return _exp(-self.log_likelihood / self.predictions)

    @property
    def perplexity_without_unknown(self) -> float:
        """Of the predictions whose word is in the vocabulary; NaN if there is none."""
        known = self.predictions - self.unknown
        return _exp(-self.known_log_likelihood / known) if known else math.nan

    @property
    def perplexity_without_ends(self) -> float:
        """The whole text's likelihood spread over its predictions but sentence ends (SRILM's ppl1); NaN if none."""
        return _exp(-self.log_likelihood / self.words) if self.words else math.nan

    @property
    def perplexity_per_word(self) -> float:
        """The likelihood spread over the words between white space and one end a sentence, whatever the model predicts.

        So models of words and of subwords compare. NaN when the text came as ids.
        """
        return _exp(-self.log_likelihood / (self.text_words + self.sentences)) if self.bytes else math.nan

    @property
    def bits_per_byte(self) -> float:
        """Bits for each byte of the text as UTF-8, one a sentence for its end; NaN when the text came as ids."""
        return -self.log_likelihood / self.bytes / math.log(2) if self.bytes else math.nan

    @property
    def bits(self) -> float:
        """Mean bits a prediction."""
        return -self.log_likelihood / self.predictions / math.log(2)

    @property
    def words_per_second(self) -> float:
        """Predictions a second, reading and encoding the text included."""
        return self.predictions / max(self.seconds, 1e-9)

    def __float__(self) -> float:
        return self.perplexity

    def as_dict(self) -> dict[str, float | int]:
        """For `--json`."""
        return {
            "perplexity": self.perplexity,
            "perplexity_without_unknown": self.perplexity_without_unknown,
            "perplexity_without_ends": self.perplexity_without_ends,
            "perplexity_per_word": self.perplexity_per_word,
            "bits": self.bits,
            "bits_per_byte": self.bits_per_byte,
            "log_likelihood": self.log_likelihood,
            "sentences": self.sentences,
            "words": self.words,
            "predictions": self.predictions,
            "unknown": self.unknown,
            "impossible": self.impossible,
            "text_words": self.text_words,
            "bytes": self.bytes,
            "words_per_second": self.words_per_second,
        }


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf


def perplexity(model: LanguageModel, text: Any, *, encoding_errors: str = "strict") -> Perplexity:
    """The perplexity of a text: a path, several, sentences, or a Corpus over the model's vocabulary; streamed."""
    begun = time.perf_counter()
    if isinstance(text, Corpus):
        same = text.vocabulary == model.vocabulary
        blocks = iter([text.ids if same else text.vocabulary.mapping(model.vocabulary)[text.ids]])
        sizes = [text.size] if text.size is not None else []
    else:
        sizes = list[TextSize]()
        blocks = _read(text, model.vocabulary, TextOptions(encoding_errors=encoding_errors), sizes)
    known_total = unknown_total = 0.0
    sentences = predictions = unknown = impossible = 0
    with progress("scoring") as bar:
        for ids, log_probs in model.along(blocks):
            starts = int(np.count_nonzero(ids == model.vocabulary.start))
            is_unknown = ids == UNKNOWN
            known_total += float(log_probs[~is_unknown].sum())
            unknown_total += float(log_probs[is_unknown].sum())
            impossible += int(np.count_nonzero(np.isneginf(log_probs)))
            unknown += int(np.count_nonzero(is_unknown))
            sentences += starts
            predictions += len(ids) - starts
            bar.advance(len(ids) - starts)
    if predictions == 0:
        raise InputError(
            "there are no sentences to score. Give a text with one sentence a line.",
            path=text if isinstance(text, str | os.PathLike) else "",
        )
    seconds = time.perf_counter() - begun
    words = predictions - sentences
    text_words, size = sum(part.words for part in sizes), sum(part.bytes for part in sizes)
    return Perplexity(known_total, unknown_total, sentences, words, unknown, impossible, seconds, text_words, size)


def _read(text: Any, vocabulary: Vocabulary, rules: TextOptions, sizes: list[TextSize]) -> Iterator[Ids]:
    """The ids of a text, block by block; `sizes` takes what it was in words and bytes."""
    for block in encoded(source_of(text), encoders_of(vocabulary), rules):
        sizes.append(TextSize(block.words, block.bytes))
        yield block.ids
