"""A small model of each kind that a server may have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from modlm.blocks import CONSTANT_BLOCKS
from modlm.blocks.infinite import InfiniteBlock
from modlm.blocks.model import ModelBlock
from modlm.blocks.online import OnlineBlock
from modlm.counts.indexing import index_corpus
from modlm.mixers import StaticMixer
from modlm.model.language_model import LanguageModel
from modlm.model.mixture import Mixture
from modlm.model.ngram_lm import NgramLM
from modlm.text.corpus import Corpus
from nets.small_mixtures import mixture_of
from small_texts import TEXTS, model_of

TEXT = TEXTS["random sentences"]


def without_counts() -> NgramLM:
    """As read from an ARPA file."""
    model = model_of(TEXT, order=3)
    return NgramLM(model.vocabulary, model.compiled)


def mixed() -> Mixture:
    """A model with other words, the same words as orders, and a constant."""
    ngram = model_of(TEXT, order=2)
    block = ngram.as_mixture().blocks["ngram"]
    other = ModelBlock(model_of(["a b q", "q a"], order=2), ngram.vocabulary)
    uniform = CONSTANT_BLOCKS["uniform"](ngram.vocabulary)
    weights = np.array([0.1, 0.4, 0.3, 0.2])
    return Mixture(ngram.vocabulary, {"orders": block, "other": other, "uniform": uniform}, StaticMixer(weights))


def learning() -> Mixture:
    """An n-gram model beside the text so far."""
    ngram = model_of(TEXT, order=2)
    blocks = {"model": ModelBlock(ngram, ngram.vocabulary), "online": OnlineBlock(ngram.vocabulary, order=2)}
    return Mixture(ngram.vocabulary, blocks, StaticMixer(np.array([0.5, 0.2, 0.3])))


def indexed() -> Mixture:
    """The columns of a text index beside the orders of an n-gram model."""
    ngram = model_of(TEXT, order=2)
    index = index_corpus(Corpus.from_text(TEXT, ngram.vocabulary))
    blocks = {"orders": ngram.as_mixture().blocks["ngram"], "long": InfiniteBlock(index, least=(1, 3))}
    return Mixture(ngram.vocabulary, blocks, StaticMixer(np.array([0.2, 0.3, 0.4, 0.1])))


MODELS: dict[str, Callable[[], LanguageModel]] = {
    "ngram": lambda: model_of(TEXT, order=3),
    "unseen": lambda: model_of(TEXT, order=2, smoothing="maximum-likelihood", vocabulary=list("abcdefghx")),
    "pruned": lambda: model_of(TEXT, order=3).pruned(1e-3),
    "arpa": without_counts,
    "mixture": mixed,
    "online": learning,
    "infinite": indexed,
    "hybrid": lambda: mixture_of(body="lstm", inputs=("counts", "word")),
    "document": lambda: mixture_of(body="lstm", inputs=("word",), order=0, context="document"),
    "feedforward": lambda: mixture_of(body="feedforward", inputs=("counts",), delta=False),
}
