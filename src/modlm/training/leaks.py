"""Leaks: columns that were made from the training text and are not held out.

Their rows of the training text know the very words that they are to predict, so lambda learns a trust that no other
text bears out. What is certainly such a column is refused before anything is trained on it; what only looks like one is
warned of.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from modlm.blocks import NgramBlock
from modlm.blocks.block import Block
from modlm.blocks.log_rows import LogRows
from modlm.blocks.model import ModelBlock, Predictor
from modlm.errors import ConfigError
from modlm.ground.arrays import Floats
from modlm.model.mixture import Mixture
from modlm.model.ngram_lm import NgramLM
from modlm.nets.net_mixer import NetMixer
from modlm.text.corpus import Corpus
from modlm.text.vocabulary import UNKNOWN

log = logging.getLogger("modlm")

MARGIN = 0.5  # nats per word: even a bigram model of the training text is above it, one of another text around 0
SENTENCES = 2000  # of each text that are looked at, which gives the mean to about 0.02 nats
WAY_OUT = (
    "Leave text, counts and model out, and the block is counted from the training text and held out fold by fold; or "
    "make it from another text."
)


def check_text(name: str, text: Corpus, train: Corpus) -> None:
    """Refuse a text that is part of the training text, or contains it, sentence for sentence."""
    theirs, ours = np.asarray(text.ids).tobytes(), np.asarray(train.ids).tobytes()
    if text.sentences and (theirs in ours or ours in theirs):
        raise _refused(name, "its text is the training text or a part of it, or contains it")


def check_block(name: str, block: Block, train: Corpus) -> None:
    """Refuse a block that holds counts of the training text, or a net that was trained on it."""
    for part in _inside(block):
        net = part.mixer if isinstance(part, Mixture) and isinstance(part.mixer, NetMixer) else None
        if net is not None and net.trained_on == train.fingerprint:
            raise _refused(name, "it holds a net that was trained on that text")
        if isinstance(part, NgramBlock | NgramLM) and _counts_of(part, train):
            raise _refused(name, "it holds counts in which every word occurs as often as in that text")


def _refused(name: str, found: str) -> ConfigError:
    return ConfigError(
        f"columns.{name} was made from the training text: {found}. Its rows would know the words that they are to "
        f"predict, and the net would learn to trust it far too much. {WAY_OUT}"
    )


def _inside(block: Block) -> Iterator[Block | Predictor]:
    """A block; if it is a model, that too, and all that is inside its blocks."""
    yield block
    if isinstance(block, ModelBlock):
        yield block.model
        for inner in getattr(block.model, "blocks", {}).values():
            yield from _inside(inner)


def _counts_of(part: NgramBlock | NgramLM, train: Corpus) -> bool:
    """Whether all words that both know, the end of sentences among them, occur as often there as in the text."""
    frequencies_J = word_frequencies(part)
    theirs_J = train.vocabulary.mapping(part.vocabulary)[:-1]
    known_J = theirs_J != UNKNOWN
    ours_J = np.bincount(train.ids, minlength=len(known_J))[: len(known_J)]
    alike = np.array_equal(ours_J[known_J], frequencies_J[theirs_J[known_J]])
    return bool(alike and known_J.sum() > 1)


def word_frequencies(part: NgramBlock | NgramLM) -> Floats:
    """How often each word occurs in the counted text; zeros where that is not known any more.

    Kneser-Ney's continuation counts do not know, but each word of a text ends one longest n-gram, and those keep their
    occurrences: the n-grams of the highest order and, with edge `once`, the shorter ones that begin with `<s>`.
    """
    counts, words = part.counts, len(part.vocabulary)
    if counts is None:
        return np.zeros(words)
    nodes = [counts.trie.nodes(1)]
    if isinstance(part, NgramBlock) and part.estimates.smoother.continuation:
        nodes = [counts.trie.nodes(counts.order)]
        nodes += counts.starting_with_start()[1:-1] if counts.edge == "once" else []
    found_J = np.zeros(words + 1)
    for own in nodes:
        found_J += np.bincount(counts.trie.words[own], weights=counts.frequencies[own], minlength=words + 1)
    return found_J[:-1]


def warn_of_leaks(names: Iterable[str], rows: Mapping[str, LogRows], vocab_size: int) -> None:
    """Warn of blocks, none of them held out, that predict the training text far better than the validation text."""
    for name in names:
        train, valid = (mean_log_prob(rows[text], name, vocab_size) for text in ("train", "valid"))
        if train - valid > MARGIN:
            log.warning(
                "columns.%s predicts the training text much better than the validation text (perplexity %.4g against "
                "%.4g), as if it had been made from it. If so, its rows know the words that they are to predict, and "
                "the net will trust it far too much. %s",
                name, math.exp(-train), math.exp(-valid), WAY_OUT,
            )  # fmt: skip


def mean_log_prob(rows: LogRows, name: str, vocab_size: int) -> float:
    """Of known words in sentences from all over a text, from the block's columns with equal weights, or 1/J if better.

    Unknown words are left out: with a vocabulary made from the training text, only the other text has any.
    """
    every = max(1, rows.sentences // SENTENCES)
    taken_T = np.repeat(np.arange(rows.sentences) % every == 0, np.diff(rows.starts))
    taken_T[rows.starts[:-1]] = False
    taken_T &= rows.ids != UNKNOWN
    log_probs_PC = rows.block(name)[0][taken_T].astype(np.float64)
    mixed_P = np.logaddexp.reduce(log_probs_PC, axis=1) - np.log(log_probs_PC.shape[1])
    return float(np.maximum(mixed_P, -np.log(vocab_size)).sum() / max(1, len(mixed_P)))
